"""
What is recorded of a run: seven kinds of fact, and nothing else; approvals have theirs beside them.

The stored names (`kind`) and the shapes are the storage format: neither is ever reused or renamed.
A changed shape gets the next SCHEMA_VERSION and an upcaster in `codec.py`. Texts that came from a
model or a tool are kept as text, so that a number keeps the digits it was written with.
"""

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

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
from tachograph.domain.budget import Budget, Totals, Usage
from tachograph.domain.context import TrustedContext
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.origins import Attempt, Fork, Message, Queued, Source
from tachograph.domain.personal import PERSONAL, PersonalText
from tachograph.domain.provenance import Provenance
from tachograph.domain.recorded_event import RecordedEvent, Settlement

SCHEMA_VERSION = 1

Outcome = Literal["answered", "needs_clarification", "approval_requested", "handed_off", "blocked"]
Effect = Literal["read", "idempotent", "once"]
FinishReason = Literal[
    "stop", "tool_calls", "length", "content_filter", "refusal", "pause", "rejected", "other"
]
ErrorCode = Literal[
    "unknown_tool",
    "empty_tool_name",
    "not_allowed",
    "invalid_json",
    "duplicate_key",
    "arguments_not_object",
    "invalid_arguments",
    "truncated_turn",
    "rejected_turn",
    "tool_execution_failed",
    "timed_out",
    "interrupted",
    "unserializable_output",
    "output_too_large",
    "outcome_unknown",
    "unsupported_argument",
]


class CallRequest(BaseModel):
    """A tool call as the model asked for it. `call_key` is ours ("3.1" = step 3, call 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_key: str
    provider_id: str | None = None
    name: str
    arguments: Annotated[str | None, PERSONAL] = None


class RunStarted(RecordedEvent):
    """A run began: who asked, with which agent, what was said, and what it may cost."""

    kind: ClassVar[str] = "run_started"

    agent: str
    agent_version: str
    definition_digest: str
    catalogue_digest: str
    context: TrustedContext
    input: tuple[Message, ...]
    budget: Budget
    owner: str
    request_id: str | None = None
    continues: UUID | None = None
    forked_from: UUID | None = None
    fork: Fork | None = None
    source: Source | None = None
    altered: tuple[str, ...] | None = None
    queued: Queued | None = None


class ModelTurn(RecordedEvent):
    """
    The model answered. Recorded before anything of it is looked at or executed.

    `prices`: what the cost was worked out by; `attempts`: those before the one that was answered.
    """

    kind: ClassVar[str] = "model_turn"

    step: int = Field(ge=1)
    model_asked: str
    model_answered: str | None = None
    request_digest: str
    text: Annotated[str | None, PERSONAL] = None
    calls: tuple[CallRequest, ...] = ()
    finish_reason: FinishReason
    finish_reason_raw: str | None = None
    refusal: Annotated[str | None, PERSONAL] = None
    error: Annotated[str | None, PERSONAL] = None
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    prices: str | None = None
    attempts: tuple[Attempt, ...] | None = None
    latency_ms: int = Field(ge=0)
    response_id: str | None = None
    provider_state: Annotated[str | None, PERSONAL] = None
    altered: tuple[str, ...] | None = None


class ToolStarted(RecordedEvent):
    """A handler that can change the world is about to run; durable before it does."""

    kind: ClassVar[str] = "tool_started"

    call_key: str
    name: str
    effect: Literal["idempotent", "once"]
    arguments_digest: str
    idempotency_key: str


class ToolCall(RecordedEvent):
    """
    A call succeeded. `arguments` and `output` are JSON text; the model saw `output`.

    `declared`: what the tool says about its arguments, by pointer (`why/declared.py`). `settled`: a person
    found out afterwards.
    """

    kind: ClassVar[str] = "tool_call"

    call_key: str
    name: str
    arguments: PersonalText
    output: PersonalText
    duration_ms: int = Field(ge=0)
    declared: Annotated[dict[str, str] | None, PERSONAL] = None
    settled: Settlement | None = None


class ToolError(RecordedEvent):
    """A call failed. The model saw `message`; `detail` is for the auditor."""

    kind: ClassVar[str] = "tool_error"

    call_key: str
    name: str
    code: ErrorCode
    message: PersonalText
    detail: Annotated[str | None, PERSONAL] = None
    duration_ms: int = Field(ge=0)
    settled: Settlement | None = None


class RunResumed(RecordedEvent):
    """Another owner took the run over. Calls started and unfinished are in doubt from here on."""

    kind: ClassVar[str] = "run_resumed"

    owner: str
    actor: Annotated[str, PERSONAL]
    reason: str


class Terminal(RecordedEvent):
    """The run ended. `arguments` is JSON text of the terminal call that ended it, if one did."""

    kind: ClassVar[str] = "terminal"

    outcome: Outcome
    reason: str | None = None
    call_key: str | None = None
    tool: str | None = None
    arguments: Annotated[str | None, PERSONAL] = None
    actor: Annotated[str | None, PERSONAL] = None
    provenance: Provenance | None = None
    totals: Totals


_OfRun = RunStarted | ModelTurn | ToolStarted | ToolCall | ToolError | RunResumed | Terminal
_OfApproval = (
    ApprovalRequested
    | ApprovalGranted
    | ApprovalDenied
    | ApprovalExpired
    | ApprovalEscalated
    | ApprovalRefused
    | ApprovalStarted
    | ApprovalExecuted
)
Event = _OfRun | _OfApproval | AgentDefined

EVENT_KINDS: Mapping[str, type[Event]] = MappingProxyType({cls.kind: cls for cls in get_args(Event)})


class Recorded(NamedTuple):
    """An event at its place: version in its run (from 1), position in the whole log."""

    run_id: UUID
    version: int
    event: Event
    position: int = 0

    @property
    def kind(self) -> str:
        """The event's stored name."""
        return self.event.kind


class Unreadable(NamedTuple):
    """A stored row that is no event this release knows: shown as such, never dropped."""

    run_id: UUID
    version: int
    kind: str
    why: str
    position: int = 0


Entry = Recorded | Unreadable
