"""
What is recorded of an approval. The stored names and shapes are a format, as those of a run are.

An approval is asked for in one transaction with the `terminal` of the run that asks. It is decided once:
whatever is answered after that is recorded as a refusal, and changes nothing.
"""

from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from tachograph.domain.personal import PERSONAL, PersonalText
from tachograph.domain.recorded_event import RecordedEvent, Settlement, UtcTime

Then = Literal["nothing", "execute", "continue"]
RefusalCode = Literal[
    "already_decided",
    "expired",
    "arguments_changed",
    "run_changed",
    "own_request",
    "voted_already",
    "not_allowed",
    "limit",
]


class ApprovalEvent(RecordedEvent):
    """What the events of an approval share."""


class ApprovalRequested(ApprovalEvent):
    """
    A run ended by asking a person.

    Args:
        run_version: Of the `terminal` that asks, the run's last.
        arguments: JSON text of exactly what is asked for.
        arguments_digest: SHA-256 over the tool's name and the arguments.
        shown_digest: Of the explanation that an approver is shown, by the rules of `shown_version`.
        requested_for: Whom the run acted for: none of them may decide.
        group: The permission that an approver needs; None: anyone else may decide.
        needed: How many people have to grant it.
        subject: What is limited over several approvals, such as an order; views show it, so it names nobody.
        then: What follows a decision.
    """

    kind: ClassVar[str] = "approval_requested"

    run_id: UUID
    run_version: int
    trace_id: str
    tenant: str
    agent: str
    agent_version: str
    call_key: str
    tool: str
    arguments: PersonalText
    arguments_digest: str
    shown_digest: str
    shown_version: int
    policy_version: str | None = None
    requested_for: tuple[PersonalText, ...] = ()
    group: str | None = None
    needed: int = Field(default=1, ge=1)
    subject: str | None = None
    expires_at: UtcTime | None = None
    escalates_at: UtcTime | None = None
    then: Then = "nothing"


class ApprovalGranted(ApprovalEvent):
    """One person said yes. With as many as are needed, it is granted."""

    kind: ClassVar[str] = "approval_granted"

    by: Annotated[str, PERSONAL]
    reason: Annotated[str, PERSONAL]
    arguments_digest: str
    shown_digest: str


class ApprovalDenied(ApprovalEvent):
    """One person said no, which decides."""

    kind: ClassVar[str] = "approval_denied"

    by: Annotated[str, PERSONAL]
    reason: Annotated[str, PERSONAL]


class ApprovalExpired(ApprovalEvent):
    """Nobody decided in time."""

    kind: ClassVar[str] = "approval_expired"

    expires_at: UtcTime


class ApprovalEscalated(ApprovalEvent):
    """Nobody decided for so long that somebody else has to look."""

    kind: ClassVar[str] = "approval_escalated"

    escalates_at: UtcTime


class ApprovalRefused(ApprovalEvent):
    """An answer that counts for nothing, and why."""

    kind: ClassVar[str] = "approval_refused"

    by: Annotated[str, PERSONAL]
    answer: Literal["grant", "deny"]
    code: RefusalCode
    message: Annotated[str, PERSONAL]


class ApprovalStarted(ApprovalEvent):
    """The effect of a granted approval is about to run; durable before it does."""

    kind: ClassVar[str] = "approval_started"

    tool: str
    effect: Literal["read", "idempotent", "once"]
    idempotency_key: str
    owner: str


class ApprovalExecuted(ApprovalEvent):
    """
    What came of the effect. `output` is JSON text; None where it failed, `code` and `message` say how.

    `outcome_unknown`: the process died within it, and a person has to find out (`settled`).
    """

    kind: ClassVar[str] = "approval_executed"

    output: Annotated[str | None, PERSONAL] = None
    code: str | None = None
    message: Annotated[str | None, PERSONAL] = None
    duration_ms: int = Field(default=0, ge=0)
    settled: Settlement | None = None
