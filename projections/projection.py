"""
What a projection is: tables, and a pure function from events to rows.

A row names the columns it knows something about. Where rows meet under one primary key, each column's
`merge` says what becomes of the two values; rows are merged the same way within a batch, here, and with
what is stored, in SQL. So one event at a time, batches of any size and a rebuild give the same tables.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from tachograph.domain.events import Event

INTEGER_MAX: Final = 2**63 - 1
NAME_RULE: Final = "1 to 40 small letters and underscores, the first a letter"
_NAME = re.compile(r"[a-z][a-z_]{0,39}\Z")

Value = str | int | bytes | None
Row = Mapping[str, Value]
Rows = list[tuple[Value, ...]]
Changes = Mapping[str, Iterable[Row]]

Merge = Literal["first", "last", "sum"]


class Placed(NamedTuple):
    """
    An event and where it belongs. `trace_id`, `tenant` and `agent` are those that its run started with;
    `shared`: it was taken over from the run that this one was forked from.

    Only a projection that shows what can't be read gets an entry without an event (`why` says why it
    has none), or one whose run's beginning can't be read (trace and tenant None).
    """

    position: int
    run_id: str
    version: int
    kind: str
    trace_id: str | None
    tenant: str | None
    recorded_at: str | None
    event: Event | None
    why: str | None = None
    agent: str | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """
    A column of a view.

    Args:
        merge: What stays when two rows meet: the `first` value that isn't null, the `last` one, or the
            `sum`, which counts from 0. None: key columns, and all columns of a table of plain rows.
    """

    name: str
    type: Literal["TEXT", "INTEGER", "BLOB"]
    merge: Merge | None = None
    required: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)


@dataclass(frozen=True)
class Table:
    """A table of a projection. Every table has the column `tenant`."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name)
        assert "tenant" in self.column_names, f"{self.name}: every row carries its tenant"
        assert self.merges.keys().isdisjoint(self.primary_key), f"{self.name}: a key is never merged"

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def merges(self) -> dict[str, Merge]:
        """How columns merge; empty for a table of plain rows, which are only ever added."""
        return {column.name: column.merge for column in self.columns if column.merge is not None}


@dataclass(frozen=True)
class SqlView:
    """
    A query over the tables of one projection, shown under its own name.

    Args:
        columns: What each column says, in order.
        query: In it, `{name}` stands for a table of the projection, or for a view before this one.
    """

    name: str
    columns: Mapping[str, str]
    query: str

    def __post_init__(self) -> None:
        for name in (self.name, *self.columns):
            check_name(name)


@dataclass(frozen=True)
class Projection:
    """
    A read model.

    Args:
        version: Of what it computes. A higher one makes catch-up build it again from the first event.
        kinds: The kinds of event it is made from; None means all.
        changes: Takes placed events in order of position, gives rows by name of table. It is pure, and
            the rows of a batch are those of its events, one after the other.
        shows_unreadable: Whether it takes entries that can't be read. Otherwise they are quarantined.
        views: Over its tables, in an order in which each needs those before it alone.
    """

    name: str
    version: int
    tables: tuple[Table, ...]
    changes: Callable[[Sequence[Placed]], Changes]
    kinds: frozenset[str] | None = None
    shows_unreadable: bool = False
    views: tuple[SqlView, ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name)


def check_name(name: str) -> None:
    """Refuse a name that could not stand in a statement as it is."""
    if not _NAME.match(name):
        raise ValueError(f"{name!r}: a table or column is named with {NAME_RULE}")


def merged(table: Table, rows: Iterable[Row]) -> Rows:
    """
    Return rows that are ready to be bound: one a key, values in the order of the columns.

    Raises:
        ValueError: An integer that no database column can hold.
    """
    if not table.merges:
        values = itemgetter(*table.column_names)
        return _checked(table, [values(row) for row in rows])
    key_of = itemgetter(*table.primary_key)
    zero = {name: 0 if table.merges.get(name) == "sum" else None for name in table.column_names}
    by_key: dict[Any, dict[str, Value]] = {}
    for row in rows:
        key = key_of(row)
        known = by_key.get(key)
        if known is None:
            by_key[key] = zero | row  # type: ignore[operator]  # a Mapping is what dict takes here
        else:
            _merge(table.merges, known, row)
    return _checked(table, [tuple(row.values()) for row in by_key.values()])


def _merge(merges: Mapping[str, Merge], known: dict[str, Value], row: Row) -> None:
    for name, value in row.items():
        merge = merges.get(name)
        if value is None or merge is None:
            continue
        if merge == "sum":
            known[name] += value  # type: ignore[operator]  # sums are of integers
        elif merge == "last" or known[name] is None:
            known[name] = value


def _checked(table: Table, rows: Rows) -> Rows:
    """Keep out integers past 64 bits; put U+FFFD for NUL, which PostgreSQL can't hold in a text."""
    has_nul = False
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=False):
        present: Iterable[Any] = filter(None, values)
        if column.type == "INTEGER" and max(map(abs, present), default=0) > INTEGER_MAX:
            raise ValueError(f"{table.name}.{column.name}: an integer past 64 bits")
        if column.type == "TEXT" and "\0" in "".join(present):
            has_nul = True
    return [tuple(map(_without_nul, row)) for row in rows] if has_nul else rows


def _without_nul(value: Value) -> Value:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
