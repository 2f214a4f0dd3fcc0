"""The spans of a store's log, in order, a batch at a time: as little in memory as one batch takes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tachograph.domain.approvals.approval import fold_approval
from tachograph.domain.approvals.events import ApprovalEvent
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import Entry, ModelTurn, Recorded, RunStarted, Terminal
from tachograph.domain.ports import EventStore
from tachograph.projections.approval_spans import ENDS_SOMETHING, approval_span
from tachograph.projections.span import Link, Said, Span, span_id_of
from tachograph.projections.spans import Origin, input_of, origin_of, run_span, step_span

BATCH_EVENTS: Final = 500
RUNS_KNOWN_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Batch:
    """
    The spans of some events.

    Args:
        position: Of the last event.
        unreadable: How many events could not be read, or belong to a run whose beginning can't be.
    """

    position: int
    spans: list[Span]
    unreadable: int


class SpanLog:
    """
    Reads a store's log as spans. A span comes with the event that ends it.

    Args:
        content: Whether spans hold what was said, asked for and returned.
    """

    def __init__(self, store: EventStore, *, content: bool = False) -> None:
        self._store = store
        self._content = content
        self._origins: dict[UUID, Origin | None] = {}

    def batches(self, after: int = 0, progress: Callable[[int, int], None] | None = None) -> Iterator[Batch]:
        """Yield the spans of events past a position, up to where the log ends now."""
        head = self._store.head()
        while after < head:
            entries = self._store.read_log(after=after, limit=BATCH_EVENTS)
            if not entries:
                return
            spans: list[Span] = []
            unreadable = 0
            for entry in entries:
                try:
                    span = self._span(entry)
                except CorruptRun:
                    unreadable += 1
                else:
                    spans += [span] if span else []
            after = entries[-1].position
            yield Batch(after, spans, unreadable)
            if progress is not None:
                progress(after, max(after, head))

    def _span(self, entry: Entry) -> Span | None:
        """Return what an event ends. Raises CorruptRun: It, or what it needs to be read, can't be read."""
        if not isinstance(entry, Recorded):
            raise CorruptRun(entry.run_id, entry.version, entry.why)
        event = entry.event
        if isinstance(event, AgentDefined):
            return None
        if isinstance(event, ApprovalEvent):
            if not isinstance(event, ENDS_SOMETHING):
                return None
            so_far = self._store.read(entry.run_id, up_to=entry.version)
            return approval_span(entry, fold_approval(entry.run_id, so_far))
        origin = self._origin(entry.run_id)
        if origin is None:
            raise CorruptRun(entry.run_id, entry.version, "its beginning can't be read")
        if isinstance(event, Terminal):
            return self._run_span(entry, origin)
        return step_span(entry, origin, content=self._content)

    def _run_span(self, entry: Recorded, origin: Origin) -> Span:
        links = [
            Link(before.trace_id, span_id_of(run_id, 1), relation)
            for relation, run_id in (("continues", origin.continues), ("forked_from", origin.forked_from))
            if run_id is not None and (before := self._origin(run_id)) is not None
        ]
        said: tuple[Said, ...] = ()
        if self._content:
            first = self._store.read(entry.run_id, up_to=1)[0]
            if isinstance(first, Recorded) and isinstance(first.event, RunStarted):
                said = input_of(first.event)
        return run_span(entry, origin, links=tuple(links), input=said)

    def _origin(self, run_id: UUID) -> Origin | None:
        """Return a run's origin; None where there is none that can be read."""
        if run_id not in self._origins:
            if len(self._origins) >= RUNS_KNOWN_MAX:
                del self._origins[next(iter(self._origins))]
            self._origins[run_id] = self._read_origin(run_id)
        return self._origins[run_id]

    def _read_origin(self, run_id: UUID) -> Origin | None:
        first, second = (*self._store.read(run_id, up_to=2), None, None)[:2]
        if not isinstance(first, Recorded) or not isinstance(first.event, RunStarted):
            return None
        turn = second.event if isinstance(second, Recorded) else None
        return origin_of(first.event, turn if isinstance(turn, ModelTurn) else None)
