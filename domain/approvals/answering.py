"""The rules by which people answer an approval: who may, when, to what, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.definition import digest_of
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    RefusalCode,
)
from tachograph.domain.events import Event
from tachograph.domain.run import RunState

Answer = Literal["grant", "deny"]


@dataclass(frozen=True, slots=True)
class Approver:
    """Who answers, as the caller's session vouches for it."""

    actor: str
    permissions: tuple[str, ...] = ()


def contradiction(state: ApprovalState, run: RunState) -> tuple[RefusalCode, str] | None:
    """Say in what an approval no longer agrees with the run that asked for it; None if in nothing."""
    asked, terminal = state.requested, run.terminal
    if terminal is None or run.version != asked.run_version:
        return "run_changed", f"The run is at version {run.version}; asked was at {asked.run_version}."
    of_run = (terminal.call_key, terminal.tool, terminal.arguments)
    intact = digest_of(asked.tool, asked.arguments) == asked.arguments_digest
    if not intact or of_run != (asked.call_key, asked.tool, asked.arguments):
        return "arguments_changed", "What is approved is not what the run asked for."
    return None


def expiry(state: ApprovalState, now: datetime) -> ApprovalExpired:
    """Return the event that ends an approval which is late."""
    assert state.requested.expires_at is not None, "only what expires is late"
    return ApprovalExpired(recorded_at=now, expires_at=state.requested.expires_at)


def escalation(state: ApprovalState, now: datetime) -> ApprovalEscalated:
    """Return the event that calls for somebody else to look at an approval."""
    assert state.requested.escalates_at is not None, "only what escalates is due"
    return ApprovalEscalated(recorded_at=now, escalates_at=state.requested.escalates_at)


def answered(
    state: ApprovalState,
    run: RunState,
    approver: Approver,
    answer: Answer,
    reason: str,
    now: datetime,
    *,
    seen: str | None = None,
    limit: str | None = None,
) -> Sequence[Event]:
    """
    Return the events that an answer gives: a vote or a denial, or the refusal of it.

    Args:
        seen: Digest of the arguments that the approver looked at; None: those that are recorded.
        limit: Why it can't be granted beside others, None if it can.
    """
    asked = state.requested
    late = [expiry(state, now)] if state.is_late(now) else []
    refusal = _refusal(state, run, approver, answer, bool(late), seen, limit)
    if refusal is not None:
        code, message = refusal
        refused = ApprovalRefused(
            recorded_at=now, by=approver.actor, answer=answer, code=code, message=message
        )
        return [*late, refused]
    if answer == "deny":
        return [ApprovalDenied(recorded_at=now, by=approver.actor, reason=reason)]
    return [
        ApprovalGranted(
            recorded_at=now,
            by=approver.actor,
            reason=reason,
            arguments_digest=asked.arguments_digest,
            shown_digest=asked.shown_digest,
        )
    ]


def _refusal(
    state: ApprovalState,
    run: RunState,
    approver: Approver,
    answer: Answer,
    late: bool,
    seen: str | None,
    limit: str | None,
) -> tuple[RefusalCode, str] | None:
    asked = state.requested
    if late or state.status == "expired":
        return "expired", "It has expired; nobody decided in time."
    if state.status != "pending":
        return "already_decided", f"It has been {state.status} already."
    if approver.actor in asked.requested_for:
        return "own_request", f"{approver.actor} is whom the run acted for, and can't decide on it."
    if asked.group is not None and asked.group not in approver.permissions:
        return "not_allowed", f"It takes the permission {asked.group}."
    if approver.actor in (vote.by for vote in state.votes):
        return "voted_already", f"{approver.actor} has granted it already; it takes somebody else."
    if seen is not None and seen != asked.arguments_digest:
        return "arguments_changed", "The answer is to other arguments than those that are asked for."
    contradicted = contradiction(state, run)
    if contradicted is not None:
        return contradicted
    return ("limit", limit) if limit is not None and answer == "grant" else None
