"""Building views again beside the ones that readers see, and putting the new ones in their place."""

import threading
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.read_side import (
    ReadSide,
    Superseded,
    UnknownProjection,
    generations,
    postgres,
    queries,
)
from tachograph.adapters.read_side.database import Database, ViewHeld
from tachograph.domain.ports import EventStore
from tachograph.projections.catalogue import PROJECTIONS
from tachograph.projections.facts import FACTS
from tachograph.projections.projection import Projection
from tachograph.projections.step_counts import STEP_COUNTS

from .conftest import OpenReadSide
from .stories import Interrupted, contents, counted, fill, interrupt, physical_tables, query, run_id


class TestRebuild:
    def test_views_are_the_same_afterwards(self, store: EventStore, side: ReadSide) -> None:
        fill(store, 5)
        side.catch_up()
        before = contents(side)
        assert side.rebuild() == 30
        assert contents(side) == before
        assert [(each.generation, each.lag) for each in side.status()] == [(2, 0)] * 6

    def test_one_view_alone(self, store: EventStore, side: ReadSide) -> None:
        fill(store, 2)
        side.catch_up()
        assert side.rebuild(["timeline", "timeline"]) == 12
        assert {each.name: each.generation for each in side.status()} == {
            "approvals": 1,
            "facts": 1,
            "metrics": 1,
            "runs": 1,
            "step_counts": 1,
            "timeline": 2,
        }

    def test_views_that_lag_are_up_to_date_afterwards(self, store: EventStore, side: ReadSide) -> None:
        fill(store, 2)
        side.rebuild()
        assert list(side.steps()) == counted(store)

    def test_an_empty_store_can_be_rebuilt(self, store: EventStore, side: ReadSide) -> None:
        assert side.rebuild() == 0
        fill(store, 1)
        side.catch_up()
        assert list(side.steps()) == counted(store)

    def test_names_of_no_projection_are_refused(self, side: ReadSide) -> None:
        with pytest.raises(
            UnknownProjection, match="no projection 'stepz'; there are: approvals, facts, metrics, runs,"
        ):
            side.rebuild(["stepz"])
        with pytest.raises(UnknownProjection):
            side.quarantined("stepz")

    def test_what_is_set_aside_is_found_again_and_listed_once(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        projections = (_poisoned(STEP_COUNTS), *PROJECTIONS[1:])
        side = opened(database, projections=projections, batch_size=5)
        fill(database, 2)
        side.catch_up()
        first = [(each.position, each.error) for each in side.quarantined()]
        assert len(first) == 2
        with pytest.raises(Interrupted):
            side.rebuild(progress=interrupt)
        assert [(each.position, each.error) for each in side.quarantined()] == first
        side.rebuild()
        assert [(each.position, each.error) for each in side.quarantined()] == first
        assert [each.quarantined for each in side.status()] == [0, 0, 0, 0, 2, 0]
        assert query(database_url, "SELECT DISTINCT generation FROM projection_quarantine") == [(3,)]


class TestReaders:
    def test_see_the_old_view_until_the_new_one_is_whole(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 6)
        side, reader = opened(database, batch_size=5), opened(database)
        side.catch_up()
        before = contents(reader)
        seen: list[bool] = []
        side.rebuild(progress=lambda position, head: seen.append(contents(reader) == before))
        assert seen == [True] * 8
        assert contents(reader) == before

    def test_in_the_middle_of_a_list_go_on_in_the_new_view(
        self, database: EventStore, opened: OpenReadSide, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "PAGE_ROWS", 2)
        fill(database, 9)
        side = opened(database)
        side.catch_up()
        lists = [side.steps(), side.runs(), side.timeline(run_id(1))]
        begun = [[next(each), next(each), next(each)] for each in lists]
        side.rebuild()
        steps, runs, timeline = ([*first, *rest] for first, rest in zip(begun, lists, strict=True))
        assert steps == counted(database)
        assert [row["run_id"] for row in runs] == [str(run_id(number)) for number in range(9, 0, -1)]
        assert [row["version"] for row in timeline] == [1, 2, 3, 4, 5, 6]

    def test_never_miss_a_row_while_views_are_rebuilt_again_and_again(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        fill(database, 20)
        side = opened(database, batch_size=40)
        side.catch_up()
        expected = list(side.steps())
        other = open_store(database_url)
        reader = opened(other)
        done = threading.Event()
        wrong: list[object] = []

        def read_on() -> None:
            while not done.is_set():
                found = list(reader.steps())
                if found != expected:
                    wrong.append(found)

        thread = threading.Thread(target=read_on)
        thread.start()
        for _ in range(5):
            side.rebuild()
        done.set()
        thread.join()
        other.close()
        assert wrong == []

    def test_never_go_back_in_time(self, database: EventStore, opened: OpenReadSide) -> None:
        """What others put into the old view meanwhile is in the new one too when it is shown."""
        fill(database, 4)
        side, other = opened(database, batch_size=24), opened(database)
        side.catch_up()
        appended: list[int] = []

        def overtake(position: int, head: int) -> None:
            if len(appended) < 3:
                fill(database, 2, first=5 + 2 * len(appended))
                appended.append(other.catch_up())

        assert side.rebuild(progress=overtake) == 60
        assert appended == [12, 12, 12]
        assert list(side.steps()) == counted(database)

    def test_of_their_own_that_hold_a_view_are_waited_for(
        self, postgres_schema_url: str, opened: OpenReadSide, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_LOCK_TIMEOUT", "SET LOCAL lock_timeout TO '50ms'")
        store = open_store(postgres_schema_url)
        fill(store, 4)
        side = opened(store)
        side.catch_up()
        refused: list[str] = []
        with psycopg.connect(postgres_schema_url) as holding:
            holding.execute("SELECT * FROM runs")

            def let_go_later(database: Database, *rest: Any) -> bool:
                try:
                    return go_live(database, *rest)
                except ViewHeld as exc:
                    refused.append(str(exc))
                    if len(refused) == 2:
                        holding.rollback()
                    raise

            go_live = generations.go_live
            monkeypatch.setattr(generations, "go_live", let_go_later)
            assert side.rebuild() == 24
        assert refused == ["a reader holds one of the views; end its transaction, then try again"] * 2
        assert {each.generation for each in side.status()} == {2}
        store.close()


class TestInterrupted:
    def test_the_old_view_stays_and_the_next_rebuild_clears_up(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        fill(database, 6)
        opened(database).catch_up()
        before = contents(opened(database))
        for _ in range(2):
            with pytest.raises(Interrupted):
                opened(database, batch_size=5).rebuild(progress=interrupt)
        side = opened(database)
        assert contents(side) == before
        assert [each.generation for each in side.status()] == [1] * 6
        side.rebuild()
        assert contents(side) == before
        assert physical_tables(database_url) == {
            "approvals_g4",
            *(f"{table.name}_g4" for table in FACTS.tables),
            "metric_counts_g4",
            "runs_g4",
            "step_counts_g4",
            "step_count_outcomes_g4",
            "timeline_g4",
        }

    def test_catch_up_goes_on_with_the_old_view(self, database: EventStore, opened: OpenReadSide) -> None:
        fill(database, 6)
        side = opened(database, batch_size=5)
        side.catch_up()
        with pytest.raises(Interrupted):
            side.rebuild(progress=interrupt)
        fill(database, 2, first=7)
        assert side.catch_up() == 12
        assert list(side.steps()) == counted(database)

    def test_a_rebuild_that_another_took_over_stops_and_says_so(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 6)
        side, other = opened(database, batch_size=5), opened(database)
        side.catch_up()
        expected = contents(side)
        taken: list[int] = []
        with pytest.raises(Superseded, match="another process took over the rebuild of approvals"):
            side.rebuild(progress=lambda position, head: taken.append(other.rebuild()))
        assert taken == [36]
        assert contents(side) == expected
        assert [(each.generation, each.lag) for each in side.status()] == [(3, 0)] * 6

    def test_a_view_shown_by_another_while_the_old_one_is_caught_up(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 6)
        side, other = opened(database, batch_size=20), opened(database)
        rebuilt: list[int] = []
        side.catch_up(lambda position, head: None if rebuilt else rebuilt.append(other.rebuild()))
        assert rebuilt == [36]
        assert list(side.steps()) == counted(database)
        assert {each.generation for each in side.status()} == {2}


def _poisoned(projection: Projection) -> Projection:
    """The same, but it can't take a tool error."""

    def changes(batch: object) -> object:
        if any(placed.kind == "tool_error" for placed in batch):  # type: ignore[attr-defined]  # a batch
            raise ValueError("no tool errors here")
        return projection.changes(batch)  # type: ignore[arg-type]  # as above

    return replace(projection, changes=changes)  # type: ignore[arg-type]  # as above
