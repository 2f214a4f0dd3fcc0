"""
Arbitrary legal histories: runs driven by `next_action` itself, with random replies of the model, random
results of the handlers, a clock that jumps, and crashes after any append.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from hypothesis import strategies as st

from tachograph.domain.agent import Agent
from tachograph.domain.arguments import arguments_digest
from tachograph.domain.budget import Budget, Usage
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.events import (
    CallRequest,
    Event,
    ModelTurn,
    RunResumed,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.next_action import AskModel, ExecuteCalls, Finish, Wait, next_action
from tachograph.domain.origins import Message
from tachograph.domain.ports import AskedCall, ModelReply
from tachograph.domain.recorded_event import Settlement
from tachograph.domain.run import RunState, evolve
from tachograph.domain.tools import idempotency_key
from tachograph.domain.values import json_text

from .shop import AGENT
from .story import ANSWER, MAIL, NOON, PREVIEW, READ, RUN_ID, ask, started

EVENTS_MAX: Final = 120

texts = st.text(max_size=20) | st.sampled_from(["", " ", "\n", "\x00", "Done."])
good_calls = st.sampled_from([READ, PREVIEW, MAIL, ask("order_read", order_id="#W2")])
bad_calls = st.sampled_from(
    [
        ANSWER,
        ask("audit_read", order_id="#W1"),
        ask("order_delete", order_id="#W1"),
        AskedCall("answer_user", "{}"),
        AskedCall("order_read", '{"order_id": "#W1", "order_id": "#W2"}'),
        AskedCall("mail_send", None, ""),
        AskedCall("", "{}"),
    ]
)
odd_calls = st.builds(AskedCall, texts, st.none() | texts, st.none() | texts)
terminal_calls = st.sampled_from(
    [ANSWER, ask("request_refund_approval", order_id="#W1"), AskedCall("answer_user", "{}")]
)
prices = st.none() | st.decimals(min_value=0, max_value=1, places=4)
usages = st.builds(Usage, tokens_in=st.integers(0, 500), tokens_out=st.integers(0, 500))
working_replies = st.builds(
    ModelReply,
    text=st.none() | texts,
    calls=st.lists(good_calls, min_size=1, max_size=3).map(tuple),
    finish_reason=st.sampled_from(["tool_calls", "stop", "other", "pause"]),
    usage=usages,
    cost_usd=prices,
)
faulty_replies = st.builds(
    ModelReply,
    text=st.none() | texts,
    calls=st.lists(good_calls | bad_calls | odd_calls, min_size=1, max_size=3).map(tuple),
    finish_reason=st.just("tool_calls"),
    usage=usages,
    cost_usd=prices,
)
ending_replies = st.builds(ModelReply, text=st.none() | texts, calls=terminal_calls.map(lambda call: (call,)))
odd_replies = st.builds(
    ModelReply,
    text=st.none() | texts,
    calls=st.lists(good_calls, max_size=2).map(tuple),
    finish_reason=st.sampled_from(["length", "content_filter", "refusal", "pause", "rejected", "stop"]),
    refusal=st.none() | texts,
    error=st.none() | texts,
    usage=usages,
    cost_usd=prices,
    provider_state=st.none() | texts,
)
pausing_replies = st.builds(ModelReply, text=st.none() | texts, finish_reason=st.just("pause"))
replies = st.one_of(
    working_replies,
    faulty_replies,
    working_replies,
    ending_replies,
    working_replies,
    odd_replies,
    working_replies,
    pausing_replies,
)
outputs = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
).map(json_text)
budgets = st.one_of(
    st.just(Budget()),
    st.builds(Budget, max_tool_calls=st.integers(1, 8), max_identical_calls=st.integers(1, 4)),
    st.just(Budget()),
    st.builds(
        Budget,
        max_steps=st.integers(1, 6),
        max_calls_per_tool=st.none() | st.integers(0, 6),
        max_tokens=st.none() | st.integers(0, 4_000),
        max_cost_usd=st.none() | st.decimals(min_value=0, max_value=5, places=2),
        max_wall_s=st.none() | st.floats(0, 300),
    ),
)
crashes = st.sampled_from([False] * 6 + [True])
messages = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "system", "assistant", "tool"]), content=texts),
    max_size=3,
).map(tuple)
failures = st.sampled_from(
    ["tool_execution_failed", "timed_out", "unserializable_output", "output_too_large", "interrupted"]
)


@st.composite
def histories(draw: st.DrawFn, agent: Agent = AGENT) -> list[Event]:
    """Draw a run from its start to its terminal."""
    permissions = draw(st.sampled_from([(), ("audit",)]))
    start = started(draw(budgets), permissions=permissions, messages=draw(messages))
    events: list[Event] = [start]
    state = evolve(RUN_ID, None, start)
    now = NOON
    while not state.ended:
        assert len(events) < EVENTS_MAX, "a run must end within its limits"
        for event in draw(_next_events(agent, state, len(events))):
            now += timedelta(seconds=draw(st.integers(-5, 40)))
            event = event.model_copy(update={"recorded_at": now})
            events.append(event)
            state = evolve(RUN_ID, state, event)
    return events


@st.composite
def _next_events(draw: st.DrawFn, agent: Agent, state: RunState, length: int) -> list[Event]:
    """Draw what one turn of the shell records, possibly cut short by a crash and a takeover."""
    match next_action(agent, state):
        case AskModel(request):
            events: list[Event] = [model_turn(draw(replies), request.step, request.digest, NOON)]
        case ExecuteCalls(calls):
            events = [event for call in calls for event in draw(_execution(call))]
        case Wait(keys):
            events = [draw(_settlement(state, key)) for key in keys]
        case Finish(outcome, reason, call, arguments, provenance):
            key, name = (call.call_key, call.name) if call else (None, None)
            events = [
                Terminal(
                    recorded_at=NOON,
                    outcome=outcome,
                    reason=reason,
                    call_key=key,
                    tool=name,
                    arguments=arguments,
                    provenance=provenance,
                    totals=state.totals,
                )
            ]
    if length < EVENTS_MAX // 2 and draw(crashes):
        survived = draw(st.integers(0, len(events) - 1))
        owner = f"owner-{length}"
        takeover = RunResumed(recorded_at=NOON, owner=owner, actor="ops", reason="crash")
        events = [*events[:survived], takeover]
    return events


@st.composite
def _settlement(draw: st.DrawFn, state: RunState, key: str) -> Event:
    name = next(call.name for call in state.steps[-1].turn.calls if call.call_key == key)
    shared: dict[str, Any] = {
        "recorded_at": NOON,
        "call_key": key,
        "name": name,
        "duration_ms": 0,
        "settled": Settlement(actor="ops", reason="asked"),
    }
    if draw(st.booleans()):
        return ToolCall(arguments="{}", output=draw(outputs), **shared)
    return ToolError(code="tool_execution_failed", message=draw(texts), **shared)


@st.composite
def _execution(draw: st.DrawFn, call: ReadyCall | RefusedCall) -> list[Event]:
    key, name = call.request.call_key, call.request.name
    failed = ToolError(
        recorded_at=NOON, call_key=key, name=name, code="unknown_tool", message="", duration_ms=0
    )
    if isinstance(call, RefusedCall):
        return [failed.model_copy(update={"code": call.code, "message": call.message})]
    arguments = call.canonical
    events: list[Event] = []
    if call.tool.effect != "read":
        events.append(
            ToolStarted(
                recorded_at=NOON,
                call_key=key,
                name=name,
                effect=call.tool.effect,
                arguments_digest=arguments_digest(arguments),
                idempotency_key=idempotency_key(RUN_ID, name, arguments),
            )
        )
    if draw(st.booleans()):
        output = draw(outputs)
        events.append(
            ToolCall(
                recorded_at=NOON,
                call_key=key,
                name=name,
                arguments=arguments,
                output=output,
                duration_ms=1,
                declared=dict(call.declared) or None,
            )
        )
    else:
        detail = draw(st.none() | texts)
        events.append(
            failed.model_copy(update={"code": draw(failures), "message": draw(texts), "detail": detail})
        )
    return events


def model_turn(reply: ModelReply, step: int, digest: str, now: datetime) -> ModelTurn:
    """Put a reply on record."""
    return ModelTurn(
        recorded_at=now,
        step=step,
        model_asked=AGENT.model_name,
        request_digest=digest,
        text=reply.text,
        calls=tuple(
            CallRequest(
                call_key=f"{step}.{index}",
                provider_id=call.provider_id,
                name=call.name,
                arguments=call.arguments,
            )
            for index, call in enumerate(reply.calls, 1)
        ),
        finish_reason=reply.finish_reason,
        refusal=reply.refusal,
        error=reply.error,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        latency_ms=1,
        provider_state=reply.provider_state,
    )
