"""What an explanation holds, and the JSON text that its digest is taken over."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

from tachograph.domain.values import json_text

Verdict = Literal[
    "supported",
    "in_text",
    "transformed",
    "derived",
    "choice",
    "constant",
    "weak",
    "coincidental",
    "free_text",
    "unsupported",
    "not_searched",
]

STRONG: Final[frozenset[Verdict]] = frozenset(
    {"supported", "in_text", "transformed", "derived", "choice", "constant"}
)

Trust = Literal["context", "policy", "tool", "error", "person", "customer"]


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number with the digits that it was written with."""

    lexeme: str


@dataclass(frozen=True, slots=True)
class Citation:
    """The passage of a document that a source stands in. Missing parts are not known."""

    document: str
    version: str | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """
    A place in the evidence that a value may come from.

    Args:
        version: Of the event, within its run.
        kind: The event's stored name.
        pointer: RFC 6901, into the event's input messages, context, output or error message; it goes on
            into JSON that stands in a text.
        span: Start and end, in characters, within the text at `pointer`; None where all of it matches.
        quote: The matching text with some of what stands around it, as recorded: hostile.
        rule: What was done to the value so that it matched: `exact`, `number`, `case`, `minor_units`, ...
        note: What is uncertain about it, such as a date that can be read in two ways.
    """

    run_id: UUID
    version: int
    kind: str
    call_key: str | None
    tool: str | None
    pointer: str
    span: tuple[int, int] | None
    quote: str
    rule: str
    trust: Trust
    citation: Citation | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """Where the model wrote a value first: never evidence, but it shows who brought it in."""

    run_id: UUID
    step: int | None
    call_key: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside free text: an amount, an id, a date. `span`: within the text."""

    span: tuple[int, int]
    value: str
    verdict: Verdict
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """
    One leaf of a call's arguments.

    Args:
        value: None, a bool, a str or a Number; an empty list or object stands as `[]` or `{}`.
        sources: Best first, no two at one place; at most SOURCES_MAX of them.
        matches: How many sources there are in all.
        declared: What the tool says about the argument, such as `from refund_preview /amount`.
        why: In a few words, what the verdict rests on, or what is missing.
        parts: The values inside free text.
    """

    pointer: str
    value: Any
    verdict: Verdict
    sources: tuple[Source, ...] = ()
    matches: int = 0
    declared: str | None = None
    why: str | None = None
    first_mentioned: Mention | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """
    A step of the chain: the decision, a call that fed it, or words that came in from outside.

    `id` is unique in the chain: `RUN/VERSION`, for a message `RUN/VERSION/input/PLACE`. `title` is the
    tool's name or the message's role. `arguments` have their best source alone.
    """

    id: str
    kind: Literal["decision", "call", "error", "message", "context"]
    title: str
    run_id: UUID
    version: int
    call_key: str | None = None
    quote: str = ""
    arguments: tuple[Argument, ...] = ()
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """What went from one node to another: the pointers of the arguments that it fed."""

    source: str
    target: str
    pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """How the decision came about: nodes in the order of the record, edges from source to target."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that was denied or failed on the way. `message`: what the model was told."""

    run_id: UUID
    version: int
    call_key: str
    tool: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Limit:
    """
    A limit or rule that would have stopped the decision, and how far it was from doing so.

    Args:
        kind: `budget`: of the run. `record`: a field of the evidence that states a limit.
        asked: What was used or asked for; None where it can't be compared.
        margin: What was left, negative where the limit was passed.
        source: Where the limit stands, for `record`.
    """

    kind: Literal["budget", "record"]
    name: str
    limit: str
    asked: str | None = None
    margin: str | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What stood in the way, or could have."""

    attempts: tuple[Attempt, ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A work call of the explained run: its arguments with verdicts. `state`: how it ended."""

    call_key: str
    tool: str
    state: Literal["done", "failed", "not_executed"]
    effect: str | None
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """How much evidence there was. `left_out`: characters past the caps, which were not searched."""

    runs: int
    events: int
    characters: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Integrity:
    """How the record is protected: digest of the run's events, and the checkpoint that covers it."""

    run_digest: str
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class AsRecorded:
    """The verdict as it stood when the run ended, and whether it is the same today."""

    version: int
    verdicts: Mapping[str, str]
    agrees: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    Why a call was made. `version` is that of the rules, `digest` is over all else in it.

    Args:
        sentence: The outcome in one sentence.
        call_key, tool: What is explained; None for a run that ended without a terminal call.
        executed: For a call that isn't the terminal: whether it was.
        recorded: The verdict in the terminal event, None where it holds none.
        approval: None until a person was asked.
    """

    run_id: UUID
    outcome: str | None
    version: int
    digest: str
    reason: str | None
    sentence: str
    trace_id: str
    tenant: str
    actor: str
    agent: str
    agent_version: str
    model: str | None
    call_key: str | None
    tool: str | None
    said: str | None
    arguments: tuple[Argument, ...]
    calls: tuple[Call, ...]
    chain: Chain
    why_not: WhyNot
    approval: None
    integrity: Integrity
    recorded: AsRecorded | None
    searched: Searched


@dataclass(frozen=True, slots=True)
class Absence:
    """
    Why a run didn't execute a tool. `version` and `digest` are as in an Explanation.

    Args:
        executed: Whether it was executed after all.
        times_asked: How often the model asked for it.
        ended: How the run ended, None while it is open.
    """

    run_id: UUID
    tool: str
    version: int
    digest: str
    executed: bool
    sentence: str
    times_asked: int
    attempts: tuple[Attempt, ...]
    limits: tuple[Limit, ...]
    ended: str | None


Answer = TypeVar("Answer", Explanation, Absence)


def explanation_json(explanation: Explanation) -> str:
    """Return an explanation as JSON text: fields in the order above, numbers with their digits."""
    return _written(explanation)


def absence_json(absence: Absence) -> str:
    """Return an absence as JSON text, as `explanation_json` does."""
    return _written(absence)


def with_digest(answer: Answer) -> Answer:
    """Return the answer with its digest: the SHA-256 of its JSON text with an empty one, in hexadecimal."""
    text = _written(replace(answer, digest=""))
    return replace(answer, digest=hashlib.sha256(text.encode()).hexdigest())


def _written(value: Any) -> str:
    if isinstance(value, Number):
        return value.lexeme
    if is_dataclass(value):
        members = {field.name: getattr(value, field.name) for field in fields(value)}
        return _object(members)
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(_written, value))}]"
    return json_text(value)


def _object(members: Mapping[str, Any]) -> str:
    return f"{{{','.join(f'{json_text(name)}:{_written(member)}' for name, member in members.items())}}}"
