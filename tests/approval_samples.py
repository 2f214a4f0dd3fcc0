"""One of each kind of event of an approval, with a text in every field that can hold personal data."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.events import Event
from tachograph.domain.recorded_event import Settlement

AT = datetime(2026, 12, 1, 12, 34, 56, 789012, tzinfo=UTC)
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def approval_events(text: str) -> list[Event]:
    """In an order in which they can't all follow each other."""
    return [
        ApprovalRequested(
            recorded_at=AT,
            run_id=UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff"),
            run_version=12,
            trace_id="trace-1",
            tenant="shop",
            agent="refund",
            agent_version="1",
            call_key="4.1",
            tool="request_refund_approval",
            arguments=text,
            arguments_digest=DIGEST,
            shown_digest=DIGEST,
            shown_version=1,
            policy_version="2",
            requested_for=(text, text),
            group="finance",
            needed=2,
            subject="order #W1",
            expires_at=AT + timedelta(days=3),
            escalates_at=AT + timedelta(hours=4),
            then="execute",
        ),
        ApprovalGranted(recorded_at=AT, by=text, reason=text, arguments_digest=DIGEST, shown_digest=DIGEST),
        ApprovalDenied(recorded_at=AT, by=text, reason=text),
        ApprovalExpired(recorded_at=AT, expires_at=AT),
        ApprovalEscalated(recorded_at=AT, escalates_at=AT),
        ApprovalRefused(recorded_at=AT, by=text, answer="grant", code="own_request", message=text),
        ApprovalStarted(
            recorded_at=AT,
            tool="refund_execute",
            effect="idempotent",
            idempotency_key="tg1-1",
            owner="host-1",
        ),
        ApprovalExecuted(
            recorded_at=AT,
            output=text,
            code="outcome_unknown",
            message=text,
            duration_ms=12,
            settled=Settlement(actor=text, reason=text),
        ),
    ]
