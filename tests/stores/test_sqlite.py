"""SQLite as it really is: durability, append-only, locks, a full disk, files that are no stores."""

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from eventsourcing.application import Application
from eventsourcing.persistence import StoredEvent

from tachograph import open_store
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.errors import StoreError, VersionConflict
from tachograph.domain.events import Event

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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def store(file: Path) -> Iterator[RecordedEventStore]:
    """A store that gives up soon."""
    opened = impatient_store(file)
    yield opened
    opened.close()


def impatient_store(file: Path, retry_s: float = 0.2) -> RecordedEventStore:
    settings = {
        "PERSISTENCE_MODULE": "tachograph.adapters.stores.sqlite",
        "SQLITE_DBNAME": file.absolute().as_uri(),
    }
    return RecordedEventStore(settings, retry_s=retry_s)


def set_pragma(store: RecordedEventStore, name: str, value: int) -> None:
    """Set something on the one connection that the pool has so far."""
    with store.datastore.get_connection(commit=True) as connection:
        connection.cursor().execute(f"PRAGMA {name}={value}")


def pragma(store: RecordedEventStore, name: str) -> int:
    with store.datastore.transaction(commit=False) as cursor:
        cursor.execute(f"PRAGMA {name}")
        value: int = cursor.fetchone()[0]
        return value


@contextmanager
def locked_by_another_process(file: Path) -> Iterator[None]:
    """Another process writes to the file and takes its time, until the block ends."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read(); c.execute('COMMIT')"
    )
    command = [sys.executable, "-S", "-c", code, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield


class TestDurability:
    def test_every_connection_writes_ahead_and_waits_for_the_disk(self, store: RecordedEventStore) -> None:
        """synchronous 2 is FULL: a commit returns after fsync."""
        append(store, history(2))
        with ExitStack() as stack:
            found = []
            for _ in range(4):
                connection = stack.enter_context(store.datastore.get_connection(commit=False))
                cursor = connection.cursor()
                values = []
                for name in ("journal_mode", "synchronous"):
                    cursor.execute(f"PRAGMA {name}")
                    values.append(cursor.fetchone()[0])
                found.append(tuple(values))
        assert found == [("wal", 2)] * 4

    def test_what_was_appended_is_in_the_file_before_the_store_is_closed(
        self, store: RecordedEventStore, url: str
    ) -> None:
        append(store, history(3))
        assert [row[1] for row in rows(store, url)] == [1, 2, 3]


class TestAppendOnly:
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE stored_events SET state = x'7b7d'",
            "UPDATE stored_events SET topic = 'terminal' WHERE originator_version = 2",
            "UPDATE OR REPLACE stored_events SET originator_version = 1 WHERE originator_version = 2",
            "DELETE FROM stored_events",
            "DELETE FROM stored_events WHERE originator_version = 3",
            "INSERT OR REPLACE INTO stored_events (originator_id, originator_version, topic, state)"
            f" VALUES ('{RUN.hex}', 2, 'terminal', x'7b7d')",
            "REPLACE INTO stored_events (position, originator_id, originator_version, topic, state)"
            f" VALUES (1, '{RUN.hex}', 9, 'terminal', x'7b7d')",
            "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
            f" VALUES ('{RUN.hex}', 2, 'terminal', x'7b7d')"
            " ON CONFLICT (originator_id, originator_version) DO UPDATE SET topic = excluded.topic",
        ],
    )
    def test_no_statement_changes_what_is_stored(
        self, store: RecordedEventStore, url: str, statement: str
    ) -> None:
        append(store, history(3))
        before = rows(store, url)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            execute(url, statement)
        assert rows(store, url) == before
        assert append(store, [turn(3)], 3) == 4

    @pytest.mark.parametrize(
        "values",
        [
            "('not a run', 1, 'terminal', x'7b7d')",
            "('00000000000070008000000000000001', 'x', 'terminal', x'7b7d')",
            "('00000000000070008000000000000001', 0, 'terminal', x'7b7d')",
            "('00000000000070008000000000000001', 1.5, 'terminal', x'7b7d')",
            "('00000000000070008000000000000001', 1, x'00', x'7b7d')",
            "('00000000000070008000000000000001', 1, 'terminal', '{}')",
            "('00000000000070008000000000000001', 1, 'terminal', NULL)",
        ],
    )
    def test_a_row_of_the_wrong_types_is_refused(
        self, store: RecordedEventStore, url: str, values: str
    ) -> None:
        columns = "originator_id, originator_version, topic, state"
        with pytest.raises(sqlite3.IntegrityError):
            execute(url, f"INSERT INTO stored_events ({columns}) VALUES {values}")
        assert rows(store, url) == []

    def test_positions_are_never_given_twice_even_after_a_delete(
        self, store: RecordedEventStore, url: str
    ) -> None:
        """Whoever drops the triggers can delete; a reader that had come to 3 must not miss what follows."""
        append(store, history(3))
        execute(url, "DROP TRIGGER stored_events_no_delete")
        execute(url, "DELETE FROM stored_events WHERE originator_version = 3")
        append(store, [turn(2, "another")], 2)
        assert [(entry.version, entry.position) for entry in store.read_log(after=3)] == [(3, 4)]

    def test_opening_puts_back_a_trigger_that_is_missing_altogether(
        self, store: RecordedEventStore, file: Path, url: str
    ) -> None:
        execute(url, "DROP TRIGGER stored_events_no_replace")
        impatient_store(file).close()
        assert execute(url, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") == [(3,)]


@pytest.mark.case("C105")
class TestLocks:
    def test_C105_an_append_waits_for_the_writer_of_another_process(
        self, store: RecordedEventStore, file: Path
    ) -> None:
        append(store, history(2))

        async def append_while_locked() -> int:
            with locked_by_another_process(file):
                waiting = asyncio.create_task(store.append(RUN, [turn(2)], expected_version=2))
                done, _ = await asyncio.wait({waiting}, timeout=0.2)
                assert done == set()
                assert len(store.read(RUN)) == 2
            return await waiting

        assert asyncio.run(append_while_locked()) == 3

    def test_C105_at_the_end_of_its_patience_it_says_so_and_nothing_is_stored(
        self, store: RecordedEventStore, file: Path
    ) -> None:
        append(store, history(2))
        set_pragma(store, "busy_timeout", 50)
        with (
            locked_by_another_process(file),
            pytest.raises(StoreError, match="the store could not append: database is locked"),
        ):
            append(store, [turn(2)], 2)
        assert store.read(RUN) == recorded(history(2))
        assert append(store, [turn(2)], 2) == 3

    def test_C105_of_many_appends_that_wait_for_a_lock_none_waits_for_the_others_too(
        self, store: RecordedEventStore, file: Path
    ) -> None:
        """Two times the patience of one at most, not thirty times."""
        set_pragma(store, "busy_timeout", 50)

        async def many() -> list[int | BaseException]:
            appends = [store.append(run_id, [started()], expected_version=0) for run_id in run_ids(30)]
            return await asyncio.wait_for(asyncio.gather(*appends, return_exceptions=True), timeout=5)

        with locked_by_another_process(file):
            answers = asyncio.run(many())
        assert {str(answer) for answer in answers} == {"the store could not append: database is locked"}

    def test_C105_who_only_reads_opens_the_store_while_another_process_writes(
        self, store: RecordedEventStore, file: Path
    ) -> None:
        append(store, history(2))
        with locked_by_another_process(file):
            reader = impatient_store(file)
            assert reader.read(RUN) == recorded(history(2))
            reader.close()

    def test_C105_many_processes_create_one_file_at_the_same_time(self, tmp_path: Path) -> None:
        for attempt in range(2):
            file = tmp_path / f"{attempt}.db"
            reports = appending_processes(f"sqlite:///{file}", processes=6, appends=1)
            assert [report["versions"] for report in reports] == [[1]] * 6


@pytest.mark.case("C112")
class TestFullDisk:
    def test_C112_an_append_fails_at_once_and_loudly_and_the_store_stays_readable(self, file: Path) -> None:
        store = impatient_store(file, retry_s=60)
        append(store, history(3))
        set_pragma(store, "max_page_count", pragma(store, "page_count") + 2)
        big: list[Event] = [result(os.urandom(200_000).hex())]
        with pytest.raises(StoreError, match="full"):
            append(store, big, 3)
        assert store.read(RUN) == recorded(history(3))
        assert places(store.read_log()) == [(RUN, 1), (RUN, 2), (RUN, 3)]
        set_pragma(store, "max_page_count", 1_000_000)
        assert append(store, big, 3) == 4
        store.close()

    def test_C112_of_a_batch_only_what_does_not_fit_fails(self, store: RecordedEventStore) -> None:
        append(store, history(3))
        set_pragma(store, "max_page_count", pragma(store, "page_count") + 8)
        small, big, last = run_ids(3)

        async def batch() -> list[int | BaseException]:
            events: dict[UUID, Event] = {
                small: started(),
                big: result(os.urandom(200_000).hex()),
                last: started(),
            }
            appends = [store.append(run_id, [event], expected_version=0) for run_id, event in events.items()]
            return await asyncio.gather(*appends, return_exceptions=True)

        first, refused, third = asyncio.run(batch())
        assert (first, third) == (1, 1)
        assert isinstance(refused, StoreError)
        assert not isinstance(refused, VersionConflict)

    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_C112_a_write_that_the_system_refuses_in_the_middle_of_a_commit(self, file: Path) -> None:
        """A limit on the size of files makes write() itself fail, as a full disk or quota does."""

        def work() -> str:
            store = impatient_store(file)
            append(store, history(2))
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
            big: list[Event] = [result(os.urandom(400_000).hex())]
            with pytest.raises(StoreError):
                append(store, big, 2)
            assert store.read(RUN) == recorded(history(2))
            assert append(store, [turn(2)], 2) == 3
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert append(store, big, 3) == 4
            assert store.read(RUN) == recorded([*history(3), *big])
            store.close()
            return "went on"

        assert in_forked_child(work) == "went on"


class TestFilesThatAreNoStores:
    def test_a_text_file(self, file: Path, url: str) -> None:
        file.write_text("This is not a database. " * 100)
        with pytest.raises(StoreError, match="could not open: file is not a database"):
            open_store(url)
        assert file.read_text() == "This is not a database. " * 100

    def test_a_folder(self, file: Path, url: str) -> None:
        file.mkdir()
        with pytest.raises(StoreError, match="could not open: unable to open database file"):
            open_store(url)

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="there is no folder"):
            open_store(f"sqlite:///{tmp_path}/missing/store.db")

    def test_a_file_that_is_not_there_and_must_not_be_made(self, file: Path, url: str) -> None:
        with pytest.raises(StoreError, match="there is no store at"):
            open_store(url, create=False)
        assert not file.exists()

    def test_a_damaged_file_is_an_error_at_once_and_never_an_empty_store(self, file: Path) -> None:
        store = impatient_store(file)
        append(store, [started(), *(turn(step, os.urandom(500).hex()) for step in range(1, 200))])
        store.close()
        damaged = bytearray(file.read_bytes())
        damaged[4096 * 2 :] = b"\xff" * (len(damaged) - 4096 * 2)
        file.write_bytes(damaged)
        store = impatient_store(file, retry_s=60)
        with pytest.raises(StoreError, match="could not read"):
            store.read(RUN)
        with pytest.raises(StoreError, match="could not read"):
            store.read_log()
        with pytest.raises(StoreError, match="could not append"):
            append(store, [turn(200)], 200)
        store.close()

    def test_a_file_that_may_only_be_read(self) -> None:
        """As another user, since the administrator may write everywhere."""
        folder = Path(tempfile.mkdtemp(prefix="tachograph-"))
        file = folder / "store.db"
        impatient_store(file).close()
        sqlite3.connect(file).execute("PRAGMA journal_mode=DELETE").connection.close()
        folder.chmod(0o555)
        file.chmod(0o444)
        administrator = os.geteuid() == 0
        try:
            if administrator:
                os.seteuid(65534)
            with pytest.raises(StoreError, match="readonly"):
                impatient_store(file, retry_s=60)
        finally:
            if administrator:
                os.seteuid(0)
            folder.chmod(0o755)
            shutil.rmtree(folder)

    def test_a_file_of_the_library_itself_is_left_alone(self, file: Path, url: str) -> None:
        """Its table has the same name; our triggers on it would break the program that it belongs to."""
        stock = Application[UUID](
            env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(file)}
        )
        with pytest.raises(StoreError, match="belongs to another program"):
            open_store(url)
        assert stock.recorder.insert_events([StoredEvent(RUN, 1, "topic", b"{}")]) == [1]
        stock.close()
