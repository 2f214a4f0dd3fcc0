"""
Spans of a file of OTLP in JSON: one ExportTraceServiceRequest, a list of them, or one a line.

Source: OTLP 1.8, JSON Protobuf Encoding. A span that stands in a file twice, as it does when an exporter
sent it again, counts once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tachograph.adapters.importers.document import Lexeme, Node, load, node, nodes
from tachograph.domain.errors import ImportRejected
from tachograph.domain.values import DEPTH_MAX

SPANS_MAX: Final = 200_000
ATTRIBUTES_MAX: Final = 20_000
EVENTS_MAX: Final = 10_000

_ALL: Final = 2**31
_HEX: Final = re.compile(r"[0-9a-fA-F]+\Z")
_INTEGER: Final = re.compile(r"-?\d{1,19}\Z", re.ASCII)
_ERRORS: Final = ("2", "STATUS_CODE_ERROR")
_NANOSECONDS_MAX: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ForeignSpan:
    """
    A span of a file.

    Args:
        place: Its place among the spans of the file.
        start_ns, end_ns: Nanoseconds since 1970; 0 when the file doesn't say.
        attributes: By name, as values of `document`; lists and maps too.
        events: Each of a `name` and its attributes, in order.
    """

    place: int
    trace_id: str
    span_id: str
    parent_id: str | None
    start_ns: int
    end_ns: int
    failed: bool
    attributes: Node
    events: tuple[tuple[str, Node], ...]

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return moment(self.end_ns)

    @property
    def took_ms(self) -> int:
        """How long it took; 0 when the file doesn't say."""
        return max(0, self.end_ns - self.start_ns) // 1_000_000 if self.start_ns else 0


def moment(nanoseconds: int) -> datetime | None:
    """Return a time of a span, to the microsecond; None for 0."""
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000) if nanoseconds else None


def spans_of(file: str, data: bytes) -> list[ForeignSpan]:
    """
    Read the spans of a file, in its order.

    Raises:
        ImportRejected: It isn't such a file, or a span breaks the format.
    """
    found: dict[tuple[str, str], ForeignSpan] = {}
    for span in spans_in(_requests(file, data)):
        if len(found) >= SPANS_MAX:
            span.reject(f"the file has more than {SPANS_MAX} spans")
        read = read_span(span, len(found))
        first = found.setdefault((read.trace_id, read.span_id), read)
        if _content(first) != _content(read):
            span.reject(f"span {read.span_id} stands twice, with other content")
    if not found:
        raise ImportRejected(f"{file}: the file holds no spans")
    return list(found.values())


def parsed(place: Node, name: str) -> Any:
    """Return an attribute that is JSON text or already a list or map; None without it."""
    value = place.members.get(name)
    if not isinstance(value, str):
        return value
    return load(f"{place.file}: {'/'.join(map(str, place.path))}/{name}", value.encode("utf-8", "replace"))


def spans_in(requests: Iterator[Node]) -> Iterator[Node]:
    """Yield the spans of requests as they stand there. Raises ImportRejected."""
    for request in requests:
        for resource in request.objects("resourceSpans", at_most=_ALL):
            for scope in resource.objects_if_any("scopeSpans", at_most=_ALL):
                yield from scope.objects_if_any("spans", at_most=_ALL)


def read_span(span: Node, place: int) -> ForeignSpan:
    """Read a span. Raises ImportRejected."""
    span_id = _id(span, "spanId", 16)
    if span_id is None:
        span.reject("spanId is missing")
    trace_id = _id(span, "traceId", 32)
    if trace_id is None:
        span.reject("traceId is missing")
    status = span.object_or_none("status")
    events = span.objects_if_any("events", at_most=EVENTS_MAX)
    path = (f"span {span_id}",)
    return ForeignSpan(
        place=place,
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(span, "parentSpanId", 16),
        start_ns=_time(span, "startTimeUnixNano"),
        end_ns=_time(span, "endTimeUnixNano"),
        failed=status is not None and status.name_or_none("code") in _ERRORS,
        attributes=Node(span.file, path, _attributes(span)),
        events=tuple(
            (event.name_or_none("name") or "", Node(span.file, (*path, "events", at), _attributes(event)))
            for at, event in enumerate(events)
        ),
    )


def _requests(file: str, data: bytes) -> Iterator[Node]:
    try:
        document = load(file, data)
    except ImportRejected:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith(b"}"):
            raise
        for number, line in lines:
            yield node(f"{file}: line {number}", (), load(f"{file}: line {number}", line))
        return
    yield from nodes(file, ("requests",), document if isinstance(document, list) else [document])


def _id(span: Node, name: str, digits: int) -> str | None:
    text = span.text_or_none(name)
    if not text:
        return None
    if len(text) != digits or not _HEX.match(text):
        span.reject(f"{name} must be {digits} hexadecimal digits, not {text[:50]!r}")
    return text.lower() if text.strip("0") else None


def _time(span: Node, name: str) -> int:
    text = span.name_or_none(name) or "0"
    if not _INTEGER.match(text) or not 0 <= int(text) <= _NANOSECONDS_MAX:
        span.reject(f"{name} must be nanoseconds since 1970, not {text[:50]!r}")
    return int(text)


def _attributes(place: Node) -> dict[str, Any]:
    return _members(place, "attributes", 0)


def _members(place: Node, name: str, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in place.objects_if_any(name, at_most=ATTRIBUTES_MAX):
        key = entry.text("key")
        if key in found:
            entry.reject(f"the attribute {key[:100]!r} stands twice")
        value = entry.object_or_none("value")
        found[key] = None if value is None else _value(value, depth)
    return found


def _value(value: Node, depth: int) -> Any:
    """Return a value that OTLP wraps; whole numbers, which it writes as text, are numbers again."""
    if depth >= DEPTH_MAX:
        value.reject(f"more than {DEPTH_MAX} levels of nesting")
    for kind in value.members:
        match kind:
            case "stringValue" | "bytesValue":
                return value.text_or_none(kind)
            case "boolValue":
                return value.flag(kind)
            case "intValue":
                text = value.name_or_none(kind)
                if text is None or not _INTEGER.match(text):
                    value.reject(f"intValue must be a whole number, not {str(text)[:50]!r}")
                return Lexeme(text)
            case "doubleValue":
                number = value.members[kind]
                return number if isinstance(number, Lexeme) else value.text_or_none(kind)
            case "arrayValue":
                array = value.object_or_none(kind)
                entries = array.objects_if_any("values", at_most=ATTRIBUTES_MAX) if array else []
                return [_value(entry, depth + 1) for entry in entries]
            case "kvlistValue":
                inner = value.object_or_none(kind)
                return _members(inner, "values", depth + 1) if inner else {}
    return None


def _content(span: ForeignSpan) -> tuple[object, ...]:
    events = [(name, event.members) for name, event in span.events]
    return span.parent_id, span.start_ns, span.end_ns, span.failed, span.attributes.members, events
