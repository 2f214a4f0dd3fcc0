"""
A number as an exact sum, difference or product of a few values of one record: a hint, never support.

Three ways are tried, from the likeliest on:

    remainder  with the same field of the call's other rows it makes up a total that the evidence states
    rows       a field of the records that the call's rows name, added up, times the length of another list
    pair       two fields of one record that the call names

A search over 150 values hits by chance in 55 %. So only records are looked at that other arguments point
to, and the search ends when as many results have been tried as make a chance hit likelier than CHANCE_MAX.
What a tool only says again of its own arguments is no part of a sum, and a remainder needs that the other
rows stand in the evidence.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice
from typing import Final

from tachograph.domain.why.candidates import find, ranked
from tachograph.domain.why.echoes import Echoes
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Leaf, Lexeme
from tachograph.domain.why.numbers import as_decimal
from tachograph.domain.why.rows import Row, Rows

CHANCE_MAX: Final = 0.02
VALUES_MAX: Final = 10  # of one record
_TRIED_MAX: Final = 2_000
_TIMES_MAX: Final = 9
_LEVELS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a number comes about: the leaves that it is made of, the rule, and the sum as written."""

    leaves: tuple[int, ...]
    rule: str
    formula: str


@dataclass(frozen=True, slots=True)
class _Tried:
    leaves: tuple[int, ...]
    result: Decimal
    rule: str
    formula: str


class Derivations:
    """
    What the numbers of one call may be made of.

    Args:
        before: Where its evidence ends, as a place of the index.
        rows: All leaves of the call.
    """

    def __init__(self, evidence: Evidence, before: int, rows: Rows) -> None:
        self._evidence = evidence
        self._before = before
        self._rows = rows
        self._echoing = Echoes(evidence)

    def of(self, row: Row) -> Derivation | None:
        """Return how the number of a row comes about, or None."""
        wanted = row.number
        if wanted is None:
            return None
        digits = len(wanted.normalize().as_tuple().digits)
        budget = max(1, min(_TRIED_MAX, int(CHANCE_MAX * 9 * 10 ** (min(digits, 12) - 1))))
        for attempt in islice(self._attempts(row), budget):
            if attempt.result == wanted and not any(map(self._echoing.is_echo, attempt.leaves)):
                return Derivation(attempt.leaves, attempt.rule, f"{attempt.formula} = {wanted:f}")
        return None

    def _attempts(self, row: Row) -> Iterator[_Tried]:
        total = self._rows.column_total(row)
        if total is not None and row.number is not None and self._rows.others_are_evident(row):
            formula = f"{total:f} - {total - row.number:f}"
            for leaf in self._called_total(total):
                yield _Tried((leaf,), row.number, "remainder", formula)
        yield from self._sums
        for container in sorted(self._rows.records(row)):
            yield from _pairs(self._evidence.index, container)

    def _called_total(self, number: Decimal) -> list[int]:
        """Return where the evidence calls a number a total, the best place alone."""
        finding = find(self._evidence, Leaf("/total_due_sum", Lexeme(f"{number:f}")), self._before)
        telling = [found for found in finding.candidates if found.telling and found.shared]
        return [found.match.leaf for found in ranked(self._evidence.index, telling)[:1]]

    @cached_property
    def _sums(self) -> Sequence[_Tried]:
        times = sorted({length for length in self._rows.lengths.values() if 1 < length <= _TIMES_MAX})
        sums: list[_Tried] = []
        for leaves, added, formula in self._sums_of_rows():
            if len(leaves) > 1:
                sums.append(_Tried(leaves, added, "sum_of_rows", formula))
            for length in times:
                sums.append(_Tried(leaves, added * length, "sum_of_rows", f"({formula}) * {length}"))
            if len(sums) >= _TRIED_MAX:
                break
        return sums

    def _sums_of_rows(self) -> Iterator[tuple[tuple[int, ...], Decimal, str]]:
        index = self._evidence.index
        for by_row in self._rows.pointed_to_by_lists:
            for records in _of_one_document(index, by_row):
                fields = [dict(_numbers_below(index, record)) for record in records]
                for field in fields[0]:
                    if all(field in other for other in fields):
                        leaves = tuple(other[field] for other in fields)
                        numbers = [_number(index, leaf) for leaf in leaves]
                        yield (
                            leaves,
                            sum(numbers, Decimal(0)),
                            " + ".join(f"{number:f}" for number in numbers),
                        )


def _of_one_document(index: Index, by_row: Sequence[Counter[int]]) -> Iterator[list[int]]:
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
