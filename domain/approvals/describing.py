"""An approval as an explanation tells it."""

from dataclasses import replace
from datetime import datetime

from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.why.explanation import Answered, AskedPeople, Explanation
from tachograph.domain.why.writing import with_digest


def with_approval(explanation: Explanation, state: ApprovalState) -> Explanation:
    """Return the explanation of a run with what people decided, and with the digest that it has then."""
    return with_digest(replace(explanation, approval=_described(state)))


def _described(state: ApprovalState) -> AskedPeople:
    asked = state.requested
    answers = [Answered(vote.by, "granted", _text(vote.recorded_at), vote.reason) for vote in state.votes]
    decided = state.votes[-1].recorded_at if state.status == "granted" else None
    if state.denied:
        denied = state.denied
        answers.append(Answered(denied.by, "denied", _text(denied.recorded_at), denied.reason))
        decided = denied.recorded_at
    elif state.expired:
        decided = state.expired.recorded_at
    return AskedPeople(
        approval_id=state.approval_id,
        status=state.status,
        needed=asked.needed,
        answers=tuple(answers),
        asked_at=_text(asked.recorded_at),
        waited_s=max(0, int((decided - asked.recorded_at).total_seconds())) if decided else None,
        shown_digest=asked.shown_digest,
        policy_version=asked.policy_version,
        execution=state.execution,
    )


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
