"""The contract of the EventStore port, over every adapter. A new store is added to the fixtures alone."""

import asyncio
import threading
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tachograph import open_store
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.errors import StoreError, VersionConflict
from tachograph.domain.events import Event, Unreadable
from tachograph.domain.ports import EventStore

from .samples import (
    RUN,
    append,
    appending_processes,
    execute,
    history,
    in_forked_child,
    places,
    recorded,
    result,
    rows,
    run_ids,
    started,
    turn,
)

OTHER, THIRD = run_ids(2)


class TestAppendAndRead:
    def test_events_come_back_in_order_at_versions_from_one(self, store: EventStore) -> None:
        events = history(3)
        assert append(store, events) == 3
        assert store.read(RUN) == recorded(events)

    def test_later_appends_go_on_where_the_run_had_come_to(self, store: EventStore) -> None:
        events = history(4)
        assert append(store, events[:1]) == 1
        assert append(store, events[1:3], 1) == 3
        assert append(store, events[3:], 3) == 4
        assert store.read(RUN) == recorded(events)

    def test_nothing_to_append_stores_nothing(self, store: EventStore) -> None:
        assert append(store, [], 0) == 0
        append(store, history(2))
        assert append(store, [], 2) == 2
        assert len(store.read_log()) == 2

    def test_runs_do_not_see_each_other(self, store: EventStore) -> None:
        append(store, [started("mine")])
        append(store, [started("yours")], run_id=OTHER)
        assert store.read(RUN) == recorded([started("mine")])
        assert store.read(OTHER) == recorded([started("yours")], OTHER)

    @pytest.mark.parametrize(("up_to", "count"), [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 3), (99, 3)])
    def test_a_run_is_read_up_to_and_including_a_version(
        self, store: EventStore, up_to: int, count: int
    ) -> None:
        append(store, history(3))
        assert store.read(RUN, up_to=up_to) == recorded(history(3))[:count]

    def test_an_unknown_run_and_an_empty_store_read_as_nothing(self, store: EventStore) -> None:
        assert (store.read(RUN), store.read(RUN, up_to=5), store.read_log(), store.head()) == ([], [], [], 0)

    def test_an_append_of_more_events_than_fit_one_statement(self, store: EventStore) -> None:
        events = history(2500)
        assert append(store, events) == 2500
        assert store.read(RUN) == recorded(events)
        assert [entry.version for entry in store.read_log(limit=3000)] == list(range(1, 2501))

    def test_what_is_stored_is_there_for_whoever_opens_the_store_next(self, database_url: str) -> None:
        first = open_store(database_url)
        append(first, history(2))
        first.close()
        second = open_store(database_url)
        append(second, [turn(2)], 2)
        assert second.read(RUN) == recorded([*history(2), turn(2)])
        assert places(second.read_log()) == [(RUN, 1), (RUN, 2), (RUN, 3)]
        second.close()


class TestExpectedVersion:
    @pytest.mark.parametrize("expected", [0, 1, 2, 4, 99, -1])
    def test_any_other_than_the_runs_version_is_a_conflict_and_stores_nothing(
        self, store: EventStore, expected: int
    ) -> None:
        append(store, history(3))
        with pytest.raises(VersionConflict) as caught:
            append(store, [turn(3)], expected)
        assert (caught.value.run_id, caught.value.expected) == (RUN, expected)
        assert store.read(RUN) == recorded(history(3))

    def test_a_first_event_past_version_zero_is_a_conflict(self, store: EventStore) -> None:
        with pytest.raises(VersionConflict):
            append(store, [turn(1)], 1)
        assert (store.read(RUN), store.head()) == ([], 0)

    @pytest.mark.case("C075")
    def test_C075_a_new_run_under_a_known_id_is_a_conflict_even_with_the_same_bytes(
        self, store: EventStore
    ) -> None:
        """Two runs never share a stream by accident."""
        append(store, [started()])
        with pytest.raises(VersionConflict):
            append(store, [started()])
        assert store.read(RUN) == recorded([started()])

    def test_of_several_events_none_is_stored_when_one_cannot_be(self, store: EventStore) -> None:
        append(store, history(2))
        with pytest.raises(VersionConflict):
            append(store, [turn(1), turn(2), turn(3)], 1)
        assert store.read(RUN) == recorded(history(2))
        assert len(store.read_log()) == 2

    def test_a_conflict_leaves_the_store_as_usable_as_before(self, store: EventStore) -> None:
        append(store, history(2))
        for _ in range(20):
            with pytest.raises(VersionConflict):
                append(store, [turn(1)], 1)
        assert append(store, [turn(2)], 2) == 3


class TestTheWholeLog:
    def test_events_of_all_runs_stand_in_the_order_of_their_appends(self, store: EventStore) -> None:
        append(store, history(2))
        append(store, history(1), run_id=OTHER)
        append(store, [turn(2)], 2)
        entries = store.read_log()
        assert places(entries) == [(RUN, 1), (RUN, 2), (OTHER, 1), (RUN, 3)]
        positions = [entry.position for entry in entries]
        assert positions == sorted(set(positions))
        assert positions[0] >= 1
        assert store.head() == positions[-1]

    def test_it_is_read_in_pages(self, store: EventStore) -> None:
        append(store, history(7))
        whole = store.read_log()
        pages, after = [], 0
        while page := store.read_log(after=after, limit=3):
            pages.append(page)
            after = page[-1].position
        assert [len(page) for page in pages] == [3, 3, 1]
        assert [entry for page in pages for entry in page] == whole

    @pytest.mark.parametrize("limit", [0, -1])
    def test_a_limit_of_none_gives_none(self, store: EventStore, limit: int) -> None:
        append(store, history(2))
        assert store.read_log(limit=limit) == []

    def test_before_the_first_and_past_the_last_position(self, store: EventStore) -> None:
        append(store, history(2))
        assert places(store.read_log(after=-5)) == [(RUN, 1), (RUN, 2)]
        assert store.read_log(after=store.head()) == []
        assert store.read_log(after=store.head() + 10) == []


class TestBytes:
    @pytest.mark.case("C001")
    def test_C001_the_same_run_gives_the_same_rows_on_every_store(
        self, sqlite_url: str, postgres_schema_url: str
    ) -> None:
        events = [
            *history(3),
            result('{"note":"gift card\\u0000 balance"}'),
            result("gift card\0 balance\u2028\U0001f600"),
            turn(3, "x" * 100_000),
        ]
        stores = [open_store(url) for url in ("memory:", sqlite_url, postgres_schema_url)]
        for each in stores:
            append(each, events)
            assert each.read(RUN) == recorded(events)
        memory, sqlite, postgres = (
            rows(each, url)
            for each, url in zip(stores, ("memory:", sqlite_url, postgres_schema_url), strict=True)
        )
        assert memory == sqlite == postgres
        assert len(memory) == len(events)
        for each in stores:
            each.close()

    def test_hostile_texts_come_back_as_they_were(
        self, store: EventStore, hostile_strings: list[str]
    ) -> None:
        events: list[Event] = [started(), *(result(text) for text in hostile_strings)]
        append(store, events)
        assert store.read(RUN) == recorded(events)

    @pytest.mark.case("C001")
    @pytest.mark.case("C003")
    @pytest.mark.parametrize(
        "text",
        [
            "gift card\0 balance",
            "\\u0000 is six characters",
            "\0" * 3,
            "line one\u2028line two\u2029three\x85four\x0bfive",
            "\ufeff with a mark",
            "\x1b]0;title\x07 \x9b31m \u202e",
            "e\u0301 is not \xe9",
            "\U0010ffff\U0001f600",
            "\r\n\r",
            "'; DROP TABLE stored_events; --",
            "%s %b %(x)s ? :x $1",
            "",
        ],
        ids=ascii,
    )
    def test_C003_texts_come_back_character_by_character(self, store: EventStore, text: str) -> None:
        events: list[Event] = [started(text), turn(1, text), result(text)]
        append(store, events)
        assert store.read(RUN) == recorded(events)
        assert [entry.event for entry in store.read_log() if not isinstance(entry, Unreadable)] == events

    @pytest.mark.case("C002")
    def test_C002_every_second_character_nul_is_kept(self, store: EventStore) -> None:
        text = bytes.fromhex("52006500660075006e0064002000").decode("latin-1")
        append(store, [result(text)])
        assert store.read(RUN) == recorded([result(text)])

    @pytest.mark.case("C113")
    def test_C113_ten_megabytes_are_stored_whole(self, store: EventStore) -> None:
        compressible, random = "refund " * 1_500_000, "".join(map(chr, range(32, 0xD800))) * 20
        append(store, [result(compressible), result(random)])
        assert store.read(RUN) == recorded([result(compressible), result(random)])

    @pytest.mark.case("C014")
    def test_C014_integers_past_2_63_are_content_and_never_bound_as_numbers(self, store: EventStore) -> None:
        events: list[Event] = [result('{"big":9223372036854775808}'), result(str(2**200))]
        append(store, events)
        assert store.read(RUN, up_to=2**63) == recorded(events)
        assert places(store.read_log(limit=2**63)) == [(RUN, 1), (RUN, 2)]
        assert store.read_log(after=2**63, limit=2**64) == []
        with pytest.raises(StoreError):
            append(store, [turn(1)], 2**63)

    def test_a_lone_surrogate_is_refused_before_anything_is_stored(self, store: EventStore) -> None:
        """The loop replaces and notes them before it appends; what slips through is an error, not a loss."""
        with pytest.raises(ValueError, match="surrogate"):
            append(store, [started(), turn(1, "ok \ud83d")])
        assert (store.read(RUN), store.head()) == ([], 0)
        assert append(store, history(2)) == 2

    @pytest.mark.parametrize(
        ("kind", "state"),
        [
            ("os:system", b'{"v":1,"command":"true"}'),
            ("model_turn", b'{"v":999}'),
            ("model_turn", b"\x00\xff"),
            ("model_turn", b""),
            ("model_turn", b"null"),
            ("", b"{}"),
        ],
    )
    def test_a_foreign_row_is_shown_as_unreadable_and_nothing_is_raised(
        self, database: EventStore, database_url: str, kind: str, state: bytes
    ) -> None:
        append(database, [started()])
        insert = (
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
        )
        execute(database_url, insert, (RUN.hex, 2, kind, state))
        assert append(database, [turn(1)], 2) == 3
        first, foreign, last = database.read(RUN)
        assert isinstance(foreign, Unreadable)
        assert (foreign.version, foreign.kind) == (2, kind)
        assert [first, last] == [*recorded([started()]), *recorded([turn(1)], first=3)]
        assert [type(entry) for entry in database.read_log()] == [type(first), Unreadable, type(last)]


class TestConcurrency:
    def test_of_many_writers_with_one_expected_version_exactly_one_wins(self, store: EventStore) -> None:
        append(store, [started()])

        async def race() -> list[int | BaseException]:
            writers = [store.append(RUN, [turn(1, f"by {n}")], expected_version=1) for n in range(16)]
            return await asyncio.gather(*writers, return_exceptions=True)

        answers = asyncio.run(race())
        winners = [place for place, answer in enumerate(answers) if answer == 2]
        assert len(winners) == 1
        assert sum(isinstance(answer, VersionConflict) for answer in answers) == 15
        assert store.read(RUN) == recorded([started(), turn(1, f"by {winners[0]}")])

    def test_64_runs_at_once_and_none_is_lost(self, store: EventStore) -> None:
        runs = run_ids(64)

        async def one(run_id: UUID) -> None:
            for version, event in enumerate(history(10)):
                assert await store.append(run_id, [event], expected_version=version) == version + 1

        async def all_of_them() -> None:
            await asyncio.gather(*map(one, runs))

        asyncio.run(all_of_them())
        assert [store.read(run_id) for run_id in runs] == [recorded(history(10), run_id) for run_id in runs]
        log = store.read_log()
        assert sorted(places(log)) == [(run_id, version) for run_id in runs for version in range(1, 11)]
        positions = [entry.position for entry in log]
        assert positions == sorted(set(positions))

    def test_one_conflict_in_a_batch_fails_alone(self, store: EventStore) -> None:
        runs = run_ids(20)
        append(store, [started()], run_id=runs[7])

        async def batch() -> list[int | BaseException]:
            appends = [store.append(run_id, history(3), expected_version=0) for run_id in runs]
            return await asyncio.gather(*appends, return_exceptions=True)

        answers = asyncio.run(batch())
        refused = answers.pop(7)
        assert isinstance(refused, VersionConflict)
        assert (refused.run_id, answers) == (runs[7], [3] * 19)
        assert store.read(runs[7]) == recorded([started()], runs[7])
        assert len(store.read_log()) == 1 + 19 * 3

    def test_appends_to_one_run_in_one_batch_keep_their_order(self, store: EventStore) -> None:
        async def batch() -> list[int]:
            appends = [store.append(RUN, [event], expected_version=n) for n, event in enumerate(history(5))]
            return await asyncio.gather(*appends)

        assert asyncio.run(batch()) == [1, 2, 3, 4, 5]
        assert store.read(RUN) == recorded(history(5))

    def test_several_threads_each_with_its_own_event_loop(self, store: EventStore) -> None:
        runs = run_ids(8)
        failures: list[BaseException] = []

        def work(run_id: UUID) -> None:
            try:
                asyncio.run(write(run_id))
            except BaseException as exc:
                failures.append(exc)

        async def write(run_id: UUID) -> None:
            for version, event in enumerate(history(20)):
                await store.append(run_id, [event], expected_version=version)
                assert len(store.read(run_id)) == version + 1

        threads = [threading.Thread(target=work, args=(run_id,)) for run_id in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert [store.read(run_id) for run_id in runs] == [recorded(history(20), run_id) for run_id in runs]
        assert [entry.position for entry in store.read_log()] == list(range(1, 161))

    def test_four_processes_on_one_database_lose_and_refuse_nothing(self, database_url: str) -> None:
        reports = appending_processes(database_url, processes=4, appends=50)
        store = open_store(database_url)
        log = store.read_log()
        runs = [UUID(report["run"]) for report in reports]
        assert [report["versions"] for report in reports] == [list(range(1, 51))] * 4
        assert sorted(places(log)) == sorted((run_id, version) for run_id in runs for version in range(1, 51))
        assert len({entry.position for entry in log}) == 200
        assert [[entry.version for entry in store.read(run_id)] for run_id in runs] == [
            list(range(1, 51))
        ] * 4
        store.close()

    def test_of_four_processes_on_one_run_exactly_one_wins_each_version(self, database_url: str) -> None:
        reports = appending_processes(database_url, processes=4, appends=25, run_id=RUN)
        assert sorted(version for report in reports for version in report["versions"]) == list(range(1, 26))
        store = open_store(database_url)
        assert [entry.version for entry in store.read(RUN)] == list(range(1, 26))
        store.close()


class TestClosing:
    def test_close_waits_for_appends_under_way(self, database_url: str) -> None:
        store = open_store(database_url)

        async def close_at_once() -> list[int]:
            appends = [
                asyncio.create_task(store.append(run_id, history(3), expected_version=0))
                for run_id in run_ids(10)
            ]
            await asyncio.sleep(0)
            store.close()
            return await asyncio.wait_for(asyncio.gather(*appends), timeout=10)

        assert asyncio.run(close_at_once()) == [3] * 10
        again = open_store(database_url)
        assert len(again.read_log()) == 30
        again.close()

    def test_a_closed_store_refuses(self, database_url: str) -> None:
        store = open_store(database_url)
        store.close()
        store.close()
        for refused in (
            lambda: append(store, [started()]),
            lambda: store.read(RUN),
            store.read_log,
            store.head,
        ):
            with pytest.raises(StoreError):
                refused()

    @pytest.mark.parametrize("turns_of_the_loop", [0, 1, 2])
    def test_a_cancelled_append_is_stored_whole_or_not_at_all_and_settled_when_it_returns(
        self, store: EventStore, turns_of_the_loop: int
    ) -> None:
        async def cancelled() -> None:
            task = asyncio.create_task(store.append(RUN, history(3), expected_version=0))
            for _ in range(turns_of_the_loop):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            stored = len(store.read(RUN))
            assert stored == (0 if turns_of_the_loop == 0 else 3)
            assert await store.append(RUN, [turn(9)], expected_version=stored) == stored + 1

        asyncio.run(cancelled())

    def test_a_loop_that_ends_during_an_append_harms_nobody(self, database: EventStore) -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(database.append(RUN, history(3), expected_version=0))
        loop.run_until_complete(asyncio.sleep(0))
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # It is meant to be left pending.
        loop.close()
        assert append(database, [started()], run_id=OTHER) == 1

    def test_a_cancelled_append_that_conflicts_is_only_cancelled(self, database: EventStore) -> None:
        append(database, history(2))

        async def cancelled() -> None:
            task = asyncio.create_task(database.append(RUN, [turn(9)], expected_version=1))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        assert database.read(RUN) == recorded(history(2))


@pytest.mark.case("C106")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
class TestFork:
    def test_C106_a_store_opened_before_a_fork_is_refused_in_the_child(self, database: EventStore) -> None:
        append(database, history(2))
        attempts: list[Callable[[], object]] = [
            lambda: append(database, [turn(2)], 2),
            lambda: database.read(RUN),
            database.read_log,
            database.head,
        ]
        assert {in_forked_child(attempt) for attempt in attempts} == {
            "StoreError: this store was opened before a fork; open it again in the child"
        }

    def test_C106_the_parent_goes_on_whatever_the_child_does_with_its_copy(
        self, database: EventStore
    ) -> None:
        append(database, history(2))
        assert in_forked_child(database.close) == "None"
        assert append(database, [turn(2)], 2) == 3
        assert len(database.read(RUN)) == 3

    def test_C106_the_child_opens_the_store_again_and_both_write(
        self, database: EventStore, database_url: str
    ) -> None:
        append(database, history(2))

        def write() -> int:
            own = open_store(database_url)
            try:
                return append(own, [turn(2)], 2)
            finally:
                own.close()

        assert in_forked_child(write) == "3"
        assert append(database, [turn(3)], 3) == 4


Step = tuple[int, int, int]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(1, 3)), min_size=1, max_size=12
    )
)
def test_every_store_answers_a_sequence_of_appends_as_the_memory_store_does(
    database: EventStore, steps: list[Step]
) -> None:
    """Steps: run, how far the expected version is off, number of events."""
    memory, base = MemoryEventStore(), database.head()
    offset = base * 16  # Each example writes runs of its own.

    def answers(store: EventStore) -> list[object]:
        versions, said = [0, 0, 0], list[object]()
        for run, off, count in steps:
            run_id = UUID(int=offset + run + 1)
            events = [turn(1, f"{run} {n}") for n in range(count)]
            try:
                versions[run] = append(store, list(events), versions[run] + off, run_id)
                said.append(versions[run])
            except VersionConflict:
                said.append("conflict")
        return said

    assert answers(database) == answers(memory)
    ids = [UUID(int=offset + run + 1) for run in range(3)]
    assert [database.read(run_id) for run_id in ids] == [memory.read(run_id) for run_id in ids]
    assert places(database.read_log(after=base)) == places(memory.read_log())
