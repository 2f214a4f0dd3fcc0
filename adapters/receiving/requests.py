"""Requests of OTLP/HTTP: bodies to spans, and what is answered, in protobuf or JSON (extra `receive`)."""

import json
import zlib
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tachograph.adapters.importers.document import Node, compact, load, node
from tachograph.adapters.importers.otlp import read_span, spans_in
from tachograph.domain.errors import ImportRejected

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
ENCODINGS: Final = ("", "identity", "gzip")
UNZIPPED_MAX: Final = 64_000_000

_GZIP: Final = 16 + zlib.MAX_WBITS
_REASON_MAX: Final = 300


class BadRequest(Exception):
    """A body that can't be taken. `status`: what HTTP calls it."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why[:_REASON_MAX])
        self.status = status


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """A span as a line of OTLP in JSON. `is_root`: it has no parent."""

    line: bytes
    is_root: bool


@dataclass(slots=True)
class Batch:
    """The spans of a request, by trace id. `reason`: why the first one was refused."""

    traces: dict[str, list[ReceivedSpan]] = field(default_factory=lambda: defaultdict(list))
    refused: int = 0
    reason: str = ""


def unpacked(body: bytes, encoding: str) -> bytes:
    """
    Return a body as it was before it was packed.

    Raises:
        BadRequest: It isn't packed like that, or holds more than UNZIPPED_MAX bytes.
    """
    if encoding != "gzip":
        return body
    unzip = zlib.decompressobj(_GZIP)
    try:
        data = unzip.decompress(body, UNZIPPED_MAX + 1)
    except zlib.error as exc:
        raise BadRequest(400, f"not gzip: {exc}") from exc
    if len(data) > UNZIPPED_MAX:
        raise BadRequest(413, f"more than {UNZIPPED_MAX} bytes")
    if not unzip.eof:
        raise BadRequest(400, "not gzip: it ends too early")
    return data


def batch_of(body: bytes, content_type: str) -> Batch:
    """
    Return the spans of a body; one that can't be read is refused and the others are taken.

    Raises:
        BadRequest: The body is no ExportTraceServiceRequest.
    """
    batch = Batch()
    try:
        document = load("request", _json_of(body) if content_type == PROTOBUF else body or b" ")
        for span in spans_in(iter([node("request", (), document)])):
            try:
                read = read_span(span, 0)
                line = _line(span)
            except ImportRejected as exc:
                batch.refused += 1
                batch.reason = batch.reason or str(exc)[:_REASON_MAX]
            else:
                batch.traces[read.trace_id].append(ReceivedSpan(line, read.parent_id is None))
    except ImportRejected as exc:
        raise BadRequest(400, str(exc)) from exc
    return batch


def answer_to(batch: Batch, content_type: str) -> bytes:
    """Return an ExportTraceServiceResponse, which says how many spans were refused."""
    from google.protobuf.json_format import MessageToJson  # type: ignore[import-untyped]  # theirs has no types
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if batch.refused:
        response.partial_success.rejected_spans = batch.refused
        response.partial_success.error_message = batch.reason.encode("utf-8", "replace").decode()
    if content_type == PROTOBUF:
        return bytes(response.SerializeToString())
    return str(MessageToJson(response, indent=None)).encode()


def failure(why: str, content_type: str) -> bytes:
    """Return a `Status` that says why a request failed."""
    from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # theirs has no types

    if content_type == PROTOBUF:
        status = Status(message=why.encode("utf-8", "replace").decode())
        return bytes(status.SerializeToString())
    return json.dumps({"message": why}).encode()


def _line(span: Node) -> bytes:
    try:
        text = compact({"resourceSpans": [{"scopeSpans": [{"spans": [span.members]}]}]})
    except ValueError as exc:
        span.reject(str(exc))
    return text.encode() + b"\n"


def _json_of(body: bytes) -> bytes:
    """Return a protobuf request as OTLP in JSON, in which ids are hexadecimal and enums numbers."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # theirs has no types
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as exc:
        raise BadRequest(400, "the body is not an ExportTraceServiceRequest in protobuf") from exc
    document: dict[str, Any] = MessageToDict(request, use_integers_for_enums=True)
    for span in _dicts(document):
        for place in (span, *span.get("links", ())):
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in place:
                    place[name] = b64decode(place[name]).hex()
    return json.dumps({"resourceSpans": [], **document}).encode()


def _dicts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in document.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            yield from scope.get("spans", ())
