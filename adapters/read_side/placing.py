"""The log in batches, each event with the trace, tenant and agent that its run or approval started with."""

from typing import Final, NamedTuple

from tachograph.domain.approvals.events import ApprovalRequested
from tachograph.domain.events import Entry, Recorded, RunStarted
from tachograph.domain.ports import EventStore
from tachograph.projections.plain import time_text
from tachograph.projections.projection import Placed

RUNS_KNOWN_MAX: Final = 10_000


class _Origin(NamedTuple):
    run_id: str
    trace_id: str | None
    tenant: str | None
    agent: str | None = None
    shared_to: int = 1


class PlacedLog:
    """
    Reads a store's log.

    Args:
        runs_known_max: Runs whose beginning is kept in mind; that of others is read when it is needed.
    """

    def __init__(self, store: EventStore, batch_size: int, runs_known_max: int = RUNS_KNOWN_MAX) -> None:
        self._store = store
        self._batch_size = batch_size
        self._runs_known_max = runs_known_max
        self._origins: dict[int, _Origin] = {}  # By the integer of a UUID, which hashes faster.

    def head(self) -> int:
        """Return the position of the last event."""
        return self._store.head()

    def read(self, after: int) -> list[Placed]:
        """Return the next batch past a position; an empty one at the end of the log."""
        entries = self._store.read_log(after=after, limit=self._batch_size)
        return [self._placed(entry) for entry in entries]

    def _placed(self, entry: Entry) -> Placed:
        origin = self._origins.get(entry.run_id.int) or self._origin(entry)
        run_id, trace_id, tenant, agent, shared_to = origin
        if isinstance(entry, Recorded):
            event = entry.event
            at = time_text(event.recorded_at)
            shared = 1 < entry.version <= shared_to
            place = (entry.position, run_id, entry.version, event.kind, trace_id, tenant, at)
            return Placed(*place, event, None, agent, shared)
        return Placed(
            entry.position, run_id, entry.version, entry.kind, trace_id, tenant, None, None, entry.why
        )

    def _origin(self, entry: Entry) -> _Origin:
        if entry.version == 1:
            first: Entry | None = entry
        else:
            first = next(iter(self._store.read(entry.run_id, up_to=1)), None)
        if isinstance(first, Recorded) and isinstance(first.event, RunStarted):
            started, context = first.event, first.event.context
            shared_to = started.fork.version if started.fork else 1
            origin = _Origin(str(entry.run_id), context.trace_id, context.tenant, started.agent, shared_to)
        elif isinstance(first, Recorded) and isinstance(first.event, ApprovalRequested):
            asked = first.event
            origin = _Origin(str(entry.run_id), asked.trace_id, asked.tenant, asked.agent)
        else:
            origin = _Origin(str(entry.run_id), None, None)
        if len(self._origins) >= self._runs_known_max:
            del self._origins[next(iter(self._origins))]
        self._origins[entry.run_id.int] = origin
        return origin
