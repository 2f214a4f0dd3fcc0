"""What a log line says of an event: names, codes and numbers, never what was said, and nobody's name."""

from typing import assert_never

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
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.projections.plain import plain

Fields = dict[str, str | int | bool | None]


def log_fields(event: Event) -> Fields:
    """Return an event's fields for a log line; those without a value are left out."""
    return {
        name: plain(value) if isinstance(value, str) else value
        for name, value in _of(event).items()
        if value is not None
    }


def _of(event: Event) -> Fields:
    match event:
        case RunStarted():
            return {
                "tenant": event.context.tenant,
                "agent": event.agent,
                "agent_version": event.agent_version,
                "owner": event.owner,
                "request_id": event.request_id,
                "continues": str(event.continues) if event.continues else None,
                "forked_from": str(event.forked_from) if event.forked_from else None,
                "source": event.source.format if event.source else None,
            }
        case ModelTurn():
            return {
                "step": event.step,
                "model": event.model_asked,
                "finish_reason": event.finish_reason,
                "calls": len(event.calls),
                "tokens_in": event.usage.tokens_in,
                "tokens_out": event.usage.tokens_out,
                "cost_usd": str(event.cost_usd) if event.cost_usd is not None else None,
                "retries": len(event.attempts) if event.attempts else None,
                "duration_ms": event.latency_ms,
            }
        case ToolStarted():
            return {"call_key": event.call_key, "tool": event.name, "effect": event.effect}
        case ToolCall() | ToolError():
            return {
                "call_key": event.call_key,
                "tool": event.name,
                "code": event.code if isinstance(event, ToolError) else None,
                "duration_ms": event.duration_ms,
                "settled": True if event.settled else None,
            }
        case RunResumed():
            return {"owner": event.owner}
        case Terminal():
            return {
                "outcome": event.outcome,
                "reason": event.reason,
                "tool": event.tool,
                "steps": event.totals.steps,
                "tool_calls": event.totals.tool_calls,
                "tool_errors": event.totals.tool_errors,
            }
        case AgentDefined():
            return {"agent": event.agent}
        case _:
            return _of_approval(event)


def _of_approval(
    event: ApprovalRequested
    | ApprovalGranted
    | ApprovalDenied
    | ApprovalExpired
    | ApprovalEscalated
    | ApprovalRefused
    | ApprovalStarted
    | ApprovalExecuted,
) -> Fields:
    match event:
        case ApprovalRequested():
            return {
                "of_run": str(event.run_id),
                "tenant": event.tenant,
                "agent": event.agent,
                "call_key": event.call_key,
                "tool": event.tool,
                "needed": event.needed,
            }
        case ApprovalRefused():
            return {"answer": event.answer, "code": event.code}
        case ApprovalStarted():
            return {"tool": event.tool, "effect": event.effect, "owner": event.owner}
        case ApprovalExecuted():
            return {
                "code": event.code,
                "duration_ms": event.duration_ms,
                "settled": True if event.settled else None,
            }
        case ApprovalGranted() | ApprovalDenied() | ApprovalExpired() | ApprovalEscalated():
            return {}
        case _:
            assert_never(event)
