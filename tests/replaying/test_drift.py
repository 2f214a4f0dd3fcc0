"""Given a recorded run, when the code has changed, then the first divergence of each kind is named."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import pytest
from hypothesis import given as over
from hypothesis import settings
from pydantic import AfterValidator, BaseModel, ConfigDict

from tachograph import open_store
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import run
from tachograph.domain.agent import Agent
from tachograph.domain.budget import Budget
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import Entry, Event, Recorded, Terminal, ToolCall
from tachograph.domain.ports import AskedCall, ModelReply
from tachograph.domain.replaying import Drift, replay
from tachograph.domain.tools import TerminalTool, Tool, ToolContext, tool
from tachograph.domain.why.annotations import Evidence, From
from tachograph.tests.domain.histories import histories
from tachograph.tests.domain.shop import AGENT
from tachograph.tests.domain.story import numbered

CONTEXT = TrustedContext(trace_id="trace-1", actor="clerk")


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: Annotated[str, Evidence()]


class Refund(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: Annotated[str, Evidence()]
    amount: Annotated[str, From("order_read", "/total")]


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


def reading(model: type[BaseModel] = Order, description: str = "Read an order.") -> Tool:
    def handler(arguments: Any) -> dict[str, str]:
        return {"order_id": arguments.order_id, "total": "49.90"}

    handler.__annotations__ = {"arguments": model}
    return replace(tool(effect="read", name="order_read")(handler), description=description)


@tool(effect="idempotent")
def note_add(arguments: Order, context: ToolContext) -> str:
    """Note it."""
    return context.idempotency_key


CLERK = Agent(
    name="reader",
    version="1",
    instructions="Help.",
    tools=(reading(), note_add),
    terminals=(
        TerminalTool("request_refund", "Ask for it.", Refund, "handed_off"),
        TerminalTool("answer_user", "Answer.", Answer, "answered"),
    ),
    evidence_gate=True,
)


def call(name: str, **arguments: Any) -> ModelReply:
    return ModelReply(calls=(AskedCall(name, json.dumps(arguments)),), finish_reason="tool_calls")


SCRIPT = (
    call("order_read", order_id="#W1"),
    call("note_add", order_id="#W1"),
    call("order_read", order="#W1"),
    call("request_refund", order_id="#W1", amount="49.90"),
)


def recorded(agent: Agent = CLERK, script: Sequence[ModelReply] = SCRIPT) -> list[Entry]:
    store = open_store("memory:")
    outcome = asyncio.run(
        run(agent, "Money back for #W1.", CONTEXT, model=ScriptedModel(list(script)), store=store)
    )
    return store.read(outcome.run_id)


def kinds(agent: Agent, entries: Sequence[Entry] | None = None) -> list[tuple[str, int]]:
    return [(drift.kind, drift.version) for drift in replay(agent, entries or recorded())]


def test_unchanged_code_drifts_nowhere() -> None:
    entries = recorded()
    assert [entry.kind for entry in entries][-1] == "terminal"
    assert replay(CLERK, entries) == ()


@settings(max_examples=40, deadline=None)
@over(histories())
def test_no_history_that_the_loop_can_make_drifts(events: list[Event]) -> None:
    """With today's budget the run may end elsewhere, so each is replayed with its own."""
    agent = replace(AGENT, budget=events[0].budget)  # type: ignore[union-attr]  # a run_started
    assert {drift.kind for drift in replay(agent, numbered(events))} <= {"definition"}


class Upper(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: Annotated[str, Evidence(), AfterValidator(str.upper)]


class Stricter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: Annotated[str, Evidence()]
    reason: str


def refuse(value: str) -> str:
    if value == "#W1":
        raise ValueError("not this one")
    return value


class Refusing(BaseModel):
    model_config = ConfigDict(extra="forbid", title="Order")

    order_id: Annotated[str, Evidence(), AfterValidator(refuse)]


def ending(**changed: Any) -> Agent:
    asks, answers = CLERK.terminals
    return replace(CLERK, terminals=(replace(asks, **changed), answers))


@pytest.mark.parametrize(
    ("name", "today", "expected"),
    [
        ("a prompt word", replace(CLERK, instructions="Help!"), ["request"]),
        ("a tool description", replace(CLERK, tools=(reading(description="Read."), note_add)), ["request"]),
        ("a tool less", replace(CLERK, tools=(reading(),)), ["request", "validation"]),
        ("another model", replace(CLERK, model_name="gpt-6"), ["request"]),
        ("shorter outputs", replace(CLERK, shown_max=10), ["request"]),
        ("a stricter schema", replace(CLERK, tools=(reading(Stricter), note_add)), ["request", "validation"]),
        ("a validator that refuses", replace(CLERK, tools=(reading(Refusing), note_add)), ["validation"]),
        ("a tool that is read alone now", replace(CLERK, tools=(reading(), replace(note_add, effect="read"))),
         ["request", "validation"]),
        ("a smaller budget", replace(CLERK, budget=Budget(max_steps=2)), ["outcome"]),
        ("a larger budget", replace(CLERK, budget=Budget(max_steps=9)), ["definition"]),
        ("another terminal mapping", ending(outcome="blocked"), ["request", "outcome"]),
        ("the gate off", replace(CLERK, evidence_gate=False), ["definition"]),
        ("a new version", replace(CLERK, version="2"), ["definition"]),
    ],
)  # fmt: skip
def test_a_change_is_named_by_its_kind(name: str, today: Agent, expected: list[str]) -> None:
    assert [kind for kind, _ in kinds(today)] == expected, name


def test_a_request_says_what_of_it_changed() -> None:
    entries = recorded()

    def why(today: Agent) -> str:
        return replay(today, entries)[0].why

    assert why(replace(CLERK, instructions="Help!")) == "the instructions, or a setting of the agent, differ"
    assert why(replace(CLERK, tools=(reading(description="Read."), note_add))) == (
        "the tools that are offered differ"
    )
    assert why(replace(CLERK, model_name="gpt-6")) == "another model is asked"


def forged(entries: list[Entry], version: int, change: Callable[[Any], Any]) -> list[Entry]:
    entry = entries[version - 1]
    assert isinstance(entry, Recorded)
    return [*entries[: version - 1], entry._replace(event=change(entry.event)), *entries[version:]]


class TestForgery:
    """An event that somebody edited no longer follows from those before it."""

    def at(self, entries: list[Entry], kind: str) -> int:
        return next(entry.version for entry in entries if entry.kind == kind)

    def test_the_amount_of_the_terminal(self) -> None:
        entries = recorded()
        forgery = forged(
            entries,
            len(entries),
            lambda event: event.model_copy(update={"arguments": event.arguments.replace("49.90", "499.90")}),
        )
        [drift] = replay(CLERK, forgery)
        assert (drift.kind, drift.version) == ("outcome", len(entries))
        assert "499.90" in drift.actual
        assert "499.90" not in drift.expected

    def test_the_output_that_the_amount_came_from(self) -> None:
        entries = recorded()
        version = self.at(entries, "tool_call")
        forgery = forged(
            entries, version, lambda event: event.model_copy(update={"output": '{"total":"499.90"}'})
        )
        assert [drift.kind for drift in replay(CLERK, forgery)] == ["request", "validation"]

    def test_the_arguments_of_a_call(self) -> None:
        entries = recorded()
        version = self.at(entries, "tool_call")
        forgery = forged(
            entries, version, lambda event: event.model_copy(update={"arguments": '{"order_id":"#W2"}'})
        )
        assert kinds(CLERK, forgery) == [("validation", version)]

    def test_an_event_that_can_not_follow(self) -> None:
        entries = recorded()
        renumbered = [
            entry._replace(version=place) for place, entry in enumerate([entries[0], *entries[2:]], start=1)
        ]
        assert kinds(CLERK, renumbered)[-1] == ("record", 2)

    def test_a_terminal_too_early(self) -> None:
        entries = recorded()
        end = entries[-1]
        assert isinstance(end, Recorded)
        assert isinstance(end.event, Terminal)
        early = [*entries[:3], end._replace(version=4)]
        assert [kind for kind, _ in kinds(CLERK, early)] == ["outcome"]

    def test_a_refused_call_that_is_recorded_as_done(self) -> None:
        entries = recorded()
        version = self.at(entries, "tool_error")
        done = ToolCall(
            recorded_at=entries[-1].event.recorded_at,  # type: ignore[union-attr]  # it is readable
            call_key="3.1",
            name="order_read",
            arguments="{}",
            output="{}",
            duration_ms=0,
        )
        forgery = forged(entries, version, lambda event: done)
        assert ("validation", version) in kinds(CLERK, forgery)


def test_a_drift_shows_both_events() -> None:
    [drift] = replay(replace(CLERK, instructions="Help!"), recorded())
    assert isinstance(drift, Drift)
    assert json.loads(drift.expected).keys() == json.loads(drift.actual).keys()
    differing = {
        name for name, value in json.loads(drift.actual).items() if json.loads(drift.expected)[name] != value
    }
    assert differing == {"request_digest"}
