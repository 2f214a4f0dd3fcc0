"""
The vocabulary of the loop's tests: given this agent and what the model says, this is what is recorded.

Time stands still but for a tick at each look, and ids are numbered, so that a run's bytes are the same
each time it is told.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import RunOutcome, run
from tachograph.adapters.world import SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import ModelError
from tachograph.domain.events import Effect, Event, FinishReason, Recorded, ToolCall, ToolError
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import AskedCall, EventStore, Ids, Model, ModelReply
from tachograph.domain.tools import TerminalTool, Tool, tool

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
CONTEXT = TrustedContext(trace_id="trace-1", tenant="shop", actor="clerk", customer="customer-7")


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


class TickingClock:
    """A second passes whenever somebody looks."""

    def __init__(self) -> None:
        self._looks = count()

    def now(self) -> datetime:
        return NOON + timedelta(seconds=next(self._looks))

    def monotonic(self) -> float:
        return 0.0


class NumberedIds:
    """The same run id and owners each time."""

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id
        self._owners = count(1)

    def run_id(self) -> UUID:
        return self._run_id

    def owner(self) -> str:
        return f"owner {next(self._owners)}"


class ListeningModel:
    """Remembers what it was asked, and has another model answer."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return await self._model.complete(request)


def ask(name: str, **arguments: Any) -> AskedCall:
    return AskedCall(name, json.dumps(arguments))


def turn(*calls: AskedCall, text: str | None = None, finish: FinishReason | None = None) -> ModelReply:
    return ModelReply(text=text, calls=calls, finish_reason=finish or ("tool_calls" if calls else "stop"))


DONE = turn(ask("answer_user", text="Done."))

TERMINALS = (
    TerminalTool("answer_user", "Answer the customer.", Answer, "answered"),
    TerminalTool("request_refund_approval", "Ask for a refund.", Order, "approval_requested"),
)


def agent(*tools: Tool, **settings: Any) -> Agent:
    return Agent(
        name="clerk",
        version="1",
        instructions="Help.",
        terminals=TERMINALS,
        tools=tools,
        **settings,
    )


def probe(make: Callable[[], Any], effect: Effect = "read", timeout_s: float = 60) -> Tool:
    """A tool named `probe` whose handler returns, or raises, what this makes."""

    def probe(arguments: Nothing) -> Any:
        """Probe."""
        return make()

    return tool(effect=effect, timeout_s=timeout_s)(probe)


def raising(error: BaseException) -> Callable[[], Any]:
    """Something that raises when it is called."""

    def make() -> Any:
        raise error

    return make


@dataclass
class Told:
    """A run as it went: how it ended, what is recorded, what the model was asked."""

    store: EventStore
    run_id: UUID
    requests: list[ModelRequest]
    outcome: RunOutcome | None = None
    raised: BaseException | None = None

    @property
    def events(self) -> list[Event]:
        """What the store has of the run."""
        entries = self.store.read(self.run_id)
        assert [entry.version for entry in entries] == list(range(1, len(entries) + 1))
        return [entry.event for entry in entries if isinstance(entry, Recorded)]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def results(self) -> list[ToolCall | ToolError]:
        """What came of the calls."""
        return [event for event in self.events if isinstance(event, (ToolCall, ToolError))]

    @property
    def output(self) -> str:
        """The recorded output of the one call, which succeeded."""
        [result] = self.results
        assert isinstance(result, ToolCall), result
        return result.output

    @property
    def error(self) -> ToolError:
        """The recorded error of the one call, which failed."""
        [result] = self.results
        assert isinstance(result, ToolError), result
        return result

    @property
    def shown(self) -> list[tuple[str, bool]]:
        """What the model was told of its calls in the last request, and whether as an error."""
        messages = self.requests[-1].messages
        return [(message.content, message.is_error) for message in messages if message.role == "tool"]


def tell(
    store: EventStore,
    agent: Agent,
    *replies: ModelReply | ModelError,
    run_id: UUID | None = None,
    input: str = "Help me.",
    context: TrustedContext = CONTEXT,
    **settings: Any,
) -> Told:
    """Run the agent on these replies to its end, or to what it raises."""
    run_id = run_id or SystemIds().run_id()
    model = ListeningModel(ScriptedModel(replies))
    told = Told(store, run_id, model.requests)
    ids: Ids = NumberedIds(run_id)
    try:
        told.outcome = asyncio.run(
            run(agent, input, context, model=model, store=store, clock=TickingClock(), ids=ids, **settings)
        )
    except BaseException as exc:
        told.raised = exc
    return told


def called(store: EventStore, tool: Tool, **settings: Any) -> Told:
    """Let the model call the tool once and then answer; the call must not have ended the run."""
    told = tell(store, agent(tool, **settings), turn(ask(tool.name)), DONE)
    assert told.raised is None, told.raised
    assert told.outcome is not None
    assert (told.outcome.outcome, told.outcome.steps) == ("answered", 2)
    assert [content for content, _ in told.shown] == [
        result.output if isinstance(result, ToolCall) else result.message for result in told.results
    ]
    return told


@dataclass
class Effects:
    """What handlers did to the world, as they did it."""

    done: list[str] = field(default_factory=list)

    def tool(self, name: str, effect: Effect) -> Tool:
        """A tool that does one thing and says so."""

        def handler(arguments: Order) -> dict[str, str]:
            """Do it."""
            self.done.append(f"{name} {arguments.order_id}")
            return {"done": arguments.order_id}

        return tool(effect=effect, name=name)(handler)


def count_of(things: Sequence[str]) -> dict[str, int]:
    """How often each thing happened."""
    return {thing: things.count(thing) for thing in dict.fromkeys(things)}
