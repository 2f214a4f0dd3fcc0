"""
What a span is, and its ids: hashes of what it is about, so that a second export gives the same ones.

A span says what happened in words of ours, its `facts`; the tables of `gen_ai` and `openinference` give them
the names of a convention.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

Operation = Literal["invoke_agent", "chat", "execute_tool", "approval"]
Value = str | int | float | bool | tuple[str, ...]

NANOSECONDS_MAX: Final = 2**63 - 1
INTEGER_MAX: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_W3C_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}\Z")


class AskedFor(NamedTuple):
    """A call as a message asks for it. `arguments`: JSON text, as far as the model wrote JSON."""

    call_key: str
    name: str
    arguments: str


class Said(NamedTuple):
    """A message, with content."""

    role: str
    text: str | None = None
    calls: tuple[AskedFor, ...] = ()


class Link(NamedTuple):
    """Another span that this one follows from, and how."""

    trace_id: str
    span_id: str
    relation: str


class Happened(NamedTuple):
    """A moment within a span."""

    name: str
    at_ns: int
    facts: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Span:
    """
    Something that took time, in the terms of the record.

    Args:
        trace_id, span_id, parent_id: In hexadecimal, of 32, 16 and 16 digits.
        remote: Whether it is a call of something outside of the process.
        start_ns, end_ns: Nanoseconds since 1970, UTC.
        facts: What is known of it, none of it personal.
        error: Why it failed, a code; None where it didn't.
        error_message: What was said about it; None unless content was asked for.
        said_in, said_out: Messages that it took and gave, content too.
        arguments, output: Of a tool, JSON text, content too.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    operation: Operation
    name: str
    start_ns: int
    end_ns: int
    facts: Mapping[str, Value]
    remote: bool = False
    error: str | None = None
    error_message: str | None = None
    links: tuple[Link, ...] = ()
    happened: tuple[Happened, ...] = ()
    said_in: tuple[Said, ...] = ()
    said_out: tuple[Said, ...] = ()
    arguments: str | None = None
    output: str | None = None

    @property
    def content_size(self) -> int:
        """How many characters its content has."""
        said = (*self.said_in, *self.said_out)
        texts = [message.text or "" for message in said]
        texts += [call.arguments for message in said for call in message.calls]
        return sum(map(len, (*texts, self.arguments or "", self.output or "", self.error_message or "")))


def trace_id_of(tenant: str, trace_id: str) -> str:
    """
    Return the id of the trace that a tenant's runs of one trace id form.

    A trace id that is one of W3C already stays as it is, so that a run stands in its caller's trace.
    """
    if _W3C_TRACE_ID.match(trace_id) and trace_id.strip("0"):
        return trace_id
    return _digest(f"trace:{len(tenant)}:{tenant}:{trace_id}", 32)


def span_id_of(run_id: UUID, version: int) -> str:
    """
    Return the id of the span that an event of a run or approval stands for.

    That of a run as a whole, and of an approval, is that of version 1.
    """
    return _digest(f"span:{run_id}:{version}", 16)


def nanoseconds(moment: datetime) -> int:
    """Return a time in nanoseconds since 1970; the nearest one that a span can hold."""
    return min(max(0, (moment - _EPOCH) // _MICROSECOND * 1000), NANOSECONDS_MAX)


def started_before(end_ns: int, duration_ms: int) -> int:
    """Return when something began that took so long, in nanoseconds; 1970 at the earliest."""
    return max(0, end_ns - duration_ms * 1_000_000)


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
