"""Spans as a line of OTLP in JSON, as OpenTelemetry's file exporter writes them and collectors read them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tachograph.adapters.exporters.conventions import SCOPE, SERVICE, Convention
from tachograph.projections.span import Span, Value

_INTERNAL: Final = 1
_CLIENT: Final = 3
_OK: Final = 0
_ERROR: Final = 2
_SAMPLED: Final = 1


def line(spans: Iterable[Span], convention: Convention) -> str:
    """Return spans as one line of ASCII without a line feed. Source: OTLP 1.8, JSON Protobuf Encoding."""
    scope = {
        "scope": {"name": SCOPE, "version": convention.version},
        "spans": [_span(span, convention) for span in spans],
        **({"schemaUrl": convention.schema_url} if convention.schema_url else {}),
    }
    of_us = {"resource": {"attributes": _attributes(SERVICE)}, "scopeSpans": [scope]}
    return json.dumps({"resourceSpans": [of_us]}, separators=(",", ":"), allow_nan=False)


def _span(span: Span, convention: Convention) -> dict[str, Any]:
    status: dict[str, Any] = {"code": _OK if span.error is None else _ERROR}
    if span.error is not None:
        status["message"] = span.error_message or span.error
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "flags": _SAMPLED,
        "name": span.name,
        "kind": _CLIENT if span.remote else _INTERNAL,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(convention.attributes(span)),
        "events": [
            {
                "timeUnixNano": str(moment.at_ns),
                "name": moment.name,
                "attributes": _attributes(convention.own(moment.facts)),
            }
            for moment in span.happened
        ],
        "links": [
            {
                "traceId": link.trace_id,
                "spanId": link.span_id,
                "attributes": _attributes(convention.own({"link": link.relation})),
            }
            for link in span.links
        ],
        "status": status,
    }


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    return {"arrayValue": {"values": [{"stringValue": text} for text in value]}}
