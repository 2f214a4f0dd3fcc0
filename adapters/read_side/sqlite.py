"""The read side in a SQLite file, beside the log, or in memory."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from tachograph.adapters.read_side import statements
from tachograph.adapters.read_side.database import RowRefused, Transaction, translated
from tachograph.adapters.stores.sqlite_file import Datastore
from tachograph.projections.projection import Rows, Table

_TYPES: Final = {"TEXT": "TEXT", "INTEGER": "INTEGER", "BLOB": "BLOB"}
_REFUSALS: Final = (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeEncodeError)
_SAVEPOINT: Final = "SAVEPOINT one_entry"
_ROLL_BACK: Final = "ROLLBACK TO one_entry"
_RELEASE: Final = "RELEASE one_entry"
_THERE: Final = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = %s)"


class SqliteTransaction:
    """Statements in one transaction of SQLite; see the port."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor.sqlite_cursor

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        self._cursor.execute(statement.replace("%s", "?"), parameters)
        changed: int = self._cursor.rowcount
        return changed

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return [tuple(row) for row in self._cursor.execute(query.replace("%s", "?"), parameters)]

    def create(self, table: Table, generation: int) -> None:
        """Create the table of one generation, with its indexes."""
        for statement in statements.create_table(table, generation, _TYPES):
            self.execute(statement)

    def write(self, table: Table, generation: int, rows: Rows) -> None:
        """Add rows and merge them with those that are there."""
        values = f"VALUES ({', '.join('?' * len(table.columns))})"
        statement = statements.insert(table, generation, values)
        try:
            self._cursor.executemany(statement, rows)
        except _REFUSALS as exc:
            raise RowRefused(str(exc)) from exc

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what is done inside when it raises."""
        self._cursor.execute(_SAVEPOINT)
        try:
            yield
        except BaseException:
            self._cursor.execute(_ROLL_BACK)
            raise
        finally:
            self._cursor.execute(_RELEASE)

    def has(self, relation: str) -> bool:
        """Tell whether there is a table or view of this name."""
        [[there]] = self.rows(_THERE, (relation,))
        return bool(there)

    def grant(self, relation: str) -> None:
        """Do nothing: SQLite has no roles."""


class SqliteDatabase:
    """Views in the file of a datastore. A writing transaction begins IMMEDIATE."""

    def __init__(self, datastore: Datastore, *, owned: bool = False) -> None:
        self._datastore = datastore
        self._pid = os.getpid()
        self._owned = owned

    @classmethod
    def in_memory(cls) -> "SqliteDatabase":
        """Return views of their own, gone when they are closed."""
        return cls(Datastore(":memory:"), owned=True)

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that only reads."""
        return self._transaction(commit=False)

    def writing(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that writes, one at a time in a file."""
        return self._transaction(commit=True)

    def recording(self) -> AbstractContextManager[Transaction]:
        """Do as `writing` does: every commit to a file is durable."""
        return self._transaction(commit=True)

    def changing_schema(self) -> AbstractContextManager[Transaction]:
        """Do as `writing` does."""
        return self._transaction(commit=True)

    def close(self) -> None:
        """Close the views in memory; the file is the store's to close."""
        if self._owned:
            self._datastore.close()

    @contextmanager
    def _transaction(self, *, commit: bool) -> Iterator[Transaction]:
        with translated(self._pid), self._datastore.transaction(commit=commit) as cursor:
            yield SqliteTransaction(cursor)
