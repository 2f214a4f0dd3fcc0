"""How long the appends of this process take, for Prometheus (extra `metrics`)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tachograph.adapters.stores.append_log import APPENDS
from tachograph.domain.errors import ExtraMissing

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

BUCKETS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class AppendLatency(logging.Handler):
    """Listens to what stores say of their appends, and keeps count. Raises ExtraMissing."""

    def __init__(self, registry: "CollectorRegistry") -> None:
        super().__init__(logging.DEBUG)
        try:
            from prometheus_client import Counter, Histogram
        except ImportError as exc:
            raise ExtraMissing("metrics") from exc
        self._seconds = Histogram(
            "tachograph_append_seconds",
            "Until an append is durable.",
            buckets=BUCKETS_S,
            registry=registry,
        )
        self._events = Counter("tachograph_appended_events", "Events in these appends.", registry=registry)
        self._failures = Counter(
            "tachograph_append_failures", "Appends that failed.", ["error"], registry=registry
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Count an append."""
        told: Any = record
        if record.levelno == logging.DEBUG:
            self._seconds.observe(told.seconds)
            self._events.inc(told.events)
        else:
            self._failures.labels(told.fields["error"]).inc()


@contextmanager
def append_latency(registry: "CollectorRegistry") -> Iterator[None]:
    """Measure appends for as long as this lasts."""
    handler, level = AppendLatency(registry), APPENDS.level
    APPENDS.addHandler(handler)
    APPENDS.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        APPENDS.removeHandler(handler)
        APPENDS.setLevel(level)
