"""
The stored format, kept as a file: golden/events_v1.jsonl holds stored events of schema version 1.

No line of it ever changes and none is removed. Each must decode to the event below it and encode to the
same bytes for ever. A new schema version gets a file of its own, and these then go through upcasters.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from tachograph.domain.budget import Budget, Totals, Usage
from tachograph.domain.codec import decode, encode
from tachograph.domain.context import TrustedContext
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.events import (
    EVENT_KINDS,
    CallRequest,
    Event,
    ModelTurn,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.origins import Attempt, Fork, Message, Queued, Source
from tachograph.domain.recorded_event import Settlement
from tachograph.tests.approval_samples import approval_events

GOLDEN = Path(__file__).parent / "golden" / "events_v1.jsonl"

AT = datetime(2026, 12, 1, 12, 34, 56, 789012, tzinfo=UTC)
WHOLE = datetime(2026, 12, 1, tzinfo=UTC)
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
HOSTILE = 'NUL \x00, quote ", backslash \\, \\u0000 as six letters, line \u2028 end, escape \x1b[2J, 😀 é'

EVENTS: dict[str, Event] = {
    "run_started, all fields": RunStarted(
        recorded_at=AT,
        agent="refund",
        agent_version="2026.12",
        definition_digest=DIGEST,
        catalogue_digest=DIGEST,
        context=TrustedContext(
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            tenant="shop-eu",
            actor="agent@shop.example",
            customer="Zoë Müller",
            permissions=("audit", "refund"),
        ),
        input=(
            Message(role="system", content="Today is 2026-12-01."),
            Message(role="user", content=HOSTILE),
            Message(role="assistant", content=""),
            Message(role="tool", content="null"),
        ),
        budget=Budget(
            max_steps=6,
            max_tool_calls=20,
            max_calls_per_tool=5,
            max_identical_calls=2,
            max_tokens=100000,
            max_cost_usd=Decimal("0.50"),
            max_wall_s=90.5,
        ),
        owner="host-1/4711/ab12",
        request_id="req-1",
        continues=UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff"),
        forked_from=UUID("00000000-0000-0000-0000-000000000000"),
        source=Source(
            format="tau-bench",
            digest=DIGEST,
            conversation=3,
            stretch=0,
            first_message=0,
            last_message=11,
            label="task 3, trial 0",
            clock="message",
            unanswered=(Message(role="user", content="Hello?"),),
        ),
        altered=("input.1: U+D83D at 3 replaced",),
    ),
    "run_started, required fields": RunStarted(
        recorded_at=WHOLE,
        agent="refund",
        agent_version="1",
        definition_digest=DIGEST,
        catalogue_digest=DIGEST,
        context=TrustedContext(trace_id="t"),
        input=(),
        budget=Budget(),
        owner="first",
    ),
    "model_turn, all fields": ModelTurn(
        recorded_at=AT,
        step=3,
        model_asked="gpt-5.2",
        model_answered="gpt-5.2-2026-11-20",
        request_digest=DIGEST,
        text=HOSTILE,
        calls=(
            CallRequest(
                call_key="3.1", provider_id="call_1", name="order_read", arguments='{"order_id": "#W1"}'
            ),
            CallRequest(call_key="3.2", provider_id="", name="", arguments="{broken \x00"),
            CallRequest(call_key="3.3", name="policy_search"),
        ),
        finish_reason="tool_calls",
        finish_reason_raw="TOOL_CALLS",
        refusal="I cannot help with that.",
        error="tool_use_failed",
        usage=Usage(tokens_in=1200, tokens_out=34, tokens_cached=1000, tokens_reasoning=12),
        cost_usd=Decimal("0.00123400"),
        latency_ms=1834,
        response_id="chatcmpl-1",
        provider_state='{"reasoning":"opaque"}',
        altered=("text: U+D800 at 0 replaced", "calls.2.name: U+DFFF at 1 replaced"),
    ),
    "model_turn, required fields": ModelTurn(
        recorded_at=WHOLE,
        step=1,
        model_asked="scripted",
        request_digest=DIGEST,
        finish_reason="stop",
        latency_ms=0,
    ),
    "tool_started": ToolStarted(
        recorded_at=AT,
        call_key="3.1",
        name="refund_execute",
        effect="once",
        arguments_digest=DIGEST,
        idempotency_key="tg1-0123456789abcdef0123456789abcdef01234567",
    ),
    "tool_call": ToolCall(
        recorded_at=AT,
        call_key="3.1",
        name="order_read",
        arguments='{"order_id":"#W1","amount":19.90}',
        output='{"total":19.90,"note":"gift card\\u0000 balance","cut":"\\ud83d","x":{"$float":"NaN"}}',
        duration_ms=12,
    ),
    "tool_error, all fields": ToolError(
        recorded_at=AT,
        call_key="3.2",
        name="order_read",
        code="tool_execution_failed",
        message="ValueError: boom",
        detail=f"Traceback (most recent call last):\n{HOSTILE}",
        duration_ms=60000,
    ),
    "tool_error, required fields": ToolError(
        recorded_at=WHOLE, call_key="1.1", name="", code="empty_tool_name", message="", duration_ms=0
    ),
    "run_resumed": RunResumed(
        recorded_at=AT, owner="host-2/12/cd34", actor="ops@shop.example", reason="its process died"
    ),
    "terminal, all fields": Terminal(
        recorded_at=AT,
        outcome="approval_requested",
        reason="reviewed",
        call_key="4.1",
        tool="request_refund_approval",
        arguments='{"order_id":"#W1","amount":19.90}',
        actor="agent@shop.example",
        totals=Totals(
            steps=4,
            tool_calls=3,
            tool_errors=1,
            tokens_in=4800,
            tokens_out=136,
            cost_usd=Decimal("0.0049360"),
        ),
    ),
    "terminal, required fields": Terminal(
        recorded_at=WHOLE, outcome="blocked", reason="max_steps_exceeded", totals=Totals()
    ),
    "model_turn, attempts": ModelTurn(
        recorded_at=WHOLE,
        step=1,
        model_asked="openai:gpt-5.2",
        request_digest=DIGEST,
        finish_reason="stop",
        cost_usd=Decimal("0.0012"),
        prices="genai-prices 0.2.3",
        attempts=(Attempt(error="ModelRateLimitError: slow down", status=429, paused_ms=1500),),
        latency_ms=0,
    ),
    "run_started, a fork": RunStarted(
        recorded_at=WHOLE,
        agent="refund",
        agent_version="1",
        definition_digest=DIGEST,
        catalogue_digest=DIGEST,
        context=TrustedContext(trace_id="t"),
        input=(),
        budget=Budget(),
        owner="first",
        forked_from=UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff"),
        fork=Fork(version=7, edited=("2.1",), live=True),
    ),
    "tool_call, settled": ToolCall(
        recorded_at=AT,
        call_key="3.1",
        name="money_send",
        arguments="{}",
        output="null",
        duration_ms=0,
        declared={"/order_id": "evidence"},
        settled=Settlement(actor="ops@shop.example", reason="the bank says so"),
    ),
    "tool_error, settled": ToolError(
        recorded_at=AT,
        call_key="3.1",
        name="money_send",
        code="tool_execution_failed",
        message="The bank has nothing of it.",
        duration_ms=0,
        settled=Settlement(actor="ops@shop.example", reason="the bank says so"),
    ),
    **{event.kind: event for event in approval_events(HOSTILE)},
    "agent_defined": AgentDefined(recorded_at=WHOLE, agent="refund", definition='{"name":"refund"}'),
    "run_started, queued": RunStarted(
        recorded_at=WHOLE,
        agent="refund",
        agent_version="1",
        definition_digest=DIGEST,
        catalogue_digest=DIGEST,
        context=TrustedContext(trace_id="t"),
        input=(),
        budget=Budget(),
        owner="queue",
        queued=Queued(priority=-5, not_before=AT, model="openai:gpt-5.2"),
    ),
}


def stored() -> dict[str, tuple[str, bytes]]:
    """The golden file: kind and bytes of each event, by the name it has above."""
    lines = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").split("\n") if line]
    return {line["name"]: (line["kind"], line["stored"].encode()) for line in lines}


def test_the_file_and_the_events_name_the_same() -> None:
    assert list(stored()) == list(EVENTS)


def test_every_kind_is_in_the_file() -> None:
    assert {kind for kind, _ in stored().values()} == set(EVENT_KINDS)


@pytest.mark.parametrize("name", EVENTS)
def test_a_stored_event_decodes_to_the_same_event_for_ever(name: str) -> None:
    kind, golden = stored()[name]
    assert decode(kind, golden) == EVENTS[name]


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_encodes_to_the_same_bytes_for_ever(name: str) -> None:
    kind, golden = stored()[name]
    assert (EVENTS[name].kind, encode(EVENTS[name])) == (kind, golden)


@pytest.mark.parametrize("name", EVENTS)
def test_a_stored_event_encodes_to_its_own_bytes(name: str) -> None:
    kind, golden = stored()[name]
    assert encode(decode(kind, golden)) == golden
