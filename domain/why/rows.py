"""
The leaves of a call as rows of numbers and records, grouped once.

A call may have thousands of leaves, and what is asked of each depends on those beside it.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final

ROWS_MAX: Final = 20
_ROW: Final = re.compile(r"/[0-9]+(?=/|\Z)")


@dataclass(frozen=True, slots=True)
class Row:
    """
    One leaf of a call.

    Args:
        number: Its value, if it is one.
        records: That it points to.
        evident: Whether its value stands in the evidence, and not by chance.
    """

    pointer: str
    number: Decimal | None
    records: frozenset[int]
    evident: bool

    @property
    def place(self) -> str:
        """Pointer of the object or list that it stands in."""
        return self.pointer.rpartition("/")[0]

    @property
    def column(self) -> str:
        """Its pointer with `*` for the places of lists."""
        return _ROW.sub("/*", self.pointer)


class Rows:
    """All leaves of a call."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._pointed_to: dict[str, Counter[int]] = {}
        self._columns: dict[str, list[Row]] = {}
        self._around: dict[str, frozenset[int]] = {}
        for row in rows:
            self._pointed_to.setdefault(row.place, Counter()).update(row.records)
            if row.number is not None:
                self._columns.setdefault(row.column, []).append(row)

    def company(self, row: Row) -> Callable[[int], int]:
        """Return how many others of the same object point to a record, as a function of the record."""
        counted = self._pointed_to[row.place]
        return lambda record: counted[record] - (record in row.records)

    def records(self, row: Row) -> frozenset[int]:
        """Return the records that those in the same object, or in one around it, point to."""
        if row.place not in self._around:
            place, found = row.place, set(self._pointed_to[row.place])
            while place:
                place = place.rpartition("/")[0]
                found.update(self._pointed_to.get(place, ()))
            self._around[row.place] = frozenset(found)
        return self._around[row.place]

    def column_total(self, row: Row) -> Decimal | None:
        """Return the sum of a field over all rows of its list; None where there is one row alone."""
        count, total, _ = self._totals.get(row.column, (0, None, 0))
        return total if count > 1 else None

    def others_are_evident(self, row: Row) -> bool:
        """Tell whether the numbers of a field in all other rows of its list stand in the evidence."""
        _, _, unfounded = self._totals[row.column]
        return unfounded == (not row.evident)

    @cached_property
    def _totals(self) -> Mapping[str, tuple[int, Decimal, int]]:
        return {
            name: (
                len(column),
                sum((row.number for row in column if row.number is not None), Decimal(0)),
                sum(not row.evident for row in column),
            )
            for name, column in self._columns.items()
        }

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """How many rows each list has, by pointer."""
        lengths: dict[str, int] = {}
        for row in self._rows:
            for found in _ROW.finditer(row.pointer):
                name = row.pointer[: found.start()]
                lengths[name] = max(lengths.get(name, 0), int(found[0][1:]) + 1)
        return lengths

    @cached_property
    def pointed_to_by_lists(self) -> Sequence[Sequence[Counter[int]]]:
        """How often each row of a list points to each record, for the lists of up to ROWS_MAX rows."""
        lists = {
            name: [Counter[int]() for _ in range(length)]
            for name, length in sorted(self.lengths.items())
            if length <= ROWS_MAX
        }
        for row in self._rows:
            for found in _ROW.finditer(row.pointer):
                counted = lists.get(row.pointer[: found.start()])
                if counted is not None and found.end() < len(row.pointer):
                    counted[int(found[0][1:])].update(row.records)
        return list(lists.values())
