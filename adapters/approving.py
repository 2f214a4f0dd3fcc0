"""Approvals in a store: asked for with the end of a run, read back, explained to the approver."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from tachograph.adapters.collector import collector_paused
from tachograph.adapters.loading import read_recorded
from tachograph.adapters.read_side import open_read_side
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.approval import ApprovalState, fold_approval
from tachograph.domain.approvals.asking import approval_asked, request_of
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.errors import ApprovalNotFound
from tachograph.domain.events import Recorded, RunStarted, Terminal
from tachograph.domain.ports import Append, EventStore
from tachograph.domain.run import RunState
from tachograph.domain.why import explaining
from tachograph.domain.why.explanation import Explanation
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.domain.why.trace import in_order

_CHAIN_MAX = 1000


def approval_for(agent: Agent, run: RunState, terminal: Terminal, store: EventStore) -> Append:
    """Return what to append beside a run's end that asks for an approval."""
    approval = approval_asked(agent, run, terminal)
    assert approval is not None
    end = Recorded(run.run_id, run.version + 1, terminal)
    shown = shown_to_approver(store, run.run_id, (end,))
    return Append(approval_id_of(run.run_id), [request_of(agent, approval, run, terminal, shown)], 0)


def shown_to_approver(
    store: EventStore, run_id: UUID, later: Sequence[Recorded] = (), version: int = explaining.LATEST
) -> Explanation:
    """
    Explain the end of a run to whoever decides on it, from the run and those that it continues.

    What is added to the trace afterwards changes nothing in it, so its digest can be had again.

    Args:
        later: Events of the run that are not stored yet.
    """
    runs: dict[UUID, list[Recorded]] = {run_id: [*read_recorded(store, run_id), *later]}
    following = _continued(runs[run_id])
    while following is not None and following not in runs and len(runs) < _CHAIN_MAX:
        runs[following] = read_recorded(store, following)
        following = _continued(runs[following])
    with collector_paused():
        return explaining.explain(IndexedTrace(in_order(runs)), run_id, version=version)


def load_approval(store: EventStore, approval_id: UUID) -> ApprovalState:
    """
    Rebuild an approval from the store.

    Raises:
        ApprovalNotFound: No such approval.
        CorruptRun: Its events don't fold.
    """
    entries = store.read(approval_id)
    if not entries or entries[0].kind != "approval_requested":
        raise ApprovalNotFound(approval_id)
    return fold_approval(approval_id, entries)


def every_approval(store: EventStore, *, pending: bool) -> Iterator[ApprovalState]:
    """Return approvals in the order in which they were asked for; `pending`: undecided ones alone."""
    side = open_read_side(store)
    try:
        side.catch_up()
        ids = [UUID(row["approval_id"]) for row in side.approvals(pending=pending)]
    finally:
        side.close()
    return (load_approval(store, approval_id) for approval_id in ids)


def _continued(events: Sequence[Recorded]) -> UUID | None:
    started = events[0].event
    return started.continues if isinstance(started, RunStarted) else None
