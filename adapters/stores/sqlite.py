"""
SQLite as a persistence module of `eventsourcing`.

What differs from the library's own: WAL and synchronous=FULL are set, not assumed; a writing
transaction begins IMMEDIATE, so that several processes wait for each other instead of failing;
positions are never reused; a version gap is refused; update and delete are refused by triggers.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final
from uuid import UUID

from eventsourcing import sqlite as library
from eventsourcing.persistence import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    StoredEvent,
)
from eventsourcing.utils import Environment, EnvType

from tachograph.adapters.stores.heads import KnownHeads
from tachograph.adapters.stores.rows import LogRow, RowRecorder, RunRow
from tachograph.adapters.stores.sqlite_file import Datastore

STATEMENT_ROWS_MAX: Final = 2000  # Of 4 parameters each; SQLite takes 32,766.
SCHEMA: Final = (files(__package__) / "sqlite.sql").read_text(encoding="utf-8")

_INSERT: Final = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES "
_SELECT_RUN: Final = (
    "SELECT originator_version, topic, state FROM stored_events WHERE originator_id = ?"
    " AND originator_version > ? AND originator_version <= ? ORDER BY originator_version"
)
_SELECT_LOG: Final = (
    "SELECT originator_id, originator_version, topic, state, position FROM stored_events"
    " WHERE position >= ? AND position <= ? ORDER BY position LIMIT ?"
)
_SCHEMA_FOUND: Final = """
    SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'stored_events'),
        EXISTS (SELECT 1 FROM pragma_table_info('stored_events') WHERE name = 'position'),
        EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'stored_events_no_replace')
"""
_VERSION_MAX: Final = 2**62


class Recorder(RowRecorder, library.SQLiteApplicationRecorder):
    """The event log in one table."""

    datastore: Datastore

    def __init__(self, datastore: library.SQLiteDatastore, events_table_name: str = "stored_events") -> None:
        super().__init__(datastore, events_table_name)
        self._heads = KnownHeads(self.has_version)

    def construct_create_table_statements(self) -> list[str]:
        """Return the schema's statements."""
        return [part.strip() for part in SCHEMA.split("\n\n")]

    def create_table(self) -> None:
        """Create the schema if it isn't there; whoever only reads waits for no writer."""
        with self.datastore.transaction(commit=False) as c:
            c.execute(_SCHEMA_FOUND)
            table, ours, complete = c.fetchone()
        if table and not ours:
            raise OperationalError("its table stored_events belongs to another program")
        if not complete:
            super().create_table()

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """
        Store rows of any number of runs, all or none, and return their positions.

        One statement is one transaction: the interpreter is free for other threads from its begin to
        its fsync, and a lock held by another process is waited for.

        Raises:
            IntegrityError: A version is taken, or would leave a gap.
            OperationalError: Locked for LOCK_TIMEOUT_S, full, or not writable; nothing is stored.
            DatabaseError: The file is damaged.
        """
        if not stored_events:
            return []
        self._heads.check(stored_events)
        positions: list[int] = []
        if len(stored_events) <= STATEMENT_ROWS_MAX:
            with self.datastore.get_connection(commit=True) as connection:
                positions += _insert(connection.cursor().sqlite_cursor, stored_events)
        else:
            with self.datastore.transaction(commit=True) as cursor:
                for start in range(0, len(stored_events), STATEMENT_ROWS_MAX):
                    part = stored_events[start : start + STATEMENT_ROWS_MAX]
                    positions += _insert(cursor.sqlite_cursor, part)
        self._heads.learn(stored_events)
        return positions

    def run_rows(self, run_id: UUID | str, after: int = 0, up_to: int | None = None) -> list[RunRow]:
        """Return (version, topic, state) of a run, in order of version."""
        return self._read(_SELECT_RUN, (_hex(run_id), after, _VERSION_MAX if up_to is None else up_to))

    def log_rows(self, first: int, limit: int, last: int | None = None) -> list[LogRow]:
        """Return (run id, version, topic, state, position), in order of position."""
        rows = self._read(_SELECT_LOG, (first, _VERSION_MAX if last is None else last, limit))
        run_ids = {run_id: UUID(run_id) for run_id in {row[0] for row in rows}}
        return [(run_ids[row[0]], *row[1:]) for row in rows]

    def _read(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        with self.datastore.get_connection(commit=False) as connection:
            cursor = connection.cursor().sqlite_cursor
            cursor.row_factory = None
            try:
                return cursor.execute(statement, parameters).fetchall()
            except sqlite3.OperationalError as exc:
                raise OperationalError(exc) from exc
            except sqlite3.Error as exc:
                raise DatabaseError(exc) from exc

    def max_notification_id(self) -> int:
        """Return the last position, 0 for an empty log."""
        return super().max_notification_id() or 0


class Factory(library.SQLiteFactory):
    """What `PERSISTENCE_MODULE` finds in this module."""

    application_recorder_class = Recorder

    def __init__(self, env: Environment | EnvType | None) -> None:
        super().__init__(env)
        self.datastore.close()
        self.datastore = Datastore(self.env[self.SQLITE_DBNAME])


def _insert(cursor: sqlite3.Cursor, rows: Sequence[StoredEvent]) -> range:
    parameters: list[Any] = []
    for row in rows:
        parameters += (_hex(row.originator_id), row.originator_version, row.topic, row.state)
    try:
        cursor.execute(_statement(len(rows)), parameters)
    except sqlite3.IntegrityError as exc:
        raise IntegrityError(exc) from exc
    except sqlite3.OperationalError as exc:
        raise OperationalError(exc) from exc
    except sqlite3.Error as exc:
        raise DatabaseError(exc) from exc
    if cursor.rowcount != len(rows):
        raise IntegrityError("the database swallowed a row")
    assert cursor.lastrowid is not None
    return range(cursor.lastrowid - len(rows) + 1, cursor.lastrowid + 1)


@lru_cache(maxsize=256)
def _statement(rows: int) -> str:
    return _INSERT + ", ".join(["(?, ?, ?, ?)"] * rows)


def _hex(run_id: UUID | str) -> str:
    return run_id.hex if isinstance(run_id, UUID) else run_id
