"""The columns of an event: its place, its run, what is counted of it, and the event itself as JSON."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from tachograph.adapters.record_files.reading import Placed
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
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.events import (
    Event,
    ModelTurn,
    Recorded,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.projections.metrics import nano_usd

VERSION: Final = 1

Type = Literal["whole", "time", "text"]
Value = str | int | datetime | None


class Column(NamedTuple):
    """A column: what is in it, and its type."""

    meaning: str
    type: Type = "text"


COLUMNS: Final[Mapping[str, Column]] = MappingProxyType(
    {
        "position": Column("its place in the whole log", "whole"),
        "run_id": Column("the run or approval that it belongs to"),
        "version": Column("its place in the run, from 1", "whole"),
        "kind": Column("what happened, such as tool_call"),
        "recorded_at": Column("when, in UTC", "time"),
        "tenant": Column("whose run it is"),
        "trace_id": Column("the trace of the run"),
        "agent": Column("the agent's name"),
        "actor": Column("who did it: whom the run acts for, or the person who decided"),
        "step": Column("number of the model turn", "whole"),
        "call_key": Column("of a tool call: turn and place, as in 3.1"),
        "tool": Column("the tool's name"),
        "model": Column("the model that answered"),
        "code": Column("why a call failed, or an answer was refused"),
        "outcome": Column("how the run ended"),
        "reason": Column("why it was blocked"),
        "tokens_in": Column("tokens sent", "whole"),
        "tokens_out": Column("tokens received", "whole"),
        "cost_nano_usd": Column("cost in billionths of a USD; empty: not known", "whole"),
        "duration_ms": Column("how long the call or the model took", "whole"),
        "event": Column("the event with all its fields, as JSON"),
        "unreadable": Column("why it can't be read; then most of the others are empty"),
    }
)
WHOLE_MAX: Final = 2**62

Row = tuple[Value, ...]


class _Own(NamedTuple):
    """What kinds of events have of their own, in the order of COLUMNS."""

    actor: str | None = None
    step: int | None = None
    call_key: str | None = None
    tool: str | None = None
    model: str | None = None
    code: str | None = None
    outcome: str | None = None
    reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_nano_usd: int | None = None
    duration_ms: int | None = None


_NOTHING: Final = _Own()


def row_of(placed: Placed) -> Row:
    """Return an event's values, in the order of COLUMNS; None for those that it doesn't have."""
    entry, by = placed.entry, placed.whose
    place = (entry.position, str(entry.run_id), entry.version, entry.kind)
    whose = (by.tenant, by.trace_id, by.agent)
    if not isinstance(entry, Recorded):
        return (*place, None, *whose, *_NOTHING, None, entry.why)
    own = _OWN[entry.kind](entry.event)
    return (*place, entry.event.recorded_at, *whose, *own, placed.json, None)


def _turn(event: ModelTurn) -> _Own:
    return _Own(
        step=_whole(event.step),
        model=event.model_answered or event.model_asked,
        tokens_in=_whole(event.usage.tokens_in),
        tokens_out=_whole(event.usage.tokens_out),
        cost_nano_usd=None if event.cost_usd is None else nano_usd(event.cost_usd),
        duration_ms=_whole(event.latency_ms),
    )


def _called(event: ToolCall | ToolError) -> _Own:
    return _Own(
        call_key=event.call_key,
        tool=event.name,
        code=event.code if isinstance(event, ToolError) else None,
        duration_ms=_whole(event.duration_ms),
    )


def _ended(event: Terminal) -> _Own:
    return _Own(
        call_key=event.call_key,
        tool=event.tool,
        outcome=event.outcome,
        reason=event.reason,
        actor=event.actor,
    )


def _whole(number: int) -> int:
    return min(number, WHOLE_MAX)


def _nothing(event: Event) -> _Own:
    return _NOTHING


_OWN: Final[Mapping[str, Callable[[Any], _Own]]] = {
    AgentDefined.kind: _nothing,
    RunStarted.kind: lambda event: _Own(actor=event.context.actor),
    ModelTurn.kind: _turn,
    ToolStarted.kind: lambda event: _Own(call_key=event.call_key, tool=event.name),
    ToolCall.kind: _called,
    ToolError.kind: _called,
    RunResumed.kind: lambda event: _Own(actor=event.actor),
    Terminal.kind: _ended,
    ApprovalRequested.kind: lambda event: _Own(call_key=event.call_key, tool=event.tool),
    ApprovalGranted.kind: lambda event: _Own(actor=event.by),
    ApprovalDenied.kind: lambda event: _Own(actor=event.by),
    ApprovalExpired.kind: _nothing,
    ApprovalEscalated.kind: _nothing,
    ApprovalRefused.kind: lambda event: _Own(actor=event.by, code=event.code),
    ApprovalStarted.kind: lambda event: _Own(tool=event.tool),
    ApprovalExecuted.kind: lambda event: _Own(code=event.code, duration_ms=_whole(event.duration_ms)),
}
