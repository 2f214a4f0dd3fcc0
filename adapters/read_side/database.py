"""What the read side needs from a database: transactions, rows, and bulk writes that merge."""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from eventsourcing.domain import EventSourcingError

from tachograph.domain.errors import StoreError
from tachograph.projections.projection import Rows, Table


class RowRefused(Exception):
    """The database doesn't take a row, however often it is tried."""


class ViewHeld(StoreError):
    """A reader of somebody's own holds a view for longer than a change of tables waits."""


class Transaction(Protocol):
    """
    Statements of one transaction. Parameters stand as `%s` in every statement.

    `write` and `savepoint` belong together: what `write` refuses is undone by the savepoint around it.
    """

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        ...

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        ...

    def create(self, table: Table, generation: int) -> None:
        """Create the table of one generation, with its indexes."""
        ...

    def write(self, table: Table, generation: int, rows: Rows) -> None:
        """Add rows, no two with one key, and merge them with those that are there. Raises RowRefused."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what is done inside, and nothing more, when it raises."""
        ...

    def has(self, relation: str) -> bool:
        """Tell whether there is a table or view of this name."""
        ...

    def grant(self, relation: str) -> None:
        """Let readers read a table or view, where the database has a role for them."""
        ...


class Database(Protocol):
    """The database in which the views stand. Every error of it is raised as a StoreError."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that only reads."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that writes. It may be lost in a power cut, but then as a whole."""
        ...

    def recording(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that writes what stands nowhere else: durable at its commit."""
        ...

    def changing_schema(self) -> AbstractContextManager[Transaction]:
        """
        Begin a transaction that changes tables; there is one at a time, whatever the process.

        Raises:
            ViewHeld: Where readers lock what they read, and one of them doesn't let go.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened for the read side alone."""
        ...


@contextmanager
def translated(opened_by: int) -> Iterator[None]:
    """
    Raise errors of the library's datastores as a StoreError.

    Args:
        opened_by: The process that opened the connections; another one may not use them.
    """
    if opened_by != os.getpid():
        raise StoreError("these views were opened before a fork; open them again in the child")
    try:
        yield
    except EventSourcingError as exc:
        first_line = next(iter(str(exc).splitlines()), type(exc).__name__)
        raise StoreError(f"the views could not be read or written: {first_line}") from exc
