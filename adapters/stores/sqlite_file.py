"""Connections to a SQLite file: durable at each commit, and patient with the writers of other processes."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from eventsourcing import sqlite as library
from eventsourcing.persistence import InterfaceError, OperationalError

LOCK_TIMEOUT_S: Final = 30
_PAUSE_S: Final = 0.01


class Pool(library.SQLiteConnectionPool):
    """Connections that are durable at each commit."""

    def _create_connection(self) -> library.SQLiteConnection:
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                return self._connect()
            except sqlite3.Error as exc:
                # Who changes the journal mode is told of a lock at once, whatever the timeout.
                if "locked" not in str(exc) or time.monotonic() > deadline:
                    raise InterfaceError(f"{exc}: {self.db_name}") from exc
            time.sleep(_PAUSE_S)

    def _connect(self) -> library.SQLiteConnection:
        connection = sqlite3.connect(
            self.db_name,
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            timeout=self.lock_timeout or LOCK_TIMEOUT_S,
        )
        try:
            if not self.is_sqlite_memory_mode:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error:
            connection.close()
            raise
        connection.row_factory = sqlite3.Row
        return library.SQLiteConnection(connection, self.max_age)


class Transaction(library.SQLiteTransaction):
    """A transaction that takes the write lock at its start, if it is one that writes."""

    def __enter__(self) -> library.SQLiteCursor:
        cursor = self.connection.cursor()
        try:
            cursor.execute("BEGIN IMMEDIATE" if self.commit else "BEGIN")
        except sqlite3.Error as exc:
            raise OperationalError(exc) from exc
        return cursor


class Datastore(library.SQLiteDatastore):
    """One database file. A writer waits up to LOCK_TIMEOUT_S for the writers of other processes."""

    def __init__(self, db_name: str) -> None:
        memory = library.SQLiteConnectionPool.detect_memory_mode(db_name)
        super().__init__(db_name)
        self.pool.close()
        self.pool = Pool(
            db_name=db_name,
            lock_timeout=LOCK_TIMEOUT_S,
            pool_size=1 if memory else 5,
            max_overflow=0 if memory else 10,
            pool_timeout=LOCK_TIMEOUT_S,
        )

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[library.SQLiteCursor]:
        """Give a cursor in a transaction of its own."""
        with (
            self.get_connection(commit=commit) as connection,
            Transaction(connection, commit=commit) as cursor,
            cursor,
        ):
            yield cursor
