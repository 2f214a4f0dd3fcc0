"""
What our stores are built around: facts about `eventsourcing` itself, shown on its own recorders.

A release that changes one of them fails here, so that the reason for the workaround is looked at again.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import eventsourcing.postgres
import eventsourcing.sqlite
import psycopg
import pytest
from eventsourcing.application import Application
from eventsourcing.persistence import (
    IntegrityError,
    JSONTranscoder,
    Mapper,
    OperationalError,
    StoredEvent,
    Tracking,
)
from eventsourcing.utils import resolve_topic
from psycopg.conninfo import conninfo_to_dict

from tachograph import open_store
from tachograph.adapters.stores.recorded import EventLog
from tachograph.domain.events import Unreadable

from .samples import RUN, append, execute, history, rows, run_ids, started

OTHER = run_ids(1)[0]


def row(version: int, run_id: UUID = RUN, topic: str = "topic", state: bytes = b"{}") -> StoredEvent:
    return StoredEvent(run_id, version, topic, state)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "stock.db")


@pytest.fixture
def sqlite(file: str) -> Iterator[eventsourcing.sqlite.SQLiteApplicationRecorder]:
    """The library's own recorder on a file."""
    recorder = eventsourcing.sqlite.SQLiteApplicationRecorder(eventsourcing.sqlite.SQLiteDatastore(file))
    recorder.create_table()
    yield recorder
    recorder.datastore.close()


def server_of(url: str) -> dict[str, Any]:
    """A URL as the library's own datastore takes it."""
    settings = conninfo_to_dict(url)
    return {
        "dbname": settings["dbname"],
        "host": settings["host"],
        "port": 5432,
        "user": settings["user"],
        "password": "",
        "schema": settings["application_name"],
    }


def stock_postgres(url: str, **settings: Any) -> eventsourcing.postgres.PostgresDatastore:
    return eventsourcing.postgres.PostgresDatastore(**server_of(url), pool_size=2, max_overflow=4, **settings)


@pytest.fixture
def postgres(postgres_schema_url: str) -> Iterator[eventsourcing.postgres.PostgresApplicationRecorder]:
    """The library's own recorder in a database."""
    recorder = eventsourcing.postgres.PostgresApplicationRecorder(stock_postgres(postgres_schema_url))
    recorder.create_table()
    yield recorder
    recorder.datastore.close()


def in_thread(work: Any) -> list[BaseException]:
    """Do it in another thread; return what it raised."""
    raised: list[BaseException] = []

    def attempt() -> None:
        try:
            work()
        except BaseException as exc:
            raised.append(exc)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return raised


class TestSQLite:
    def test_it_writes_ahead_and_waits_for_the_disk_by_default(self, sqlite: Any) -> None:
        with sqlite.datastore.transaction(commit=False) as cursor:
            found = []
            for name in ("journal_mode", "synchronous"):
                cursor.execute(f"PRAGMA {name}")
                found.append(cursor.fetchone()[0])
        assert found == ["wal", 2]

    def test_a_position_is_given_again_after_a_delete(self, sqlite: Any, file: str) -> None:
        """Ours: AUTOINCREMENT."""
        assert sqlite.insert_events([row(1), row(2)]) == [1, 2]
        execute(f"sqlite:///{file}", "DELETE FROM stored_events WHERE originator_version = 2")
        assert sqlite.insert_events([row(1, OTHER)]) == [2]

    def test_a_transaction_that_reads_before_it_writes_fails_when_another_process_wrote(
        self, sqlite: Any, file: str
    ) -> None:
        """Its BEGIN is deferred, and no timeout helps. Ours: BEGIN IMMEDIATE."""
        other = eventsourcing.sqlite.SQLiteApplicationRecorder(eventsourcing.sqlite.SQLiteDatastore(file))

        def read_then_write() -> None:
            with sqlite.datastore.transaction(commit=True) as cursor:
                cursor.execute("SELECT count(*) FROM stored_events")
                cursor.fetchone()
                other.insert_events([row(1, OTHER)])
                sqlite._insert_events(cursor, [row(1)])

        with pytest.raises(OperationalError, match="database is locked"):
            read_then_write()
        other.datastore.close()

    def test_all_projections_in_a_file_share_one_tracking_row(self, file: str) -> None:
        """Two read models of one log in one file: what one has read, the other counts as read."""
        recorders = [
            eventsourcing.sqlite.SQLiteTrackingRecorder(eventsourcing.sqlite.SQLiteDatastore(file))
            for _ in range(2)
        ]
        for recorder in recorders:
            recorder.create_table()
        recorders[0].insert_tracking(Tracking("runs", 7))
        assert recorders[1].max_tracking_id("runs") == 7
        for recorder in recorders:
            recorder.datastore.close()

    def test_it_has_no_subscriptions(self, sqlite: Any) -> None:
        with pytest.raises(NotImplementedError):
            sqlite.subscribe()

    def test_a_second_connection_to_memory_is_another_database(self) -> None:
        """Two threads that read at the same time: one of them finds no table."""
        recorder = eventsourcing.sqlite.SQLiteApplicationRecorder(
            eventsourcing.sqlite.SQLiteDatastore(":memory:")
        )
        recorder.create_table()
        recorder.insert_events([row(1)])
        with recorder.datastore.get_connection(commit=False):
            raised = in_thread(lambda: recorder.select_events(RUN))
        assert [type(exc) for exc in raised] == [OperationalError]
        assert "no such table" in str(raised[0])
        recorder.datastore.close()

    def test_a_version_gap_is_accepted(self, sqlite: Any) -> None:
        """Ours: refused in the inserting statement."""
        assert sqlite.insert_events([row(1), row(5)]) == [1, 2]

    def test_rows_can_be_replaced(self, sqlite: Any, file: str) -> None:
        sqlite.insert_events([row(1)])
        execute(f"sqlite:///{file}", "UPDATE stored_events SET state = x'00'")
        assert [stored.state for stored in sqlite.select_events(RUN)] == [b"\0"]

    def test_its_insert_takes_events_of_many_runs_all_or_none(self, sqlite: Any) -> None:
        """The public seam on which group commit rests."""
        assert sqlite.insert_events([row(1), row(1, OTHER), row(2)]) == [1, 2, 3]
        with pytest.raises(IntegrityError):
            sqlite.insert_events([row(2, OTHER), row(2)])
        assert len(sqlite.select_notifications(1, 10)) == 3


@contextmanager
def open_insert(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Another writer who has inserted a row and not committed yet."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
            " VALUES (%s, 1, 'topic', '')",
            (OTHER,),
        )
        yield connection


WAITING = "SELECT mode FROM pg_locks WHERE relation = 'stored_events'::regclass AND NOT granted"


class TestPostgres:
    def test_each_insert_locks_the_table_and_notifies(self, postgres: Any, postgres_schema_url: str) -> None:
        """Ours: an advisory lock taken by a trigger, and no NOTIFY."""
        with psycopg.connect(postgres_schema_url, autocommit=True) as listener:
            listener.execute("LISTEN stored_events")
            with open_insert(postgres_schema_url) as other:
                inserting = threading.Thread(target=postgres.insert_events, args=([row(1)],))
                inserting.start()
                waiting: list[tuple[Any, ...]] = []
                while not waiting:
                    waiting = execute(postgres_schema_url, WAITING)
                other.commit()
                inserting.join()
            notified = list(listener.notifies(timeout=5, stop_after=1))
        assert waiting == [("ExclusiveLock",)]
        assert [notification.channel for notification in notified] == ["stored_events"]

    def test_positions_are_ordered_but_have_gaps(self, postgres: Any, postgres_schema_url: str) -> None:
        postgres.insert_events([row(1)])
        with open_insert(postgres_schema_url) as other:
            other.rollback()
        postgres.insert_events([row(2)])
        assert [found.id for found in postgres.select_notifications(1, 10)] == [1, 3]

    def test_database_functions_drop_the_lock_so_readers_skip_events(self, postgres_schema_url: str) -> None:
        """Never switch on POSTGRES_ENABLE_DB_FUNCTIONS."""
        recorder = eventsourcing.postgres.PostgresApplicationRecorder(
            stock_postgres(postgres_schema_url, enable_db_functions=True)
        )
        recorder.create_table()
        with open_insert(postgres_schema_url) as other:
            recorder.insert_events([row(1)])
            seen = [found.id for found in recorder.select_notifications(1, 10)]
            other.commit()
        assert seen == [2]
        assert recorder.select_notifications(3, 10) == []
        assert [found.id for found in recorder.select_notifications(1, 10)] == [1, 2]
        recorder.datastore.close()

    @pytest.mark.parametrize(("enabled", "position"), [(True, None), (False, 7)])
    def test_database_functions_drop_the_tracking_too(
        self, postgres_schema_url: str, enabled: bool, position: int | None
    ) -> None:
        recorder = eventsourcing.postgres.PostgresProcessRecorder(
            stock_postgres(postgres_schema_url, enable_db_functions=enabled)
        )
        recorder.create_table()
        recorder.insert_events([row(1)], tracking=Tracking("upstream", 7))
        assert recorder.max_tracking_id("upstream") == position
        recorder.datastore.close()

    def test_its_retry_turns_an_unknown_commit_into_a_conflict(self, postgres_schema_url: str) -> None:
        """The rows are stored, the connection breaks, the retry finds its own rows in the way."""

        class BreaksAfterOneCommit(eventsourcing.postgres.PostgresDatastore):
            breaking = False

            @contextmanager
            def get_connection(self) -> Iterator[psycopg.Connection[Any]]:
                with super().get_connection() as connection:
                    yield connection
                if self.breaking:
                    self.breaking = False
                    raise OperationalError("server closed the connection unexpectedly")

        datastore = BreaksAfterOneCommit(**server_of(postgres_schema_url))
        recorder = eventsourcing.postgres.PostgresApplicationRecorder(datastore)
        recorder.create_table()
        datastore.breaking = True
        with pytest.raises(IntegrityError):
            recorder.insert_events([row(1)])
        assert [stored.originator_version for stored in recorder.select_events(RUN)] == [1]
        datastore.close()

    def test_a_subscription_can_miss_an_event_between_its_first_pull_and_its_listen(
        self, postgres: Any
    ) -> None:
        """Committed in between, an event is seen only when the next one is. Readers have to poll too."""
        listen, listening = threading.Event(), threading.Event()

        class SlowToListen(eventsourcing.postgres.PostgresSubscription):
            def _listen(self) -> None:
                listen.wait(10)
                super()._listen()

            def _pull(self) -> None:
                super()._pull()
                pulled.release()

        pulled = threading.Semaphore(0)
        got: list[int] = []
        subscription = SlowToListen(postgres, gt=0)

        def follow() -> None:
            with subscription:
                for notification in subscription:
                    got.append(notification.id)
                    listening.set()

        thread = threading.Thread(target=follow)
        thread.start()
        pulled.acquire(timeout=5)
        postgres.insert_events([row(1)])
        listen.set()
        missed = not listening.wait(0.6)
        postgres.insert_events([row(2)])
        assert listening.wait(5)
        while len(got) < 2:
            listening.wait(0.01)
        subscription.stop()
        thread.join()
        assert (missed, got) == (True, [1, 2])


class TestTopics:
    @pytest.fixture
    def module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        """A module that leaves a trace when it is imported."""
        (tmp_path / "named_by_a_row.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'w').close()\n"
            "class Anything:\n    originator_id: 'UUID'\n    from uuid import UUID\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        yield "named_by_a_row"
        sys.modules.pop("named_by_a_row", None)

    def test_the_librarys_mapper_imports_whatever_module_a_row_names(
        self, module: str, tmp_path: Path
    ) -> None:
        mapper = Mapper[UUID](JSONTranscoder())
        mapper.to_domain_event(row(1, topic=f"{module}:Anything"))
        assert (tmp_path / "imported").exists()

    def test_its_resolution_reaches_functions_too(self) -> None:
        assert resolve_topic("os:system") is os.system

    def test_ours_imports_nothing(self, module: str, tmp_path: Path, sqlite_url: str) -> None:
        store = open_store(sqlite_url)
        append(store, [started()])
        insert = (
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
        )
        for version, topic in enumerate((f"{module}:Anything", "os:system"), start=2):
            execute(sqlite_url, insert, (RUN.hex, version, topic, b"{}"))
        assert [type(entry) for entry in store.read(RUN)[1:]] == [Unreadable, Unreadable]
        assert [type(entry) for entry in store.read_log()[1:]] == [Unreadable, Unreadable]
        assert not (tmp_path / "imported").exists()
        assert module not in sys.modules
        store.close()


class TestEnvironment:
    """What stands in a shell changes the library's format; ours takes settings from its caller alone."""

    @pytest.fixture
    def settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COMPRESSOR_TOPIC", "zlib")
        monkeypatch.setenv("CIPHER_TOPIC", f"{__name__}:Shouting")
        monkeypatch.setenv("CIPHER_KEY", "0" * 32)
        monkeypatch.setenv("IS_SNAPSHOTTING_ENABLED", "y")
        monkeypatch.setenv("PERSISTENCE_MODULE", "eventsourcing.popo")
        monkeypatch.setenv("SQLITE_DBNAME", "elsewhere.db")
        monkeypatch.setenv("CREATE_TABLE", "no")

    @pytest.mark.usefixtures("settings")
    def test_the_librarys_application_obeys_them(self) -> None:
        application = Application[UUID]()
        assert application.mapper.compressor is not None
        assert type(application.recorder).__module__ == "eventsourcing.popo"
        application.close()

    @pytest.mark.usefixtures("settings")
    def test_our_application_does_not(self) -> None:
        assert dict(EventLog.construct_env(EventLog.__new__(EventLog), "EventLog", {"A": "1"})) == {"A": "1"}

    def test_our_rows_are_the_same_whatever_stands_in_the_shell(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        found = []
        for name in ("plain.db", "with settings.db"):
            if name != "plain.db":
                request.getfixturevalue("settings")
            url = f"sqlite:///{tmp_path / name}"
            store = open_store(url)
            append(store, history(3))
            found.append(rows(store, url))
            store.close()
        assert found[0] == found[1]
        assert sorted(path.name for path in tmp_path.glob("*.db")) == ["plain.db", "with settings.db"]


class Shouting:
    """A cipher that would be noticed."""

    def __init__(self, environment: object) -> None:
        pass

    def encrypt(self, plaintext: bytes) -> bytes:
        return plaintext.upper()

    def decrypt(self, ciphertext: bytes) -> bytes:
        return ciphertext.lower()
