"""
Spans from the record: each event that ends something becomes the span of it. Pure, and one event at a time.

    terminal                       invoke_agent, from the run's start to its end
    model_turn                     chat
    tool_call, tool_error          execute_tool; also a call that was refused, or settled by a person

What comes of approvals is in `approval_spans`. What a fork shares with its original happened there alone, so
it has no span in the fork. An open run has no span of its own yet, and a call without a result has none.
"""

import sys
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple
from uuid import UUID

from tachograph.domain.budget import Budget
from tachograph.domain.events import ModelTurn, Recorded, RunStarted, Terminal, ToolCall, ToolError
from tachograph.domain.text import clipped
from tachograph.projections.plain import plain
from tachograph.projections.span import (
    INTEGER_MAX,
    AskedFor,
    Link,
    Said,
    Span,
    Value,
    nanoseconds,
    span_id_of,
    started_before,
    trace_id_of,
)

CONTENT_MAX: Final = 65_536
LISTED_MAX: Final = 100  # Messages of a run's input, and calls of a turn, that content shows.
_INVENTED: Final = ("unknown_tool", "empty_tool_name")  # The name is the model's own, and no tool's.


class Origin(NamedTuple):
    """What the spans of a run need of its beginning. `model`: that of its first turn, None without one."""

    trace_id: str
    trace: str
    tenant: str
    agent: str
    agent_version: str
    definition_digest: str
    started_at: datetime
    budget: Budget
    continues: UUID | None
    forked_from: UUID | None
    shared_to: int
    source_format: str | None
    model: str | None = None


def origin_of(started: RunStarted, first_turn: ModelTurn | None) -> Origin:
    """Return a run's origin. `first_turn`: the event at version 2, where it is one."""
    context = started.context
    return Origin(
        trace_id=trace_id_of(context.tenant, context.trace_id),
        trace=context.trace_id,
        tenant=context.tenant,
        agent=started.agent,
        agent_version=started.agent_version,
        definition_digest=started.definition_digest,
        started_at=started.recorded_at,
        budget=started.budget,
        continues=started.continues,
        forked_from=started.forked_from,
        shared_to=started.fork.version if started.fork else 0,
        source_format=started.source.format if started.source else None,
        model=first_turn.model_asked if first_turn else None,
    )


def run_span(
    entry: Recorded, origin: Origin, *, links: tuple[Link, ...] = (), input: tuple[Said, ...] = ()
) -> Span:
    """Return the span of a run, from its terminal. `input`: what was said to it, if content is wanted."""
    event = entry.event
    assert isinstance(event, Terminal), "a run ends with its terminal"
    totals = event.totals
    facts: dict[str, Value] = {
        **_of_run(entry.run_id, origin),
        "agent": plain(origin.agent),
        "agent_version": plain(origin.agent_version),
        "definition_digest": origin.definition_digest,
        "outcome": event.outcome,
        "steps": totals.steps,
        "tool_calls": totals.tool_calls,
        "tool_errors": totals.tool_errors,
        **{f"budget.{name}": _number(limit) for name, limit in origin.budget if limit is not None},
    }
    if not origin.shared_to:
        facts |= {"tokens_in": _whole(totals.tokens_in), "tokens_out": _whole(totals.tokens_out)}
        if totals.cost_usd is not None:
            facts["cost_usd"] = _finite(totals.cost_usd)
    if event.reason is not None:
        facts["reason"] = plain(event.reason)
    if origin.source_format is not None:
        facts["source"] = plain(origin.source_format)
    start_ns = nanoseconds(origin.started_at)
    return Span(
        trace_id=origin.trace_id,
        span_id=span_id_of(entry.run_id, 1),
        parent_id=None,
        operation="invoke_agent",
        name=f"invoke_agent {plain(origin.agent)}",
        start_ns=start_ns,
        end_ns=max(start_ns, nanoseconds(event.recorded_at)),
        facts=facts,
        error=plain(event.reason or event.outcome) if event.outcome == "blocked" else None,
        links=links,
        said_in=input,
        said_out=_answer(event) if input else (),
    )


def step_span(entry: Recorded, origin: Origin, *, content: bool) -> Span | None:
    """Return the span of a model turn or of a call's result; None for an event that ends nothing."""
    if entry.version <= origin.shared_to:
        return None
    match entry.event:
        case ModelTurn() as turn:
            return _turn_span(entry, turn, origin, content=content)
        case ToolCall() | ToolError() as result:
            return _call_span(entry, result, origin, content=content)
        case _:
            return None


def input_of(started: RunStarted) -> tuple[Said, ...]:
    """Return what was said to a run."""
    return tuple(Said(message.role, _clipped(message.content)) for message in started.input[:LISTED_MAX])


def _answer(end: Terminal) -> tuple[Said, ...]:
    if end.tool is None:
        return ()
    call = AskedFor(end.call_key or "", plain(end.tool), _clipped(end.arguments or ""))
    return (Said("assistant", None, (call,)),)


def _turn_span(entry: Recorded, turn: ModelTurn, origin: Origin, *, content: bool) -> Span:
    usage = turn.usage
    facts: dict[str, Value] = {
        **_of_run(entry.run_id, origin),
        "step": turn.step,
        "model_asked": plain(turn.model_asked),
        "finish_reason": turn.finish_reason,
        "tokens_in": _whole(usage.tokens_in),
        "tokens_out": _whole(usage.tokens_out),
        "tokens_cached": _whole(usage.tokens_cached),
        "tokens_reasoning": _whole(usage.tokens_reasoning),
        "retries": len(turn.attempts or ()),
        "request_digest": turn.request_digest,
    }
    if turn.model_answered:
        facts["model_answered"] = plain(turn.model_answered)
    if turn.response_id:
        facts["response_id"] = plain(turn.response_id)
    if turn.cost_usd is not None:
        facts["cost_usd"] = _finite(turn.cost_usd)
    end_ns = nanoseconds(turn.recorded_at)
    calls = tuple(
        AskedFor(call.call_key, plain(call.name), _clipped(call.arguments or ""))
        for call in (turn.calls[:LISTED_MAX] if content else ())
    )
    text = _clipped(turn.text) if turn.text and content else None
    return Span(
        trace_id=origin.trace_id,
        span_id=span_id_of(entry.run_id, entry.version),
        parent_id=span_id_of(entry.run_id, 1),
        operation="chat",
        name=f"chat {plain(model_name(turn.model_asked))}",
        start_ns=started_before(end_ns, turn.latency_ms),
        end_ns=end_ns,
        facts=facts,
        remote=True,
        error=turn.finish_reason if turn.error is not None else None,
        said_out=(Said("assistant", text, calls),) if content else (),
    )


def _call_span(entry: Recorded, result: ToolCall | ToolError, origin: Origin, *, content: bool) -> Span:
    end_ns = nanoseconds(result.recorded_at)
    code = result.code if isinstance(result, ToolError) else None
    name = plain(result.name)
    return Span(
        trace_id=origin.trace_id,
        span_id=span_id_of(entry.run_id, entry.version),
        parent_id=span_id_of(entry.run_id, 1),
        operation="execute_tool",
        name="execute_tool" if code in _INVENTED else f"execute_tool {name}",
        start_ns=started_before(end_ns, result.duration_ms),
        end_ns=end_ns,
        facts={
            **_of_run(entry.run_id, origin),
            "tool": name,
            "call_key": result.call_key,
            "settled": result.settled is not None,
        },
        error=code,
        error_message=_clipped(result.message) if content and isinstance(result, ToolError) else None,
        arguments=_clipped(result.arguments) if content and isinstance(result, ToolCall) else None,
        output=_clipped(result.output) if content and isinstance(result, ToolCall) else None,
    )


def model_name(model_asked: str) -> str:
    """Return a model's own name, without that of its provider."""
    provider, colon, name = model_asked.partition(":")
    return name if colon and name else provider


def _of_run(run_id: UUID, origin: Origin) -> dict[str, Value]:
    facts: dict[str, Value] = {
        "run_id": str(run_id),
        "conversation": origin.trace,
        "tenant": plain(origin.tenant),
    }
    return facts | {"model": plain(origin.model)} if origin.model else facts


def _whole(number: int) -> int:
    return min(number, INTEGER_MAX)


def _number(limit: int | float | Decimal) -> Value:
    return _whole(limit) if isinstance(limit, int) else _finite(limit)


def _finite(number: float | Decimal) -> float:
    return min(float(number), sys.float_info.max)


def _clipped(text: str) -> str:
    return clipped(text.encode("utf-8", "replace").decode(), CONTENT_MAX)
