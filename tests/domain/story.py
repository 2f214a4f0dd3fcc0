"""
The vocabulary of the loop's specifications: given these events, this is what happens next.

    given(turn(1, ask("order_read", order_id="#W1"))).executes("1.1")

`given` puts a `run_started` before the events unless they begin with one, folds them, and asks
`next_action`. Nothing here runs a handler.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pytest

from tachograph.domain.agent import Agent
from tachograph.domain.budget import Budget, Totals, Usage
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import (
    CallRequest,
    ErrorCode,
    Event,
    FinishReason,
    ModelTurn,
    Outcome,
    Recorded,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.messages import request
from tachograph.domain.next_action import Action, AskModel, ExecuteCalls, Finish, Wait, next_action
from tachograph.domain.origins import Message
from tachograph.domain.ports import AskedCall
from tachograph.domain.run import RunState, fold

from .shop import AGENT

RUN_ID = UUID("00000000-0000-4000-8000-000000000001")
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def started(
    budget: Budget | None = None,
    *,
    permissions: tuple[str, ...] = (),
    messages: tuple[Message, ...] = (Message(role="user", content="Refund order #W1, please."),),
    at: float = 0,
) -> RunStarted:
    return RunStarted(
        recorded_at=NOON + timedelta(seconds=at),
        agent=AGENT.name,
        agent_version=AGENT.version,
        definition_digest=AGENT.definition_digest,
        catalogue_digest=AGENT.catalogue_digest,
        context=TrustedContext(trace_id="trace-1", tenant="shop", permissions=permissions),
        input=messages,
        budget=budget or Budget(),
        owner="first",
    )


def ask(name: str, **arguments: Any) -> AskedCall:
    """A call of the model with well-formed JSON; for anything else use AskedCall itself."""
    return AskedCall(name, json.dumps(arguments))


READ = ask("order_read", order_id="#W1")
PREVIEW = ask("refund_preview", order_id="#W1")
MAIL = ask("mail_send", order_id="#W1")
ANSWER = ask("answer_user", text="Done.")


def turn(
    step: int,
    *calls: AskedCall,
    text: str | None = None,
    finish: FinishReason | None = None,
    refusal: str | None = None,
    error: str | None = None,
    tokens: tuple[int, int] = (0, 0),
    cost: str | None = None,
    state: str | None = None,
    at: float = 0,
) -> ModelTurn:
    return ModelTurn(
        recorded_at=NOON + timedelta(seconds=at),
        step=step,
        model_asked="scripted",
        request_digest="0" * 64,
        text=text,
        calls=tuple(
            CallRequest(
                call_key=f"{step}.{index}",
                provider_id=call.provider_id,
                name=call.name,
                arguments=call.arguments,
            )
            for index, call in enumerate(calls, 1)
        ),
        finish_reason=finish or ("tool_calls" if calls else "stop"),
        refusal=refusal,
        error=error,
        usage=Usage(tokens_in=tokens[0], tokens_out=tokens[1]),
        cost_usd=None if cost is None else Decimal(cost),
        latency_ms=1,
        provider_state=state,
    )


def begun(
    key: str, effect: Literal["idempotent", "once"] = "once", name: str = "mail_send", *, at: float = 0
) -> ToolStarted:
    return ToolStarted(
        recorded_at=NOON + timedelta(seconds=at),
        call_key=key,
        name=name,
        effect=effect,
        arguments_digest="0" * 64,
        idempotency_key="tg1-0",
    )


def result(key: str, output: str = "{}", name: str = "order_read", *, at: float = 0) -> ToolCall:
    return ToolCall(
        recorded_at=NOON + timedelta(seconds=at),
        call_key=key,
        name=name,
        arguments='{"order_id":"#W1"}',
        output=output,
        duration_ms=1,
    )


def failure(
    key: str, code: ErrorCode = "tool_execution_failed", message: str = "It failed.", *, at: float = 0
) -> ToolError:
    return ToolError(
        recorded_at=NOON + timedelta(seconds=at),
        call_key=key,
        name="order_read",
        code=code,
        message=message,
        duration_ms=1,
    )


def resumed(owner: str = "second", *, at: float = 0) -> RunResumed:
    return RunResumed(
        recorded_at=NOON + timedelta(seconds=at), owner=owner, actor="ops", reason="its process died"
    )


def ended(outcome: Outcome = "answered", reason: str | None = None, call_key: str | None = None) -> Terminal:
    return Terminal(recorded_at=NOON, outcome=outcome, reason=reason, call_key=call_key, totals=Totals())


def numbered(events: Iterable[Event], first: int = 1) -> list[Recorded]:
    """Put events at consecutive versions of the one run."""
    return [Recorded(RUN_ID, version, event) for version, event in enumerate(events, first)]


def folded(*events: Event) -> RunState:
    """Fold events, after a `run_started` unless they begin with one."""
    if not events or not isinstance(events[0], RunStarted):
        events = (started(), *events)
    return fold(RUN_ID, numbered(events))


def refused(key: str, code: ErrorCode) -> tuple[str, ErrorCode]:
    """A call that gets this error without reaching its handler."""
    return key, code


@dataclass(frozen=True)
class Given:
    """A history; each method says what its consequence is."""

    events: tuple[Event, ...]
    agent: Agent = AGENT

    def next_action_is(self, expected: Action) -> None:
        assert next_action(self.agent, folded(*self.events)) == expected

    def asks_the_model(self) -> None:
        self.next_action_is(AskModel(request(self.agent, folded(*self.events))))

    def waits_for(self, *keys: str) -> None:
        """Keys of the calls that a person has to settle."""
        self.next_action_is(Wait(keys))

    def executes(self, *expected: str | tuple[str, ErrorCode]) -> None:
        """Keys of calls that run, `refused(...)` for those that don't, in order."""
        action = next_action(self.agent, folded(*self.events))
        assert isinstance(action, ExecuteCalls), action
        assert [
            call.request.call_key if isinstance(call, ReadyCall) else (call.request.call_key, call.code)
            for call in action.calls
        ] == list(expected)

    def refuses_with(self, key: str, code: ErrorCode, message: str) -> None:
        """The only call to be decided is refused, and this is what the model is told."""
        [call] = folded(*self.events).pending
        assert call.call_key == key
        self.next_action_is(ExecuteCalls((RefusedCall(call, code, message),)))

    def finishes(
        self,
        outcome: Outcome,
        reason: str | None = None,
        *,
        by: str | None = None,
        arguments: str | None = None,
    ) -> None:
        """`by`: key of the terminal call; `arguments`: its canonical JSON text. Verdicts: see `judges`."""
        calls = {call.call_key: call for call in folded(*self.events).pending}
        action = next_action(self.agent, folded(*self.events))
        assert isinstance(action, Finish)
        assert replace(action, provenance=None) == Finish(
            outcome, reason, calls[by] if by else None, arguments
        )

    def judges(self, **verdicts: str) -> None:
        """The run finishes, with these verdicts on the arguments of its terminal call."""
        action = next_action(self.agent, folded(*self.events))
        assert isinstance(action, Finish)
        assert action.provenance is not None
        assert action.provenance.verdicts == {f"/{name}": verdict for name, verdict in verdicts.items()}

    def is_corrupt(self, version: int, why: str) -> None:
        with pytest.raises(CorruptRun) as caught:
            folded(*self.events)
        assert (caught.value.run_id, caught.value.version, caught.value.why) == (RUN_ID, version, why)


def given(*events: Event, agent: Agent = AGENT) -> Given:
    return Given(events, agent)
