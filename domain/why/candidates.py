"""
What a value may come from, in one order.

Candidates are ranked by kind of match, words that the two field names share, structured before text,
how many of the call's other arguments point to the same record, latest first, place in its document: a
total order, so one question has one answer. For a value so short that it turns up by chance, a shared
field name comes first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tachograph.domain.why.argument import Mention
from tachograph.domain.why.echoes import Echoes
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.index import Index
from tachograph.domain.why.joined import joined_fields
from tachograph.domain.why.leaves import Leaf, Lexeme, keys_of
from tachograph.domain.why.match import Match, Search
from tachograph.domain.why.matching import matches
from tachograph.domain.why.numbers import is_low
from tachograph.domain.why.units import MINOR, MONEY, currency_around
from tachograph.domain.why.words import field_words

COMPANY: Final = 5
_NEAR: Final = 48
_LEVELS_MAX: Final = 2
_SHORT_WORD_MAX: Final = 3
_KINDS: Final[Mapping[str, int]] = {"exact": 0, "number": 0, "joined_fields": 2}
_TRANSFORMED: Final = 1
_UNSTRUCTURED: Final = frozenset({"customer", "policy", "error"})
_TWO_VALUES: Final = frozenset({"yes", "no", "true", "false", "on", "off"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A match in the evidence, with what ranks it.

    Args:
        shared: Words that the argument's name and the place have in common.
        structured: It is a value of its own in a record, an output or the context.
        telling: Not a chance hit: the value is long enough, or stands as money where money is asked for.
        order: Ranks it; what the other arguments point to comes in at COMPANY.
    """

    match: Match
    shared: int
    structured: bool
    telling: bool
    order: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What was found for one leaf of a call.

    Args:
        words: Of the argument's name.
        candidates: In no order.
        echoes: Places in outputs whose own arguments hold the value: no evidence.
        mention: Where the model wrote it first.
        cut: There were more places than are looked at.
    """

    leaf: Leaf
    words: frozenset[str]
    low: bool
    candidates: tuple[Candidate, ...] = ()
    echoes: tuple[Match, ...] = ()
    mention: Mention | None = None
    cut: bool = False

    @property
    def evident(self) -> bool:
        """Whether the value stands in the evidence, and not by chance."""
        return any(found.telling or found.shared for found in self.candidates)

    def records(self, index: Index) -> frozenset[int]:
        """Return the records that the value is a field of, echoes too; none for one that says too little."""
        echoed = [match.leaf for match in self.echoes if match.whole and not self.low]
        return self.named(index) | _containers(index, echoed)

    def named(self, index: Index) -> frozenset[int]:
        """Return the records that the value is a field of by evidence."""
        whole = [found.match.leaf for found in self.candidates if found.structured and not self.low]
        return _containers(index, whole)


def _containers(index: Index, leaves: Iterable[int]) -> frozenset[int]:
    return frozenset(container for container in map(index.container, leaves) if container >= 0)


def _none(record: int) -> int:
    return 0


def ranked(
    index: Index, candidates: Iterable[Candidate], company: Callable[[int], int] = _none
) -> list[Candidate]:
    """
    Return candidates best first.

    Args:
        company: How many of the other arguments point to a record.
    """

    def order(candidate: Candidate) -> tuple[Any, ...]:
        others = company(index.container(candidate.match.leaf)) if candidate.structured else 0
        return (*candidate.order[:COMPANY], -others, *candidate.order[COMPANY:])

    return sorted(candidates, key=order)


def has_two_values(value: object) -> bool:
    """Tell whether a value is one of two that exclude each other, such as true, or `no`."""
    return type(value) is bool or (type(value) is str and value.lower() in _TWO_VALUES)


def stands_in(index: Index, match: Match, records: frozenset[int]) -> bool:
    """Tell whether a match is a field of one of the records, or of what stands in one."""
    container = index.container(match.leaf)
    for _ in range(_LEVELS_MAX + 1):
        if container in records:
            return True
        if container < 0:
            return False
        container = index.records.parent(container)
    return False


def find(evidence: Evidence, leaf: Leaf, before: int) -> Finding:
    """Look a leaf up in the evidence before a place of the index."""
    asked = frozenset[str]().union(*(field_words(key) for key in keys_of(leaf.pointer)[-2:]))
    if not (isinstance(leaf.value, str) and leaf.value):
        return Finding(leaf, asked, low=False)
    index = evidence.index
    search = Search(index, before, minor=bool(asked & MINOR))
    low = _is_low(leaf.value)
    echoing = Echoes(evidence)
    kept, echoes, mention = _sorted_out(evidence, echoing, search, leaf.value)
    if not kept and not isinstance(leaf.value, Lexeme):
        joined = _Joined(evidence, echoing, before, leaf.value)
        kept = [match for match, fields in joined_fields(search, leaf.value) if joined.is_evidence(fields)]
    candidates = tuple(_candidate(index, match, asked, low) for match in kept)
    return Finding(leaf, asked, low, candidates, tuple(echoes), mention, search.cut)


def _sorted_out(
    evidence: Evidence, echoing: Echoes, search: Search, value: str
) -> tuple[list[Match], list[Match], Mention | None]:
    """Find a value, and part the places in evidence from echoes and from the model's words."""
    index = evidence.index
    found = matches(search, value)
    by_model = {index.document(match.leaf) for match in found if not index.trust(match.leaf)}
    kept: list[Match] = []
    echoes: list[Match] = []
    for match in found:
        number = index.document(match.leaf)
        document = index.documents[number]
        if document.origin.trust:
            # The model's own words may lie beyond the places looked at.
            echoed = document.arguments in by_model or (search.cut and echoing.echoes(number, value))
            (echoes if echoed else kept).append(match)
    if not by_model:
        return kept, echoes, None
    origin = index.documents[min(by_model)].origin
    step = evidence.steps.get((origin.run_id, origin.version))
    return kept, echoes, Mention(origin.run_id, step, origin.call_key)


class _Joined:
    """Tells whether fields that make up a value are evidence for it: each must be, by itself."""

    def __init__(self, evidence: Evidence, echoing: Echoes, before: int, value: str) -> None:
        self._evidence = evidence
        self._echoing = echoing
        self._before = before
        self._value = value
        self._found: dict[str, bool] = {}

    def is_evidence(self, fields: Sequence[int]) -> bool:
        index = self._evidence.index
        document = index.document(fields[0])
        if index.documents[document].origin.trust is None or self._echoing.echoes(document, self._value):
            return False
        return all(
            not self._echoing.is_echo(leaf) or self._stands_elsewhere(index.text(leaf)) for leaf in fields
        )

    def _stands_elsewhere(self, text: str) -> bool:
        if text not in self._found:
            search = Search(self._evidence.index, self._before)
            kept, _, _ = _sorted_out(self._evidence, self._echoing, search, text)
            self._found[text] = bool(kept)
        return self._found[text]


def _candidate(index: Index, match: Match, asked: frozenset[str], low: bool) -> Candidate:
    document = index.document(match.leaf)
    structured = match.whole and index.trust(match.leaf) not in _UNSTRUCTURED
    shared = len(asked & frozenset(_words_at(index, match, structured)))
    telling = not low or (not structured and bool(asked & MONEY) and _is_money(index, match))
    order = (
        not telling and not shared,
        _KINDS.get(match.rule, _TRANSFORMED),
        match.note is not None,
        -shared,
        not structured,
        -document,
        match.leaf,
        match.start,
    )
    return Candidate(match, shared, structured, telling, order)


def _is_money(index: Index, match: Match) -> bool:
    return currency_around(index.text(match.leaf), match.start, match.end) is not None


def _words_at(index: Index, match: Match, structured: bool) -> Iterator[str]:
    for key in [key for key in index.path(match.leaf) if type(key) is str][-2:]:
        yield from field_words(key)
    if not structured:
        text = index.text(match.leaf)
        near = f"{text[max(0, match.start - _NEAR) : match.start]} {text[match.end : match.end + _NEAR]}"
        yield from field_words(near)


def _is_low(value: str) -> bool:
    """Tell whether a value is so short that it turns up by chance."""
    if isinstance(value, Lexeme) or value.isdigit():
        return is_low(value)
    if not value.isascii() or not value.isalpha() or len(value) > _SHORT_WORD_MAX:
        return False
    return len(value) < _SHORT_WORD_MAX or value.islower()
