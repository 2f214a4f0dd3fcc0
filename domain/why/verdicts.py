"""The verdict on each value of a call: what in the evidence before the call it may come from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import localcontext
from functools import cached_property
from typing import Any, Final

from tachograph.domain.why import declared_sources
from tachograph.domain.why.annotations import CHOICE, CONSTANT, EVIDENCE, FROM
from tachograph.domain.why.argument import Argument, Number, Part, Verdict
from tachograph.domain.why.candidates import Candidate, Finding, find, has_two_values, ranked, stands_in
from tachograph.domain.why.dates import one_date
from tachograph.domain.why.derivations import Derivation, Derivations
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Leaf, Lexeme, Pairs, leaves, opened, parsed
from tachograph.domain.why.match import Match
from tachograph.domain.why.nearest import nearest
from tachograph.domain.why.numbers import EXACT, as_decimal
from tachograph.domain.why.prose import inner_values, is_prose, is_sum
from tachograph.domain.why.related_days import related_day
from tachograph.domain.why.rows import Row, Rows
from tachograph.domain.why.sources import cited, source_of

SOURCES_MAX: Final = 20
_REST_MAX: Final = 60
_NEAREST_MAX: Final = 50  # values of a call for which the nearest one is looked for


@dataclass(frozen=True, slots=True)
class Question:
    """
    A call to be judged.

    Args:
        before: Where its evidence ends, as a place of the index.
        declared: What the tool says of its arguments, by pointer.
    """

    evidence: Evidence
    before: int
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Call:
    """
    All leaves of the call that is judged.

    Args:
        named: Records of which a leaf of the call names a field by evidence of its own.
        inside: It is a value inside free text, and so not free text itself.
    """

    question: Question
    rows: Rows
    named: frozenset[int]
    inside: bool = False
    _looked_for: list[Finding] = field(default_factory=list)

    @cached_property
    def derivations(self) -> Derivations:
        """What its numbers may be made of."""
        return Derivations(self.question.evidence, self.question.before, self.rows)

    def nearest(self, finding: Finding) -> str:
        """Return what the evidence has in place of a value; of the first ones alone, for it takes long."""
        if len(self._looked_for) >= _NEAREST_MAX:
            return ""
        self._looked_for.append(finding)
        return nearest(self.question.evidence.index, finding.leaf, finding.words, self.question.before)


def verdicts(question: Question, arguments: str) -> tuple[Argument, ...]:
    """
    Judge every leaf of a call's arguments, in their order.

    Args:
        arguments: JSON text. What isn't JSON is judged as one text.
    """
    with localcontext(EXACT):
        return tuple(_verdicts(question, arguments))


def _verdicts(question: Question, arguments: str) -> Iterator[Argument]:
    index = question.evidence.index
    findings = [find(question.evidence, leaf, question.before) for leaf in _leaves_of(arguments)]
    rows = [_row(index, finding) for finding in findings]
    named = frozenset[int]().union(*(finding.named(index) for finding in findings))
    call = _Call(question, Rows(rows), named)
    for finding, row in zip(findings, rows, strict=True):
        yield _judged(call, finding, row)


def _row(index: Index, finding: Finding) -> Row:
    number = as_decimal(finding.leaf.value) if isinstance(finding.leaf.value, Lexeme) else None
    return Row(finding.leaf.pointer, number, finding.records(index), finding.evident)


def _leaves_of(arguments: str) -> Iterator[Leaf]:
    try:
        value = opened(parsed(arguments)) if arguments.strip() else []
    except ValueError:
        value = arguments
    return leaves(value) if value != [] else iter(())


def _judged(call: _Call, finding: Finding, row: Row) -> Argument:
    question = call.question
    value, pointer = finding.leaf.value, finding.leaf.pointer
    role = question.declared.get(pointer)
    blank = Argument(pointer, _shown(value), "unsupported", declared=role, first_mentioned=finding.mention)
    if role is not None and role.startswith(FROM):
        return declared_sources.check(question.evidence, finding.leaf, blank, question.before)
    index = question.evidence.index
    candidates = ranked(index, finding.candidates, call.rows.company(row))
    listed = _with_sources(index, blank, candidates)
    if role == CONSTANT:
        return replace(listed, verdict="constant", why="fixed by the tool's definition")
    if role == CHOICE:
        return replace(listed, verdict="choice", why="one of the values that the tool allows")
    if has_two_values(value):
        return replace(listed, verdict="choice", why="one of two values")
    if value is None or value == "" or isinstance(value, list):
        return replace(listed, verdict="choice", why="nothing was given")
    if not candidates:
        return _without_candidates(call, finding, listed, row)
    return _by_best(index, candidates, listed, call.rows.records(row))


def _shown(value: Any) -> Any:
    if isinstance(value, Lexeme):
        return Number(str(value))
    return ("{}" if isinstance(value, Pairs) else "[]") if isinstance(value, list) else value


def _with_sources(index: Index, argument: Argument, candidates: Sequence[Candidate]) -> Argument:
    sources = tuple(source_of(index, candidate.match) for candidate in candidates[:SOURCES_MAX])
    return replace(argument, sources=sources, matches=len(candidates))


def _by_best(
    index: Index, candidates: Sequence[Candidate], listed: Argument, records: frozenset[int]
) -> Argument:
    best = candidates[0]
    if best.telling:
        return replace(listed, verdict=_verdict(best))
    named: list[Candidate] = []
    others: list[Candidate] = []
    for candidate in candidates:
        fits = candidate.structured and candidate.shared and stands_in(index, candidate.match, records)
        (named if fits else others).append(candidate)
    if named:
        listed = _with_sources(index, listed, named + others)
        return replace(listed, verdict="supported", why="in the record that the other arguments name")
    if best.shared:
        return replace(listed, verdict="weak", why="so short a value also turns up by chance")
    return replace(listed, verdict="coincidental", why="so short a value turns up by chance")


def _verdict(best: Candidate) -> Verdict:
    if best.match.rule not in ("exact", "number"):
        return "transformed"
    return "supported" if best.structured else "in_text"


def _without_candidates(call: _Call, finding: Finding, blank: Argument, row: Row) -> Argument:
    question = call.question
    value, index = finding.leaf.value, question.evidence.index
    if not (call.inside or isinstance(value, Lexeme)) and (
        is_prose(value, finding.words) or (blank.declared != EVIDENCE and is_sum(value))
    ):
        return replace(blank, verdict="free_text", parts=_parts(question, value))
    derived = _derived(call, finding, row)
    if derived is not None:
        found = [
            Match(leaf, 0, len(index.text(leaf)), index.container(leaf) >= 0, derived.rule)
            for leaf in derived.leaves
        ]
        sources = tuple(source_of(index, match) for match in found)
        return replace(blank, verdict="derived", sources=sources, matches=len(sources), why=derived.formula)
    narrowed = _narrowed_to(index, finding, call)
    if narrowed:
        sources = tuple(source_of(index, match) for match in narrowed[:SOURCES_MAX])
        why = "a search was narrowed to it, and other arguments name a record that was found"
        return replace(blank, verdict="weak", sources=sources, matches=len(narrowed), why=why)
    left_out = index.left_out_before(question.before)
    if left_out:
        why = f"not in what was searched; {left_out:,} characters were past the limit"
        return replace(blank, verdict="not_searched", why=why)
    if finding.cut:
        why = "its words stand in more places than were searched, and in none of those the whole of it"
        return replace(blank, verdict="not_searched", why=why)
    echoed = "; outputs that only echo their arguments have it" if finding.echoes else ""
    near = call.nearest(finding)
    return replace(blank, why=f"in no evidence before the call{echoed}{near}")


def _narrowed_to(index: Index, finding: Finding, call: _Call) -> list[Match]:
    """
    Return the echoes that stand in one of several records of a search, in one that is named otherwise.

    An echo is no evidence that the value is right. But it is no invention either when the customer chose
    among what was found with it.
    """
    return [
        match
        for match in reversed(finding.echoes)
        if match.whole
        and index.container(match.leaf) in call.named
        and index.records.is_row(index.container(match.leaf))
    ]


def _derived(call: _Call, finding: Finding, row: Row) -> Derivation | None:
    question, rows = call.question, call.rows
    day = one_date(finding.leaf.value)
    if day is not None:
        return related_day(question.evidence, question.before, day, rows.records(row))
    return call.derivations.of(row)


def _parts(question: Question, value: str) -> tuple[Part, ...]:
    judged: dict[str, Part] = {}
    parts: list[Part] = []
    values, searched_to = inner_values(value)
    for start, end, text in values:
        if text not in judged:
            judged[text] = _part(question, start, end, text)
        parts.append(replace(judged[text], span=(start, end)))
    if searched_to < len(value):
        rest = value[searched_to : searched_to + _REST_MAX]
        parts.append(Part((searched_to, len(value)), rest, "not_searched", ()))
    return tuple(parts)


def _part(question: Question, start: int, end: int, text: str) -> Part:
    """Judge a value inside free text by itself: it has neither a name nor a declaration."""
    number = as_decimal(text)
    value = Lexeme(text) if number is not None and not text.isdigit() else text
    finding = find(question.evidence, Leaf("", value), question.before)
    row = replace(_row(question.evidence.index, finding), records=frozenset())
    call = _Call(replace(question, declared={}), Rows([row]), frozenset(), inside=True)
    judged = _judged(call, finding, row)
    return Part((start, end), text, judged.verdict, (*judged.sources[:1], *cited(judged.sources[1:])))
