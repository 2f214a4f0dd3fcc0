"""How views follow the log: exactly once, in any portion, whoever else does the same, whatever is in it."""

import os
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings

from tachograph import open_store
from tachograph.adapters.read_side import ProjectionStatus, ReadSide, open_read_side
from tachograph.adapters.read_side.placing import PlacedLog
from tachograph.domain.errors import StoreError
from tachograph.domain.ports import EventStore
from tachograph.projections.catalogue import PROJECTIONS
from tachograph.projections.projection import Changes, Placed
from tachograph.projections.step_counts import STEP_COUNTS

from .conftest import OpenReadSide
from .stories import (
    Story,
    Undisclosed,
    append,
    append_all,
    contents,
    counted,
    ended,
    fill,
    refund_run,
    run_id,
    started,
    turn,
)
from .strategies import interleavings

ONE, TWO, THREE = run_id(1), run_id(2), run_id(3)
SLOW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class TestPortions:
    def test_an_empty_store_has_empty_views(self, side: ReadSide) -> None:
        assert side.catch_up() == 0
        assert (list(side.steps()), list(side.runs()), side.quarantined()) == ([], [], [])
        assert [(each.name, each.version, each.position, each.lag) for each in side.status()] == [
            ("approvals", 1, 0, 0),
            ("facts", 1, 0, 0),
            ("metrics", 1, 0, 0),
            ("runs", 1, 0, 0),
            ("step_counts", 1, 0, 0),
            ("timeline", 1, 0, 0),
        ]

    def test_what_was_applied_is_not_applied_again(self, store: EventStore, side: ReadSide) -> None:
        fill(store, 3)
        assert side.catch_up() == 18
        before = contents(side)
        assert side.catch_up() == 0
        assert contents(side) == before

    def test_views_outlive_the_one_who_filled_them(self, database: EventStore, opened: OpenReadSide) -> None:
        fill(database, 3)
        opened(database).catch_up()
        assert list(opened(database).steps()) == counted(database)
        assert opened(database).catch_up() == 0

    def test_progress_tells_position_and_end(self, store: EventStore, opened: OpenReadSide) -> None:
        fill(store, 2)
        told: list[tuple[int, int]] = []
        opened(store, batch_size=5).catch_up(lambda position, head: told.append((position, head)))
        head = store.head()
        assert told == [(head - 7, head), (head - 2, head), (head, head)]

    def test_status_says_how_far_behind_a_view_is(self, store: EventStore, side: ReadSide) -> None:
        fill(store, 2)
        side.catch_up()
        behind = store.head()
        fill(store, 1, first=3)
        [status] = [each for each in side.status() if each.name == "timeline"]
        assert status == ProjectionStatus(
            "timeline", 1, behind, behind + 6, 6, 0, generation=1, updated_at=status.updated_at
        )

    def test_events_appended_meanwhile_are_in_this_catch_up_or_the_next(
        self, store: EventStore, opened: OpenReadSide
    ) -> None:
        side = opened(store, batch_size=4)
        fill(store, 2)

        def append_another(position: int, head: int) -> None:
            if position <= 8:
                append(store, run_id(position + 10), refund_run())

        assert 12 <= side.catch_up(append_another) <= 24
        side.catch_up()
        assert list(side.steps()) == counted(store)

    @SLOW
    @given(log=interleavings())
    def test_one_by_one_equals_batches_equals_a_rebuild(self, store_url: str, log: list[Any]) -> None:
        """Also equals a count that folds the runs, and views in another kind of database."""
        store = open_store("memory:" if store_url == "memory:" else _fresh(store_url))
        sides = [
            open_read_side(store),
            open_read_side(Undisclosed(store), batch_size=1),
            open_read_side(Undisclosed(store), batch_size=3),
        ]
        try:
            for portion in (log[: len(log) // 2], log[len(log) // 2 :]):
                append_all(store, portion)
                for side in sides:
                    side.catch_up()
            in_batches, one_by_one, in_threes = map(contents, sides)
            assert in_batches == one_by_one == in_threes
            assert in_batches["steps"] == counted(store)
            sides[0].rebuild()
            assert contents(sides[0]) == in_batches
        finally:
            for side in sides:
                side.close()
            store.close()

    def test_the_beginnings_of_forgotten_runs_are_read_again(self, store: EventStore) -> None:
        for version in range(3):
            for number in (1, 2, 3):
                append(store, run_id(number), [_three_events(f"t{number}")[version]], version)
        log = PlacedLog(store, batch_size=100, runs_known_max=1)
        assert [placed.trace_id for placed in log.read(0)] == ["t1", "t2", "t3"] * 3


class TestPlaces:
    def test_a_permanent_gap_in_positions_stalls_nothing(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        """C101, C102: positions 1, 2, 4 are what a rolled back insert leaves."""
        append(database, ONE, [started()])
        _waste_a_position(database_url)
        append(database, ONE, [turn(1, calls=0), ended()], 1)
        positions = [entry.position for entry in database.read_log()]
        assert positions[-1] > len(positions)
        side = opened(database, batch_size=1)
        assert side.catch_up() == 3
        assert [status.lag for status in side.status()] == [0] * 6
        assert list(side.steps()) == counted(database)


class TestOthers:
    def test_a_batch_that_another_runner_applied_meanwhile_is_refused_and_read_again(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 5)
        other = opened(database, batch_size=7)
        interrupted: list[int] = []

        def changes(batch: Sequence[Placed]) -> Changes:
            if not interrupted:
                interrupted.append(other.catch_up())
            return STEP_COUNTS.changes(batch)

        mine = tuple(
            replace(each, changes=changes) if each.name == "step_counts" else each for each in PROJECTIONS
        )
        side = opened(database, projections=mine, batch_size=10)
        assert side.catch_up() == 0
        assert interrupted == [30]
        assert list(side.steps()) == counted(database)
        assert [row["version"] for row in side.timeline(ONE)] == [1, 2, 3, 4, 5, 6]

    def test_runners_in_threads_apply_each_event_once(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        fill(database, 30)
        stores = [open_store(database_url) for _ in range(3)]
        sides = [opened(store, batch_size=7) for store in stores]
        threads = [threading.Thread(target=side.catch_up) for side in sides]
        for thread in threads:
            thread.start()
        fill(database, 10, first=31)
        for thread in threads:
            thread.join()
        sides[0].catch_up()
        assert list(sides[1].steps()) == counted(database)
        assert [(row["steps"], row["version"]) for row in sides[2].runs()] == [(2, 6)] * 40
        for store in stores:
            store.close()

    def test_one_projection_behind_the_others_gets_only_what_it_lacks(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 2)
        opened(database, projections=(STEP_COUNTS,)).catch_up()
        fill(database, 2, first=3)
        side = opened(database, batch_size=5)
        side.catch_up()
        assert list(side.steps()) == counted(database)
        assert len(list(side.runs())) == 4


def _three_events(trace_id: str) -> Story:
    return [started(trace_id), turn(1), ended()]


def test_a_database_that_fails_is_a_store_error(database: EventStore, opened: OpenReadSide) -> None:
    side = opened(database)
    database.close()
    with pytest.raises(StoreError):
        side.catch_up()


def test_a_child_of_a_fork_opens_its_own(store: EventStore, side: ReadSide) -> None:
    """C106: connections that two processes share answer both of them wrongly."""
    side._database._pid = os.getppid()  # type: ignore[attr-defined]  # as a child would find it
    for use in (side.catch_up, side.status, lambda: next(side.steps())):
        with pytest.raises(StoreError, match="opened before a fork"):
            use()


def _waste_a_position(url: str) -> None:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        with connection:
            connection.execute("UPDATE sqlite_sequence SET seq = seq + 3 WHERE name = 'stored_events'")
        connection.close()
    else:
        with psycopg.connect(url) as server:
            insert = "INSERT INTO stored_events VALUES (gen_random_uuid(), 1, 'run_started', '')"
            server.execute(insert.encode())
            server.rollback()


_databases = iter(range(1_000_000))


def _fresh(url: str) -> str:
    """Another empty store of the same kind: hypothesis runs many examples in one test."""
    if url.startswith("sqlite"):
        return url.replace("store.db", f"store-{next(_databases)}.db")
    schema = f"fresh_{next(_databases)}_{id(url)}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {schema}".encode())
    before, _, _ = url.partition("&options=")
    return f"{before}&options=-csearch_path%3D{schema}"
