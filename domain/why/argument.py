"""One value of a call's arguments: its verdict, and the places in the evidence that it may come from."""

from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

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

Trust = Literal["context", "policy", "tool", "error", "customer"]


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
            into JSON that stands in a text. Of a key that is data itself, that of its member.
        span: Start and end, in characters, within the text at `pointer`; None where all of it matches.
        quote: The matching text with some of what stands around it, as recorded: hostile.
        quoted: Start and end of the match within the quote.
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
    quoted: tuple[int, int]
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
