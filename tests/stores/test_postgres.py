"""PostgreSQL as it really is: order, lost connections, restarts, poolers, roles."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.stores.postgres import ROLES
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.errors import StoreError, VersionConflict
from tachograph.domain.events import Event

from .proxy import Proxy, proxy_to
from .samples import RUN, append, execute, history, places, recorded, rows, run_ids, started, turn

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer

INSERT = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (%s, %s, %s, %s)"
ROW = ("run_started", b'{"v":999}')


def schema_of(url: str) -> str:
    """The schema that a URL leads into; it is the name of the sessions too."""
    return url.rpartition("=")[2]


def opened(url: str, retry_s: float = 10, connect_s: float = 5) -> RecordedEventStore:
    """Open a store with less patience than the default."""
    settings = {"PERSISTENCE_MODULE": "tachograph.adapters.stores.postgres", "POSTGRES_URL": url}
    store = RecordedEventStore(settings, retry_s=retry_s)
    store.datastore.pool.timeout = connect_s
    return store


@pytest.fixture
def url(postgres_schema_url: str) -> str:
    return postgres_schema_url


@pytest.fixture
def store(url: str) -> Iterator[RecordedEventStore]:
    store = opened(url)
    yield store
    store.close()


@pytest.fixture
def proxy(postgres_server: "PostgresServer") -> Iterator[Proxy]:
    with proxy_to(postgres_server.folder) as proxy:
        yield proxy


@pytest.fixture
def lossy(proxy: Proxy, url: str, postgres_server: "PostgresServer") -> Iterator[RecordedEventStore]:
    """A store that reaches its server through the proxy."""
    store = opened(url.replace(str(postgres_server.folder), str(proxy.folder)))
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


class TestLostConnections:
    @pytest.mark.case("C107")
    def test_C107_an_append_after_the_server_closed_the_idle_connection_is_stored_once(
        self, store: RecordedEventStore, url: str, postgres_server: "PostgresServer"
    ) -> None:
        append(store, history(2))
        for version in (2, 3, 4):
            postgres_server.end_sessions(url)
            assert append(store, [turn(version)], version) == version + 1
        assert store.read(RUN) == recorded(history(5))

    @pytest.mark.case("C107")
    def test_C107_reading_after_the_server_closed_every_idle_connection(
        self, store: RecordedEventStore, url: str, postgres_server: "PostgresServer"
    ) -> None:
        append(store, history(3))
        with ConnectionsInUse(store, 4):
            pass
        postgres_server.end_sessions(url)
        assert store.read(RUN) == recorded(history(3))
        assert store.head() == 3

    @pytest.mark.case("C108")
    @pytest.mark.parametrize("what", ["request", "reply"])
    def test_C108_a_connection_that_breaks_around_the_commit_stores_exactly_once(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str, what: Any
    ) -> None:
        """A lost reply is a commit that happened and was not heard of; a lost request one that didn't."""
        append(lossy, history(2))
        for version in (2, 3):
            proxy.lose(what)
            assert append(lossy, [turn(version)], version) == version + 1
        assert proxy.lost == 2
        assert lossy.read(RUN) == recorded(history(4))
        assert len(rows(lossy, url)) == 4

    @pytest.mark.case("C108")
    @pytest.mark.parametrize("what", ["request", "reply"])
    def test_C108_a_whole_batch_around_the_commit(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str, what: Any
    ) -> None:
        append(lossy, [started()])
        runs = run_ids(12)

        async def batch() -> list[int]:
            appends = [lossy.append(run_id, history(3), expected_version=0) for run_id in runs]
            return await asyncio.gather(*appends)

        proxy.lose(what)
        assert asyncio.run(batch()) == [3] * 12
        assert proxy.lost == 1
        assert [lossy.read(run_id) for run_id in runs] == [recorded(history(3), run_id) for run_id in runs]
        assert len(rows(lossy, url)) == 1 + 12 * 3

    @pytest.mark.case("C108")
    def test_C108_a_lost_request_that_another_writer_came_before_is_a_conflict(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str
    ) -> None:
        append(lossy, [started()])
        other = opened(url)
        proxy.lose("request", meanwhile=lambda: append(other, [turn(1, "another writer's")], 1))
        with pytest.raises(VersionConflict):
            append(lossy, [turn(1, "mine")], 1)
        assert lossy.read(RUN) == recorded([started(), turn(1, "another writer's")])
        other.close()

    @pytest.mark.case("C108")
    def test_C108_a_lost_reply_is_found_even_when_the_run_has_moved_on_since(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str
    ) -> None:
        append(lossy, [started()])
        other = opened(url)
        proxy.lose("reply", meanwhile=lambda: append(other, [turn(2)], 2))
        assert append(lossy, [turn(1)], 1) == 2
        assert lossy.read(RUN) == recorded(history(3))
        other.close()


class ConnectionsInUse:
    """Makes the pool open that many connections."""

    def __init__(self, store: RecordedEventStore, count: int) -> None:
        self._held = [store.datastore.get_connection() for _ in range(count)]

    def __enter__(self) -> None:
        for connection in self._held:
            connection.__enter__()

    def __exit__(self, *_: object) -> None:
        for connection in self._held:
            connection.__exit__(None, None, None)


class TestServer:
    def test_appends_go_on_through_a_restart_of_the_server(
        self, store: RecordedEventStore, postgres_server: "PostgresServer"
    ) -> None:
        runs, appended, restarted = run_ids(4), Counter[UUID](), asyncio.Event()

        async def write(run_id: UUID) -> None:
            left = 10
            while left:
                left -= restarted.is_set()
                version = appended[run_id]
                events = [turn(version + 1)]
                assert await store.append(run_id, events, expected_version=version) == version + 1
                appended[run_id] += 1

        async def restart() -> None:
            while appended.total() < 40:
                await asyncio.sleep(0.001)
            await asyncio.to_thread(postgres_server.stop)
            await asyncio.to_thread(postgres_server.start)
            restarted.set()

        async def everything() -> None:
            await asyncio.gather(restart(), *map(write, runs))

        asyncio.run(everything())
        assert [store.read(run_id) for run_id in runs] == [
            recorded([turn(version + 1) for version in range(appended[run_id])], run_id) for run_id in runs
        ]
        assert len(store.read_log(limit=100_000)) == appended.total()

    def test_a_server_that_is_down_is_an_error_in_bounded_time_and_forgotten_afterwards(
        self, url: str, postgres_server: "PostgresServer"
    ) -> None:
        store = opened(url, retry_s=0.5, connect_s=0.3)
        append(store, history(2))

        async def many() -> list[int | BaseException]:
            appends = [store.append(run_id, [started()], expected_version=0) for run_id in run_ids(30)]
            return await asyncio.wait_for(asyncio.gather(*appends, return_exceptions=True), timeout=10)

        postgres_server.stop()
        try:
            for refused in (lambda: append(store, [turn(2)], 2), lambda: store.read(RUN), store.head):
                with pytest.raises(StoreError):
                    refused()
            answers = asyncio.run(many())
            assert {type(answer) for answer in answers} == {StoreError}
            with pytest.raises(StoreError, match="could not open: connection is bad"):
                opened(url)
        finally:
            postgres_server.start()
        assert append(store, [turn(2)], 2) == 3
        assert store.read(RUN) == recorded(history(3))
        store.close()

    @pytest.mark.slow
    def test_the_default_patience_with_a_server_that_is_down(
        self, url: str, postgres_server: "PostgresServer"
    ) -> None:
        store = open_store(url)
        append(store, history(2))
        postgres_server.stop()
        try:
            began = time.monotonic()
            with pytest.raises(StoreError):
                append(store, [turn(2)], 2)
            assert time.monotonic() - began < 30
        finally:
            postgres_server.start()
        assert append(store, [turn(2)], 2) == 3
        store.close()

    def test_a_table_locked_by_somebody_is_waited_for(self, store: RecordedEventStore, url: str) -> None:
        append(store, history(2))
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE stored_events IN EXCLUSIVE MODE")

            async def append_behind_it() -> int:
                waiting = asyncio.create_task(store.append(RUN, [turn(2)], expected_version=2))
                done, _ = await asyncio.wait({waiting}, timeout=0.2)
                assert done == set()
                await asyncio.to_thread(other.commit)
                return await waiting

            assert asyncio.run(append_behind_it()) == 3


@contextmanager
def passwords_asked_for(server: "PostgresServer", user: str, password: str) -> Iterator[None]:
    """Make a user who needs a password."""
    rules = server.folder / "pg_hba.conf"
    before = rules.read_text()
    server.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
    rules.write_text(f"local all {user} scram-sha-256\n{before}")
    server.reload()
    try:
        yield
    finally:
        rules.write_text(before)
        server.reload()
        server.execute(f"DROP ROLE {user}")


class TestAccess:
    def test_a_wrong_password_is_said_at_once_and_never_shown(
        self, postgres_server: "PostgresServer"
    ) -> None:
        with passwords_asked_for(postgres_server, "app", "right"):
            wrong = postgres_server.url(user="app", password="s3cret")
            with pytest.raises(StoreError, match='password authentication failed for user "app"') as caught:
                open_store(wrong)
        assert_silent_about(caught.value, "s3cret")

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ("postgresql://app:s3cret@nowhere.invalid/shop", "nowhere.invalid"),
            ("postgresql://app:s3cret@127.0.0.1:1/shop", "port 1"),
            ("postgresql://app:s3cret@/shop?host=/nowhere", "/nowhere"),
        ],
    )
    def test_a_server_that_is_not_there(self, wrong: str, said: str) -> None:
        with pytest.raises(StoreError, match="the store could not open: ") as caught:
            open_store(wrong)
        assert said in str(caught.value)
        assert_silent_about(caught.value, "s3cret")

    @pytest.mark.parametrize(
        "password", ["s3cret/more", "s3cret@more", "s3cret#more", "s3cret%more", "s3cret?more"]
    )
    def test_a_password_with_signs_that_a_url_reads_otherwise(self, password: str) -> None:
        with pytest.raises(StoreError, match="the store could not open: ") as caught:
            open_store(f"postgresql://app:{password}@127.0.0.1:1/shop")
        assert_silent_about(caught.value, "s3cret", "more")

    def test_a_database_that_is_not_there(self, postgres_server: "PostgresServer") -> None:
        with pytest.raises(StoreError, match='database "nowhere" does not exist'):
            open_store(postgres_server.url("nowhere"))


def assert_silent_about(error: BaseException, *secrets: str) -> None:
    """No text of the error or of what caused it holds any of these."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(f"{cause!s} {cause!r}")
        cause = cause.__cause__
    assert [secret for secret in secrets if any(secret in text for text in texts)] == []


@pytest.mark.case("C110")
class TestPooler:
    def prepared(self, store: RecordedEventStore) -> int:
        with store.datastore.get_connection() as connection:
            row = connection.execute(
                "SELECT count(*) AS count FROM pg_prepared_statements", prepare=False
            ).fetchone()
        return int(row["count"])

    def work(self, url: str) -> RecordedEventStore:
        store = opened(url)
        for version, event in enumerate(history(15)):
            append(store, [event], version)
            store.read(RUN)
            store.read_log(after=version)
            store.head()
        return store

    def test_C110_behind_a_transaction_pooler_no_statement_is_prepared(self, url: str) -> None:
        store = self.work(f"{url}&pooler=transaction")
        assert self.prepared(store) == 0
        assert store.read(RUN) == recorded(history(15))
        store.close()

    def test_C110_without_the_parameter_they_are(self, url: str) -> None:
        store = self.work(url)
        assert self.prepared(store) > 0
        store.close()

    def test_C110_the_sessions_hold_no_state_that_a_pooler_would_mix_up(
        self, url: str, store: RecordedEventStore
    ) -> None:
        """Nothing that the store sets, listens to, locks or creates outlives its statement."""
        append(store, history(3))
        store.read(RUN)
        with store.datastore.get_connection() as connection:

            def count(source: str) -> int:
                row = connection.execute(f"SELECT count(*) AS count FROM {source}", prepare=False).fetchone()
                return int(row["count"])

            assert count("pg_settings WHERE source = 'session'") == 0
            assert count("pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'") == 0
            assert count("pg_listening_channels()") == 0
            assert count("pg_class WHERE relpersistence = 't'") == 0


FORBIDDEN = [
    "UPDATE stored_events SET topic = 'terminal'",
    "DELETE FROM stored_events",
    "TRUNCATE stored_events",
    "DROP TABLE stored_events",
    "ALTER TABLE stored_events DISABLE TRIGGER ALL",
    "DROP TRIGGER stored_events_in_turn ON stored_events",
    "CREATE OR REPLACE FUNCTION stored_events_refuse() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN RETURN NULL; END'",
    "INSERT INTO stored_events (originator_id, originator_version, topic, state, notification_id)"
    f" OVERRIDING SYSTEM VALUE VALUES ('{RUN}', 3, 'terminal', '', -5)",
]


class TestRoles:
    @pytest.fixture
    def roles(self, store: RecordedEventStore, postgres_server: "PostgresServer", url: str) -> Iterator[Any]:
        """URLs of a writer and of a reader who have no other rights."""
        append(store, history(2))
        execute(url, f"GRANT USAGE ON SCHEMA {schema_of(url)} TO PUBLIC")
        execute(url, ROLES.replace("%", "%%"))
        execute(url, "CREATE ROLE pen LOGIN IN ROLE tachograph_writer")
        execute(url, "CREATE ROLE eye LOGIN IN ROLE tachograph_reader")
        yield url.replace("postgres:@", "pen:@"), url.replace("postgres:@", "eye:@")
        postgres_server.execute("DROP OWNED BY tachograph_writer, tachograph_reader")
        postgres_server.execute("DROP ROLE pen, eye, tachograph_writer, tachograph_reader")

    def test_a_writer_appends_and_reads_through_the_store(self, roles: tuple[str, str]) -> None:
        store = opened(roles[0])
        assert append(store, [turn(2)], 2) == 3
        assert store.read(RUN) == recorded(history(3))
        assert (len(store.read_log()), store.head()) == (3, 3)
        with pytest.raises(VersionConflict):
            append(store, [turn(2)], 2)
        store.close()

    def test_a_writer_can_only_add_and_not_even_choose_the_place(self, roles: tuple[str, str]) -> None:
        for statement in FORBIDDEN:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                execute(roles[0], statement)

    def test_a_reader_reads_through_the_store_and_can_not_append(self, roles: tuple[str, str]) -> None:
        store = opened(roles[1])
        assert store.read(RUN) == recorded(history(2))
        assert len(store.read_log()) == 2
        began = time.monotonic()
        with pytest.raises(StoreError, match="could not append: permission denied") as caught:
            append(store, [turn(2)], 2)
        assert not isinstance(caught.value, VersionConflict)
        assert time.monotonic() - began < 5
        store.close()

    def test_a_role_that_may_not_create_the_missing_table_is_told_so(
        self, roles: tuple[str, str], postgres_server: "PostgresServer"
    ) -> None:
        empty = postgres_server.new_schema().replace("postgres:@", "pen:@")
        with pytest.raises(StoreError, match=r"permission denied|no schema has been selected"):
            open_store(empty)

    def test_giving_the_roles_again_changes_nothing(self, roles: tuple[str, str], url: str) -> None:
        execute(url, ROLES.replace("%", "%%"))
        store = opened(roles[0])
        events: list[Event] = [turn(2)]
        assert append(store, events, 2) == 3
        store.close()


def test_the_folder_of_the_server_is_the_tests_own(postgres_server: "PostgresServer") -> None:
    assert Path(str(postgres_server.execute("SHOW data_directory")[0][0])) == postgres_server.folder
