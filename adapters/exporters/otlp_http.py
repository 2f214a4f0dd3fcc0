"""Spans sent to an OTLP/HTTP endpoint, by OpenTelemetry's own exporter (extra `otel`)."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tachograph.adapters.exporters.conventions import SCOPE, SERVICE, Convention
from tachograph.domain.errors import ExtraMissing, TachographError
from tachograph.projections.span import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

TRACES_PATH: Final = "/v1/traces"
_LOGGERS: Final = ("opentelemetry.exporter", "opentelemetry.sdk", "urllib3")


class NotSent(TachographError):
    """The endpoint did not take spans, after the exporter's retries."""


class OtlpSender:
    """
    Sends spans. Headers, certificates and timeouts are those of OpenTelemetry's environment variables.

    Args:
        url: Of the endpoint; one without a path gets `/v1/traces`.
    Raises:
        ExtraMissing: The packages of OpenTelemetry aren't installed.
    """

    def __init__(self, url: str, convention: Convention) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError as exc:
            raise ExtraMissing("otel") from exc
        with_path = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}{TRACES_PATH}"
        self._convention = convention
        self._exporter = OTLPSpanExporter(endpoint=with_path)

    def send(self, spans: Sequence[Span]) -> None:
        """Send spans in one request. Raises NotSent."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        with _heard() as said:
            result = self._exporter.export(list(_readable(spans, self._convention)))
        if result is not SpanExportResult.SUCCESS:
            raise NotSent(f"the endpoint did not take the spans: {said[-1] if said else 'no reason given'}")

    def close(self) -> None:
        """Let go of the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # theirs has no types


def _readable(spans: Sequence[Span], convention: Convention) -> Iterator["ReadableSpan"]:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(trace_id: str, span_id: str) -> SpanContext:
        return SpanContext(int(trace_id, 16), int(span_id, 16), False, TraceFlags(TraceFlags.SAMPLED))

    resource = Resource(SERVICE)
    scope = InstrumentationScope(SCOPE, convention.version, convention.schema_url)
    for span in spans:
        failed = span.error_message or span.error
        yield ReadableSpan(
            name=span.name,
            context=context(span.trace_id, span.span_id),
            parent=context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=resource,
            attributes=convention.attributes(span),
            events=[Event(each.name, convention.own(each.facts), each.at_ns) for each in span.happened],
            links=[
                Link(context(link.trace_id, link.span_id), convention.own({"link": link.relation}))
                for link in span.links
            ],
            kind=SpanKind.CLIENT if span.remote else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, failed) if failed is not None else Status(),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=scope,
        )


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Collect what OpenTelemetry logs, in place of printing it: the reason of a failure is there alone."""
    said: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    collector, loggers = Collector(), [logging.getLogger(name) for name in _LOGGERS]
    before: list[Any] = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(collector)
        logger.propagate = False
    try:
        yield said
    finally:
        for logger, propagate in zip(loggers, before, strict=True):
            logger.removeHandler(collector)
            logger.propagate = propagate
