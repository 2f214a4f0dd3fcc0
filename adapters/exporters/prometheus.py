"""
Metrics for Prometheus (extra `metrics`): what the record says, worked out anew each time it is read.

Labels are few, whatever the record holds: of each, the LABELS_MAX values that were recorded first stand for
themselves, and all others for `other`. Counters never go back: what was first stays first.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tachograph.adapters.read_side import ProjectionStatus, open_read_side
from tachograph.adapters.read_side.counting import Count
from tachograph.domain.errors import ExtraMissing, StoreError
from tachograph.domain.ports import EventStore

if TYPE_CHECKING:
    from prometheus_client.core import Metric

LABELS_MAX: Final = 100
OTHER: Final = "other"
_NANO: Final = 10**9


class _Counter(NamedTuple):
    """How a counter is shown. `type`: a label that tells apart what several metrics count."""

    help: str
    label: str | None = None
    type: str | None = None


_COUNTERS: Final = {
    "runs_started": ("tachograph_runs_started", _Counter("Runs that began.")),
    "runs_ended": ("tachograph_runs_ended", _Counter("Runs that ended.", "outcome")),
    "runs_blocked": ("tachograph_runs_blocked", _Counter("Runs that ended blocked.", "reason")),
    "turns": ("tachograph_model_turns", _Counter("Answers of models.", "model")),
    "retries": ("tachograph_model_retries", _Counter("Requests to models that were made again.", "model")),
    "tokens_in": ("tachograph_tokens", _Counter("Tokens, as providers count them.", "model", "input")),
    "tokens_out": ("tachograph_tokens", _Counter("", "model", "output")),
    "tokens_cached": ("tachograph_tokens", _Counter("", "model", "cached_input")),
    "tokens_reasoning": ("tachograph_tokens", _Counter("", "model", "reasoning_output")),
    "nano_usd": ("tachograph_cost_usd", _Counter("What models cost, where it is known.", "model")),
    "tool_calls": ("tachograph_tool_calls", _Counter("Calls of tools that succeeded.", "tool")),
    "tool_errors": ("tachograph_tool_errors", _Counter("Calls that failed or were refused.", "code")),
}


class StoreMetrics:
    """
    Collects the metrics of a store; a collector in the sense of `prometheus_client`.

    Args:
        opened: Opens the store for one reading, so that a database may go and come back.
        failed: Told why a reading failed; the metrics then say `tachograph_store_up 0`.
    Raises:
        ExtraMissing: `prometheus-client` isn't installed.
    """

    def __init__(
        self, opened: Callable[[], AbstractContextManager[EventStore]], failed: Callable[[Exception], object]
    ) -> None:
        try:
            import prometheus_client  # noqa: F401  # to see whether it is there
        except ImportError as exc:
            raise ExtraMissing("metrics") from exc
        self._opened = opened
        self._failed = failed
        self._lock = threading.Lock()

    def collect(self) -> Iterator["Metric"]:
        """Bring the views up to date and yield the metrics; one reading at a time."""
        from prometheus_client.core import GaugeMetricFamily

        families: list[Metric] = []
        with self._lock:
            try:
                families = self._families()
            except (StoreError, OSError) as exc:
                self._failed(exc)
        yield GaugeMetricFamily("tachograph_store_up", "Whether the store could be read.", bool(families))
        yield from families

    def _families(self) -> list["Metric"]:
        with self._opened() as store:
            side = open_read_side(store)
            try:
                before = side.status()
                with suppress(StoreError):  # A role that only reads shows what others have caught up.
                    side.catch_up()
                counts = side.counts()
                return [*_counters(counts), *_gauges(counts, side.in_doubt(), before)]
            finally:
                side.close()


def _counters(counts: Sequence[Count]) -> Iterable["Metric"]:
    from prometheus_client.core import CounterMetricFamily

    families: dict[str, Any] = {}
    for name, shown in _COUNTERS.values():
        labels = ["agent", *([shown.label] if shown.label else []), *(["type"] if shown.type else [])]
        families.setdefault(name, CounterMetricFamily(name, shown.help, labels=labels))
    summed: dict[tuple[str, ...], int] = {}
    agents, values = _Bounded(), {name: _Bounded() for name in ("model", "tool", "reason")}
    for metric, agent, label, number in counts:
        name, shown = _COUNTERS[metric]
        bounded = values.get(shown.label or "")
        key = [name, agents.of(agent), *([bounded.of(label) if bounded else label] if shown.label else [])]
        key += [shown.type] if shown.type else []
        summed[tuple(key)] = summed.get(tuple(key), 0) + number
    for (name, *labels), number in summed.items():
        families[name].add_metric(labels, number / _NANO if name == "tachograph_cost_usd" else number)
    return families.values()


def _gauges(
    counts: Sequence[Count], in_doubt: dict[str, int], views: Sequence[ProjectionStatus]
) -> Iterable["Metric"]:
    from prometheus_client.core import GaugeMetricFamily

    open_runs = GaugeMetricFamily("tachograph_runs_open", "Runs without an end.", labels=["agent"])
    agents = _Bounded()
    still: dict[str, int] = {}
    for count in counts:
        sign = {"runs_started": 1, "runs_ended": -1}.get(count.metric, 0)
        agent = agents.of(count.agent)
        still[agent] = still.get(agent, 0) + sign * count.number
    for agent, number in still.items():
        open_runs.add_metric([agent], number)
    doubtful = GaugeMetricFamily(
        "tachograph_calls_in_doubt", "Calls without an outcome that is known.", labels=["state"]
    )
    for state, number in in_doubt.items():
        doubtful.add_metric([state], number)
    lag = GaugeMetricFamily(
        "tachograph_projection_lag", "Positions that a view was behind before this reading.", labels=["view"]
    )
    aside = GaugeMetricFamily(
        "tachograph_projection_quarantined", "Events that a view has set aside.", labels=["view"]
    )
    for view in views:
        lag.add_metric([view.name], view.lag)
        aside.add_metric([view.name], view.quarantined)
    head = GaugeMetricFamily("tachograph_store_position", "Position of the last event.")
    head.add_metric([], max((view.head for view in views), default=0))
    return (open_runs, doubtful, lag, aside, head)


class _Bounded:
    """The first values of a label, and `other` for all that come later."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, value: str) -> str:
        if value not in self._known:
            if len(self._known) >= LABELS_MAX:
                return OTHER
            self._known.add(value)
        return value
