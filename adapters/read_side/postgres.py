"""The read side in a PostgreSQL database, beside the log."""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from tachograph.adapters.read_side import statements
from tachograph.adapters.read_side.database import RowRefused, Transaction, ViewHeld, translated
from tachograph.adapters.read_side.errors import NotPermitted
from tachograph.adapters.stores.postgres_server import Datastore
from tachograph.projections.projection import Rows, Table

# Texts sort by their bytes, as in SQLite, whatever the database's language.
_TYPES: Final = {"TEXT": 'text COLLATE "C"', "INTEGER": "bigint", "BLOB": "bytea"}
_BULK_TYPES: Final = {"TEXT": "text", "INTEGER": "bigint", "BLOB": "bytea"}
_REFUSALS: Final = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    psycopg.errors.CardinalityViolation,
    OverflowError,
    UnicodeEncodeError,
)
_NOT_PERMITTED: Final = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)
# The record itself is never written like this. A lost batch of a view is read from the record again.
_LAZY_COMMIT: Final = "SET LOCAL synchronous_commit TO OFF"
_SCHEMA_LOCK: Final = "SELECT pg_advisory_xact_lock(1952539493, 1)"
# Whoever wants to read a view waits behind a change of it, so the change itself doesn't wait for long.
LOCK_TIMEOUT_S: Final = 3
_LOCK_TIMEOUT: Final = f"SET LOCAL lock_timeout TO '{LOCK_TIMEOUT_S}s'"
_READER_EXISTS: Final = "SELECT 1 FROM pg_roles WHERE rolname = 'tachograph_reader'"
_THERE: Final = "SELECT to_regclass(%s) IS NOT NULL"
_GRANT: Final = "GRANT SELECT ON {relation} TO tachograph_reader"


class PostgresTransaction:
    """Statements in one transaction of PostgreSQL; see the port."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        return self._cursor.execute(statement.encode(), parameters).rowcount

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._cursor.execute(query.encode(), parameters).fetchall()

    def create(self, table: Table, generation: int) -> None:
        """Create the table of one generation, with its indexes."""
        for statement in statements.create_table(table, generation, _TYPES):
            self.execute(statement)

    def write(self, table: Table, generation: int, rows: Rows) -> None:
        """Add rows and merge them with those that are there."""
        try:
            if table.merges:
                self._merge(table, generation, rows)
            else:
                self._copy(table, generation, rows)
        except _REFUSALS as exc:
            raise RowRefused(str(exc)) from exc

    def savepoint(self) -> AbstractContextManager[Any]:
        """Undo what is done inside when it raises."""
        return self._cursor.connection.transaction()

    def has(self, relation: str) -> bool:
        """Tell whether there is a table or view of this name."""
        [[there]] = self.rows(_THERE, (relation,))
        return bool(there)

    def grant(self, relation: str) -> None:
        """Let the role `tachograph_reader` read it, if there is one."""
        if self.rows(_READER_EXISTS):
            self.execute(_GRANT.format(relation=relation))

    def _copy(self, table: Table, generation: int, rows: Rows) -> None:
        with self._cursor.copy(statements.copy(table, generation).encode()) as copy:
            copy.set_types([_BULK_TYPES[column.type] for column in table.columns])
            for row in rows:
                copy.write_row(row)

    def _merge(self, table: Table, generation: int, rows: Rows) -> None:
        arrays = ", ".join(f"%b::{_BULK_TYPES[column.type]}[]" for column in table.columns)
        statement = statements.insert(table, generation, f"SELECT * FROM unnest({arrays})")
        self._cursor.execute(statement.encode(), [list(values) for values in zip(*rows, strict=True)])


class PostgresDatabase:
    """Views in the database of a datastore."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore
        self._pid = os.getpid()

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that only reads."""
        return self._transaction(commit=False)

    def writing(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that writes. Its commit doesn't wait for the disk."""
        return self._transaction(_LAZY_COMMIT, commit=True)

    def recording(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that writes. Its commit waits for the disk, as the server is set."""
        return self._transaction(commit=True)

    @contextmanager
    def changing_schema(self) -> Iterator[Transaction]:
        """Begin a transaction that changes tables, in turn. Raises ViewHeld."""
        with self._transaction(_SCHEMA_LOCK, _LOCK_TIMEOUT, commit=True) as transaction:
            try:
                yield transaction
            except psycopg.errors.LockNotAvailable as exc:
                raise ViewHeld(
                    "a reader holds one of the views; end its transaction, then try again"
                ) from exc

    def close(self) -> None:
        """Do nothing: the connections are the store's."""

    @contextmanager
    def _transaction(self, *first: str, commit: bool) -> Iterator[Transaction]:
        with translated(self._pid), self._datastore.transaction(commit=commit) as dictionaries:
            with dictionaries.connection.cursor(row_factory=tuple_row) as cursor:
                try:
                    for statement in first:
                        cursor.execute(statement.encode())
                    yield PostgresTransaction(cursor)
                except _NOT_PERMITTED as exc:
                    raise NotPermitted(f"the views could not be read or written: {_first_line(exc)}") from exc


def _first_line(exc: Exception) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__)
