"""The approval: the state that its recorded events fold to, and the rules by which people answer it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalEvent,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import Entry, Event, Unreadable

Status = Literal["pending", "granted", "denied", "expired"]
Execution = Literal["none", "started", "done", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class ApprovalState:
    """An approval as its events tell it."""

    approval_id: UUID
    version: int
    requested: ApprovalRequested
    votes: tuple[ApprovalGranted, ...] = ()
    denied: ApprovalDenied | None = None
    expired: ApprovalExpired | None = None
    escalated: ApprovalEscalated | None = None
    refused: tuple[ApprovalRefused, ...] = ()
    started: ApprovalStarted | None = None
    executed: ApprovalExecuted | None = None

    @property
    def status(self) -> Status:
        """What has been decided."""
        if self.denied:
            return "denied"
        if self.expired:
            return "expired"
        return "granted" if len(self.votes) >= self.requested.needed else "pending"

    @property
    def execution(self) -> Execution:
        """How far the effect is."""
        if self.executed is None:
            return "started" if self.started else "none"
        if self.executed.code == "outcome_unknown":
            return "unknown"
        return "failed" if self.executed.code else "done"

    @property
    def is_settled(self) -> bool:
        """Whether a person has said what the effect did."""
        return self.executed is not None and self.executed.settled is not None

    @property
    def holds(self) -> bool:
        """
        Whether it counts against a limit that it shares with others.

        A handler that failed may have taken effect all the same, until a person has settled that it didn't.
        """
        undone = self.execution == "failed" and self.is_settled
        return self.status in ("pending", "granted") and not undone

    def is_late(self, now: datetime) -> bool:
        """Tell whether nobody decided in time."""
        expires_at = self.requested.expires_at
        return self.status == "pending" and expires_at is not None and now >= expires_at

    def is_due(self, now: datetime) -> bool:
        """Tell whether it is time for somebody else to look."""
        at = self.requested.escalates_at
        return self.status == "pending" and self.escalated is None and at is not None and now >= at


def fold_approval(approval_id: UUID, recorded: Iterable[Entry]) -> ApprovalState:
    """
    Rebuild an approval from its events, in order.

    Raises:
        CorruptRun: A version is missing or unreadable, or the events contradict each other.
    """
    state: ApprovalState | None = None
    for entry in recorded:
        expected = state.version + 1 if state else 1
        if entry.version != expected:
            raise CorruptRun(approval_id, expected, f"found version {entry.version} in its place")
        if isinstance(entry, Unreadable):
            raise CorruptRun(approval_id, expected, entry.why)
        state = evolve_approval(approval_id, state, entry.event)
    if state is None:
        raise CorruptRun(approval_id, 0, "it has no events")
    return state


def evolve_approval(approval_id: UUID, state: ApprovalState | None, event: Event) -> ApprovalState:
    """Return the state after one more event. Raises CorruptRun when the event can't follow."""
    if state is None:
        if not isinstance(event, ApprovalRequested):
            raise CorruptRun(approval_id, 1, f"it begins with {event.kind}")
        return ApprovalState(approval_id, 1, event)
    problem = _problem(state, event)
    if problem:
        raise CorruptRun(approval_id, state.version + 1, problem)
    moved = replace(state, version=state.version + 1)
    match event:
        case ApprovalGranted():
            return replace(moved, votes=(*state.votes, event))
        case ApprovalDenied():
            return replace(moved, denied=event)
        case ApprovalExpired():
            return replace(moved, expired=event)
        case ApprovalEscalated():
            return replace(moved, escalated=event)
        case ApprovalRefused():
            return replace(moved, refused=(*state.refused, event))
        case ApprovalStarted():
            return replace(moved, started=event, executed=None)
        case ApprovalExecuted():
            return replace(moved, executed=event)
    raise AssertionError(event.kind)


def _problem(state: ApprovalState, event: Event) -> str | None:
    if not isinstance(event, ApprovalEvent) or isinstance(event, ApprovalRequested):
        return f"{event.kind} in the record of an approval"
    if isinstance(event, ApprovalGranted | ApprovalDenied | ApprovalExpired | ApprovalEscalated):
        if state.status != "pending":
            return f"{event.kind} after it was {state.status}"
        if isinstance(event, ApprovalGranted):
            if event.arguments_digest != state.requested.arguments_digest:
                return "granted for other arguments"
            if event.by in (vote.by for vote in state.votes):
                return "two votes of one person"
    elif isinstance(event, ApprovalStarted):
        again = state.execution == "failed" and event.effect != "once" and not state.is_settled
        if state.status != "granted" or not (state.execution == "none" or again):
            return f"{event.kind} while it is {state.status}, {state.execution}"
    elif isinstance(event, ApprovalExecuted):
        settles = event.settled is not None and state.execution in ("unknown", "failed")
        if state.execution != "started" and not settles:
            return f"{event.kind} while its execution is {state.execution}"
    return None
