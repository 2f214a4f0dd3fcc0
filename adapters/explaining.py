"""Explain a run out of a store: its trace is read as a whole, through the view that knows its runs."""

from collections.abc import Sequence
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.collector import collector_paused
from tachograph.adapters.loading import read_recorded
from tachograph.adapters.read_side import open_read_side
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.approvals.describing import with_approval
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import Recorded, RunStarted
from tachograph.domain.ports import EventStore
from tachograph.domain.why import explaining
from tachograph.domain.why.explanation import Absence, Explanation
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.domain.why.trace import in_order


def explain_run(
    store: EventStore, run_id: UUID, call_key: str | None = None, *, version: int = explaining.LATEST
) -> Explanation:
    """
    Explain a call of a run, or how the run ended.

    Args:
        call_key: Of any call that the model asked for; None for the one that ended the run.
        version: Of the rules.
    Raises:
        RunNotFound: No such run.
        CallNotFound: The run has no such call.
        CorruptRun: A run of the trace doesn't fold: an answer from the rest of it could be wrong.
        StoreError: The store failed.
    """
    explanation = explaining.explain(index_trace(store, run_id), run_id, call_key, version=version)
    approval_id = approval_id_of(run_id)
    if call_key is not None or explanation.outcome is None or not store.read(approval_id, up_to=1):
        return explanation
    return with_approval(explanation, load_approval(store, approval_id))


def explain_absence(store: EventStore, run_id: UUID, tool: str) -> Absence:
    """Say what stood before a tool that a run didn't execute. Raises as `explain_run`."""
    return explaining.explain_absence(index_trace(store, run_id), run_id, tool)


def index_trace(store: EventStore, run_id: UUID) -> IndexedTrace:
    """Return a run's trace, read and indexed: for many questions to `domain.why.explaining`."""
    return IndexedTrace(read_trace(store, run_id))


def read_trace(store: EventStore, run_id: UUID) -> list[Recorded]:
    """
    Return the events of all runs of a run's trace and tenant, in order.

    Raises:
        RunNotFound, CorruptRun, StoreError: As `explain_run`.
    """
    with collector_paused():
        events = read_recorded(store, run_id)
        started = events[0].event
        if not isinstance(started, RunStarted):
            raise CorruptRun(run_id, 1, f"it begins with {started.kind}")
        side = open_read_side(store)
        try:
            side.catch_up()
            rows = list(side.runs(trace_id=started.context.trace_id))
        finally:
            side.close()
        others = [UUID(row["run_id"]) for row in rows if row["tenant"] == started.context.tenant]
        return read_runs(store, [run_id, *(other for other in others if other != run_id)])


def read_runs(store: EventStore, run_ids: Sequence[UUID]) -> list[Recorded]:
    """
    Return the events of the runs of a trace and of those that they continue, in order.

    Args:
        run_ids: All that belong to the trace.
    Raises:
        RunNotFound, CorruptRun, StoreError: As `explain_run`.
    """
    runs = {run_id: read_recorded(store, run_id) for run_id in run_ids}
    for run_id in run_ids:  # A fork has a trace of its own, and may go on from one of another.
        following: UUID | None = run_id
        while following is not None:
            if following not in runs:
                runs[following] = read_recorded(store, following)
            beginning = runs[following][0].event
            following = beginning.continues if isinstance(beginning, RunStarted) else None
    return in_order(runs)
