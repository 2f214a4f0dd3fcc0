"""The vocabulary of the workers' tests: runs are submitted, and a worker says what became of each."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tachograph.adapters.limiting import Gate
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.workers.crew import Crew, Worked
from tachograph.adapters.workers.queues import Pace
from tachograph.adapters.workers.schedules import Schedule
from tachograph.adapters.workers.stopping import Stop
from tachograph.adapters.workers.submitting import Submitted, submit
from tachograph.adapters.workers.worker import work
from tachograph.adapters.world import SystemClock
from tachograph.domain.admission import Limits
from tachograph.domain.agent import Agent
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import Event, Recorded
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.domain.tools import TerminalTool, Tool, tool

CONTEXT = TrustedContext(trace_id="trace-1", tenant="shop", actor="clerk")


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str


def ask(name: str) -> ModelReply:
    return ModelReply(calls=(AskedCall(name, json.dumps({"order_id": "#W1"})),), finish_reason="tool_calls")


LOOKS_UP = (ask("look_up"), ask("answer_user"))
LEAVES = (ask("leave"), ask("answer_user"))
SAYS_NOTHING: tuple[ModelReply, ...] = ()


@tool(effect="read")
def look_up(order: Order) -> dict[str, str]:
    """Look an order up."""
    return {"state": "delivered"}


@tool(effect="read")
def leave(order: Order) -> dict[str, str]:
    """End the process, if it can."""
    raise SystemExit(7)


@tool(effect="once")
def send(order: Order) -> dict[str, str]:
    """Send money."""
    return {"sent": order.order_id}


def clerk(*replies: ModelReply, name: str = "clerk", tools: tuple[Tool, ...] = (), **more: Any) -> Agent:
    return Agent(
        name=name,
        version="1",
        instructions="Help.",
        tools=(look_up, leave, send, *tools),
        terminals=(TerminalTool("answer_user", "Answer.", Order, "answered"),),
        model=ScriptedModel(replies),
        **more,
    )


class ClockAhead(SystemClock):
    """The machine's clock, put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


@dataclass
class Shop:
    """
    Args:
        agent: Whose runs are submitted and done, unless another is named.
    """

    store: EventStore
    agent: Agent = field(default_factory=lambda: clerk(*LOOKS_UP))
    clock: ClockAhead = field(default_factory=ClockAhead)
    done: list[Worked] = field(default_factory=list)

    def submits(self, agent: Agent | None = None, **more: Any) -> UUID:
        return self.submitted(agent, **more).run_id

    def submitted(self, agent: Agent | None = None, **more: Any) -> Submitted:
        return asyncio.run(submit(agent or self.agent, "Where is it?", CONTEXT, store=self.store, **more))

    def works(
        self,
        *agents: Agent,
        tries_max: int = 5,
        at_once: int = 8,
        schedules: Sequence[tuple[Schedule, Agent]] = (),
        limits: Limits | None = None,
    ) -> list[Worked]:
        """Let a worker do what is due, and return what became of it."""
        by_name = {agent.name: agent for agent in agents or (self.agent,)}
        done: list[Worked] = []
        gate = Gate(limits) if limits else None
        crew = Crew(self.store, by_name, done.append, tries_max=tries_max, gate=gate, clock=self.clock)

        async def until_empty() -> None:
            await work(crew, Pace(at_once=at_once, until_empty=True), Stop(), schedules)

        asyncio.run(until_empty())
        return done

    def history(self, stream: UUID) -> list[Event]:
        return [entry.event for entry in self.store.read(stream) if isinstance(entry, Recorded)]

    def kinds(self, run_id: UUID) -> list[str]:
        return [event.kind for event in self.history(run_id)]


def in_an_hour() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)
