"""
A number as an exact sum, difference or product of a few values of one record: a hint, never support.

Three ways are tried, from the likeliest on:

    remainder  with the same field of the call's other rows it makes up a total that the evidence states
    rows       a field of the records that the call's rows name, added up, times the length of another list
    pair       two fields of one record that the call names

A search over 150 values hits by chance in 55 %. So only records are looked at that other arguments point
to, and the search ends when as many results have been tried as make a chance hit likelier than CHANCE_MAX.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Final

from tachograph.domain.why.index import Index
from tachograph.domain.why.numbers import as_decimal

CHANCE_MAX: Final = 0.02
VALUES_MAX: Final = 10  # of one record
_ROWS_MAX: Final = 20
_TIMES_MAX: Final = 9
_LEVELS_MAX: Final = 2
_ROW: Final = re.compile(r"/[0-9]+(?=/|\Z)")


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a number comes about: the leaves that it is made of, the rule, and the sum as written."""

    leaves: tuple[int, ...]
    rule: str
    formula: str


@dataclass(frozen=True, slots=True)
class Row:
    """One leaf of a call: its pointer, its value as a number if it is one, the records it points to."""

    pointer: str
    number: Decimal | None
    records: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Tried:
    leaves: tuple[int, ...]
    result: Decimal
    rule: str
    formula: str


def derivation(
    index: Index, row: Row, rows: Sequence[Row], totals: Mapping[Decimal, int]
) -> Derivation | None:
    """
    Return how the number of a row comes about, or None.

    Args:
        rows: All leaves of the call.
        totals: Numbers that the evidence calls a total, each with its leaf.
    """
    wanted = row.number
    if wanted is None:
        return None
    digits = len(wanted.normalize().as_tuple().digits)
    budget = max(1, int(CHANCE_MAX * 9 * 10 ** (min(digits, 12) - 1)))
    for tried, attempt in enumerate(_attempts(index, row, rows, totals), start=1):
        if attempt.result == wanted:
            return Derivation(attempt.leaves, attempt.rule, f"{attempt.formula} = {wanted:f}")
        if tried >= budget:
            return None
    return None


def column_total(row: Row, rows: Iterable[Row]) -> Decimal | None:
    """Return the sum of a field over all rows of its list; None where there is one row alone."""
    pattern = _ROW.sub("/*", row.pointer)
    column = [other.number for other in rows if _ROW.sub("/*", other.pointer) == pattern]
    numbers = [number for number in column if number is not None]
    return sum(numbers, Decimal(0)) if len(numbers) > 1 else None


def _attempts(index: Index, row: Row, rows: Sequence[Row], totals: Mapping[Decimal, int]) -> Iterator[_Tried]:
    total = column_total(row, rows)
    if total is not None and row.number is not None and total in totals:
        leaf = totals[total]
        formula = f"{total:f} - {total - row.number:f}"
        yield _Tried((leaf,), row.number, "remainder", formula)
    times = sorted({length for length in _lengths(rows).values() if 1 < length <= _TIMES_MAX})
    for leaves, added, formula in _sums_of_rows(index, rows):
        if len(leaves) > 1:
            yield _Tried(leaves, added, "sum_of_rows", formula)
        for length in times:
            yield _Tried(leaves, added * length, "sum_of_rows", f"({formula}) * {length}")
    for container in sorted(row_records(rows, row)):
        yield from _pairs(index, container)


def row_records(rows: Sequence[Row], row: Row) -> frozenset[int]:
    """Return the records of the arguments that stand in the same object as this one, or around it."""
    place = row.pointer.rpartition("/")[0]
    near = [other.records for other in rows if place.startswith(other.pointer.rpartition("/")[0])]
    return frozenset[int]().union(*near)


def company(rows: Sequence[Row], row: Row) -> Counter[int]:
    """Return how many other arguments of the same object point to each record."""
    place = row.pointer.rpartition("/")[0]
    return Counter(
        record
        for other in rows
        if other is not row and other.pointer.rpartition("/")[0] == place
        for record in other.records
    )


def _lengths(rows: Sequence[Row]) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for row in rows:
        for found in _ROW.finditer(row.pointer):
            name = row.pointer[: found.start()]
            lengths[name] = max(lengths.get(name, 0), int(found[0][1:]) + 1)
    return lengths


def _sums_of_rows(index: Index, rows: Sequence[Row]) -> Iterator[tuple[tuple[int, ...], Decimal, str]]:
    for name, length in sorted(_lengths(rows).items()):
        if length > _ROWS_MAX:
            continue
        by_row = [
            Counter(
                record for row in rows if row.pointer.startswith(f"{name}/{place}/") for record in row.records
            )
            for place in range(length)
        ]
        for records in _of_one_document(index, by_row):
            fields = [dict(_numbers_below(index, record)) for record in records]
            for field in fields[0]:
                if all(field in other for other in fields):
                    leaves = tuple(other[field] for other in fields)
                    numbers = [_number(index, leaf) for leaf in leaves]
                    yield leaves, sum(numbers, Decimal(0)), " + ".join(f"{number:f}" for number in numbers)


def _of_one_document(index: Index, by_row: list[Counter[int]]) -> Iterator[list[int]]:
    """Yield for each row the record that most of it points to, all of one document; the latest first."""
    documents: list[dict[int, int]] = []
    for counted in by_row:
        best = {index.records.document_of(record): record for record, _ in reversed(counted.most_common())}
        documents.append(best)
    shared = set(documents[0]).intersection(*documents[1:]) if documents else set()
    for document in sorted(shared, reverse=True):
        yield [records[document] for records in documents]


def _numbers_below(index: Index, container: int) -> Iterator[tuple[str, int]]:
    found = 0
    for leaf in index.records.below(container, _LEVELS_MAX):
        if index.is_number(leaf) and found < VALUES_MAX:
            found += 1
            yield index.pointer(leaf).removeprefix(index.pointer_of(container)), leaf


def _pairs(index: Index, container: int) -> Iterator[_Tried]:
    numbers = [leaf for leaf in index.records.members_of(container) if index.is_number(leaf)][:VALUES_MAX]
    for one, other in combinations(numbers, 2):
        first, second = _number(index, one), _number(index, other)
        larger, smaller = max(first, second), min(first, second)
        yield _Tried((one, other), first + second, "sum", f"{first:f} + {second:f}")
        yield _Tried((one, other), larger - smaller, "difference", f"{larger:f} - {smaller:f}")
        yield _Tried((one, other), first * second, "product", f"{first:f} * {second:f}")


def _number(index: Index, leaf: int) -> Decimal:
    return as_decimal(index.text(leaf)) or Decimal(0)
