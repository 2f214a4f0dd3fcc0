"""The events that record what happened, from what was decided and what the ports answered. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tachograph.domain.agent import Agent
from tachograph.domain.arguments import arguments_digest
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import (
    CallRequest,
    ErrorCode,
    ModelTurn,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.messages import ModelRequest
from tachograph.domain.next_action import Finish
from tachograph.domain.origins import Message
from tachograph.domain.ports import ModelReply
from tachograph.domain.run import RunState
from tachograph.domain.text import storable
from tachograph.domain.tools import ToolContext


@dataclass(frozen=True, slots=True)
class Failed:
    """
    Why a call gave no output.

    `raised` is set for KeyboardInterrupt and SystemExit: the caller records the failure, then raises
    it again, so that Ctrl-C and a call of `sys.exit` are not swallowed.
    """

    code: ErrorCode
    message: str
    detail: str | None = None
    raised: BaseException | None = None


def run_start(
    agent: Agent,
    context: TrustedContext,
    input: tuple[Message, ...],
    at: datetime,
    owner: str,
    **more: Any,
) -> RunStarted:
    """Return the event that begins a run. `more`: fields of RunStarted that most runs don't have."""
    return RunStarted(
        recorded_at=at,
        agent=agent.name,
        agent_version=agent.version,
        definition_digest=agent.definition_digest,
        catalogue_digest=agent.catalogue_digest,
        context=context,
        input=input,
        budget=agent.budget,
        owner=owner,
        **more,
    )


def turn_of(request: ModelRequest, reply: ModelReply, at: datetime, latency_ms: int) -> ModelTurn:
    """Return the turn that a model's answer to a request is."""
    notes: list[str] = []

    def kept(name: str, text: str | None) -> str | None:
        if text is None:
            return None
        text, altered = storable(name, text)
        notes.extend(altered)
        return text

    calls = tuple(
        CallRequest(
            call_key=f"{request.step}.{index}",
            provider_id=kept(f"calls.{index - 1}.provider_id", call.provider_id),
            name=kept(f"calls.{index - 1}.name", call.name) or "",
            arguments=kept(f"calls.{index - 1}.arguments", call.arguments),
        )
        for index, call in enumerate(reply.calls, start=1)
    )
    return ModelTurn(
        recorded_at=at,
        step=request.step,
        model_asked=request.model,
        model_answered=kept("model_answered", reply.model),
        request_digest=request.digest,
        text=kept("text", reply.text),
        calls=calls,
        finish_reason=reply.finish_reason,
        finish_reason_raw=kept("finish_reason_raw", reply.finish_reason_raw),
        refusal=kept("refusal", reply.refusal),
        error=kept("error", reply.error),
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        prices=reply.prices,
        attempts=reply.attempts or None,
        latency_ms=latency_ms,
        response_id=kept("response_id", reply.response_id),
        provider_state=kept("provider_state", reply.provider_state),
        altered=tuple(notes) or None,
    )


def context_of(call: ReadyCall, run: RunState) -> ToolContext:
    """Return what a call's handler may know besides its arguments."""
    key, name = call.request.call_key, call.request.name
    return ToolContext(run.started.context, run.run_id, key, name, call.canonical)


def start_of(call: ReadyCall, context: ToolContext, at: datetime) -> ToolStarted | None:
    """Return what is recorded before a handler runs; None for one that only reads."""
    if call.tool.effect == "read":
        return None
    return ToolStarted(
        recorded_at=at,
        call_key=call.request.call_key,
        name=call.request.name,
        effect=call.tool.effect,
        arguments_digest=arguments_digest(call.canonical),
        idempotency_key=context.idempotency_key,
    )


def success_of(call: ReadyCall, output: str, at: datetime, duration_ms: int) -> ToolCall:
    """Return the result of a call whose handler gave an output, as JSON text."""
    return ToolCall(
        recorded_at=at,
        call_key=call.request.call_key,
        name=call.request.name,
        arguments=call.canonical,
        output=output,
        duration_ms=duration_ms,
        declared=dict(call.declared) or None,
    )


def failure_of(call: CallRequest, failed: Failed, at: datetime, duration_ms: int) -> ToolError:
    """Return the result of a call that gave no output."""
    message, _ = storable("message", failed.message)
    detail, _ = storable("detail", failed.detail) if failed.detail else (None, [])
    return ToolError(
        recorded_at=at,
        call_key=call.call_key,
        name=call.name,
        code=failed.code,
        message=message,
        detail=detail,
        duration_ms=duration_ms,
    )


def refusal_of(refused: RefusedCall, at: datetime) -> ToolError:
    """Return the result of a call that never reached a handler."""
    return failure_of(refused.request, Failed(refused.code, refused.message), at, 0)


def terminal_of(finish: Finish, run: RunState, at: datetime) -> Terminal:
    """Return the event that ends a run."""
    return Terminal(
        recorded_at=at,
        outcome=finish.outcome,
        reason=finish.reason,
        call_key=finish.call.call_key if finish.call else None,
        tool=finish.call.name if finish.call else None,
        arguments=finish.arguments,
        provenance=finish.provenance,
        totals=run.totals,
    )
