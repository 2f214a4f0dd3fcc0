"""PostgreSQL as it really is: durability, append-only, and one order for all readers."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest

from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.errors import StoreError, VersionConflict

from .samples import (
    RUN,
    append,
    execute,
    history,
    places,
    postgres_store,
    recorded,
    rows,
    run_ids,
    schema_of,
    started,
    turn,
)

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer


INSERT = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (%s, %s, %s, %s)"


ROW = ("run_started", b'{"v":999}')


@pytest.fixture
def url(postgres_schema_url: str) -> str:
    return postgres_schema_url


@pytest.fixture
def store(url: str) -> Iterator[RecordedEventStore]:
    store = postgres_store(url)
    yield store
    store.close()


def waiting_for_a_lock(url: str) -> bool:
    """Tell whether a session of this URL waits for its turn to insert."""
    select = "SELECT count(*) FROM pg_stat_activity WHERE application_name = ? AND wait_event = 'advisory'"
    return execute(url, select, (schema_of(url),)) != [(0,)]


def until(condition: Any, seconds: float = 10) -> None:
    """Wait for something that another process is about to do."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def test_commits_wait_for_the_disk(store: RecordedEventStore) -> None:
    with store.datastore.get_connection() as connection:
        settings = ("fsync", "synchronous_commit", "full_page_writes")
        found = [connection.execute(f"SHOW {name}").fetchone()[name] for name in settings]
    assert found == ["on", "on", "on"]


CHANGES = [
    "UPDATE stored_events SET topic = 'terminal'",
    "UPDATE stored_events SET topic = 'terminal' WHERE false",
    "DELETE FROM stored_events WHERE originator_version = 3",
    "TRUNCATE stored_events",
    "TRUNCATE stored_events RESTART IDENTITY CASCADE",
    "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
    f" VALUES ('{RUN}', 2, 'terminal', '') ON CONFLICT (originator_id, originator_version)"
    " DO UPDATE SET topic = excluded.topic",
    f"MERGE INTO stored_events USING (VALUES ('{RUN}'::uuid)) AS new (id) ON originator_id = new.id"
    " WHEN MATCHED THEN DELETE",
]


class TestAppendOnly:
    def test_no_statement_changes_what_is_stored(self, store: RecordedEventStore, url: str) -> None:
        append(store, history(3))
        before = rows(store, url)
        for statement in CHANGES:
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                execute(url, statement)
        assert rows(store, url) == before

    def test_a_row_without_a_place_or_content_is_refused(self, store: RecordedEventStore, url: str) -> None:
        columns = INSERT.partition(" VALUES")[0]
        for values in (
            f"'{RUN}', 0, 'x', ''",
            f"'{RUN}', 1, NULL, ''",
            "NULL, 1, 'x', ''",
            f"'{RUN}', 1, 'x', NULL",
        ):
            with pytest.raises(psycopg.IntegrityError):
                execute(url, f"{columns} VALUES ({values})")
        assert rows(store, url) == []

    def test_a_position_that_somebody_chooses_is_refused(self, store: RecordedEventStore, url: str) -> None:
        columns = "originator_id, originator_version, topic, state, notification_id"
        with pytest.raises(psycopg.errors.GeneratedAlways):
            execute(url, f"INSERT INTO stored_events ({columns}) VALUES ('{RUN}', 1, 'x', '', 99)")

    def test_positions_are_never_given_twice_even_after_a_delete(
        self, store: RecordedEventStore, url: str
    ) -> None:
        append(store, history(3))
        execute(url, "DROP TRIGGER stored_events_no_change ON stored_events")
        execute(url, "DELETE FROM stored_events WHERE originator_version = 3")
        append(store, [turn(2, "another")], 2)
        assert [(entry.version, entry.position) for entry in store.read_log(after=3)] == [(3, 4)]


class TestOrder:
    @pytest.mark.case("C101")
    def test_C101_a_slow_transaction_holds_up_the_next_so_no_reader_passes_it(
        self, store: RecordedEventStore, url: str
    ) -> None:
        slow, fast = run_ids(2)
        append(store, [started()])
        with psycopg.connect(url) as first:
            first.execute(INSERT, (slow, 1, *ROW))

            async def append_behind_it() -> None:
                second = asyncio.create_task(store.append(fast, [started()], expected_version=0))
                await asyncio.to_thread(until, lambda: waiting_for_a_lock(url))
                assert not second.done()
                assert places(store.read_log()) == [(RUN, 1)]
                await asyncio.to_thread(first.commit)
                assert await second == 1

            asyncio.run(append_behind_it())
        assert places(store.read_log()) == [(RUN, 1), (slow, 1), (fast, 1)]
        assert places(store.read_log(after=1)) == [(slow, 1), (fast, 1)]

    @pytest.mark.case("C101")
    def test_C101_a_reader_that_follows_many_slow_writers_misses_nothing(
        self, store: RecordedEventStore, url: str
    ) -> None:
        """The writers go past the store, so that nothing but the database itself keeps the order."""
        runs = run_ids(6)
        alive = [True]

        def write(run_id: UUID) -> None:
            with psycopg.connect(url) as connection:
                for version in range(1, 21):
                    connection.execute(INSERT, (run_id, version, *ROW))
                    connection.execute("SELECT pg_sleep(random() * 0.004)")
                    connection.commit()

        threads = [threading.Thread(target=write, args=(run_id,)) for run_id in runs]
        seen: list[tuple[UUID, int]] = []
        after = 0
        for thread in threads:
            thread.start()
        while alive[0] or after < store.head():
            alive[0] = any(thread.is_alive() for thread in threads)
            page = store.read_log(after=after, limit=7)
            seen += places(page)
            after = page[-1].position if page else after
        assert sorted(seen) == [(run_id, version) for run_id in runs for version in range(1, 21)]

    @pytest.mark.case("C102")
    def test_C102_an_insert_that_was_rolled_back_leaves_a_gap_that_nobody_waits_for(
        self, store: RecordedEventStore, url: str
    ) -> None:
        append(store, history(2))
        with psycopg.connect(url) as connection:
            connection.execute(INSERT, (run_ids(1)[0], 1, *ROW))
            connection.rollback()
        append(store, [turn(2)], 2)
        assert [entry.position for entry in store.read_log()] == [1, 2, 4]
        assert [entry.position for entry in store.read_log(after=2)] == [4]
        assert store.head() == 4

    @pytest.mark.case("C102")
    def test_C102_a_conflict_leaves_a_gap_too(self, store: RecordedEventStore) -> None:
        append(store, history(2))
        with pytest.raises(VersionConflict):
            append(store, history(2))
        append(store, [turn(2)], 2)
        assert [entry.version for entry in store.read_log()] == [1, 2, 3]
        assert store.read_log()[-1].position > 3

    @pytest.mark.case("C100")
    def test_C100_an_insert_that_the_database_swallows_is_never_reported_as_success(
        self, store: RecordedEventStore, url: str
    ) -> None:
        append(store, [started()])
        execute(
            url,
            "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
            "CREATE TRIGGER swallow BEFORE INSERT ON stored_events"
            " FOR EACH ROW EXECUTE FUNCTION swallow()",
        )
        with pytest.raises(StoreError):
            append(store, [turn(1)], 1)
        assert store.read(RUN) == recorded([started()])


def test_the_folder_of_the_server_is_the_tests_own(postgres_server: "PostgresServer") -> None:
    assert Path(str(postgres_server.execute("SHOW data_directory")[0][0])) == postgres_server.folder
