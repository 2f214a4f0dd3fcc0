"""A desk where refunds are asked for and decided: given an agent, runs that ask, and people who answer."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tachograph.adapters import deciding, effecting
from tachograph.adapters.approving import load_approval
from tachograph.adapters.deciding import Office
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import run
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.answering import Answer, Approver
from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.definition import Approval, approval_id_of
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import Effect, Event, Recorded
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.domain.tools import TerminalTool, Tool, ToolContext, tool

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
CONTEXT = TrustedContext(trace_id="trace-1", tenant="shop", actor="clerk", customer="customer-7")
ANN, BOB = Approver("ann"), Approver("bob")
MOST = Decimal("100.00")


class Refund(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    order_id: str
    amount: Decimal


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0

    def pass_(self, **time: float) -> None:
        self.at += timedelta(**time)


def limit(asked: Refund, others: Sequence[Refund]) -> str | None:
    left = MOST - sum((other.amount for other in others), Decimal(0))
    return None if asked.amount <= left else f"{asked.amount} is more than {left}"


def paying(done: list[str], effect: Effect = "idempotent", fails: bool = False) -> Tool:
    """A tool that pays, and says under which key."""

    @tool(effect=effect)
    def refund_execute(arguments: Refund, context: ToolContext) -> dict[str, str]:
        """Pay."""
        done.append(f"{arguments.order_id} {arguments.amount} {context.idempotency_key}")
        if fails:
            raise RuntimeError("the bank is closed")
        return {"paid": str(arguments.amount)}

    return refund_execute


@dataclass
class Desk:
    """
    Args:
        done: What was paid.
    """

    store: EventStore
    approval: Approval | None = None
    done: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    @property
    def agent(self) -> Agent:
        asks = self.approval or Approval(
            effect=paying(self.done), subject=lambda one: one.order_id, limit=limit
        )
        return Agent(
            name="clerk",
            version="1",
            instructions="Help.",
            terminals=(
                TerminalTool("request_refund", "Ask.", Refund, "approval_requested", asks),
                TerminalTool("answer_user", "Answer.", Refund, "answered"),
            ),
        )

    @property
    def office(self) -> Office:
        return Office(self.store, self.clock)

    def asks(self, amount: str = "49.90", order: str = "#W1") -> UUID:
        """Let a run ask for a refund, and return the approval's id."""
        call = AskedCall("request_refund", json.dumps({"order_id": order, "amount": amount}))
        outcome = asyncio.run(
            run(
                self.agent,
                "Money back.",
                CONTEXT,
                model=ScriptedModel([ModelReply(calls=(call,), finish_reason="tool_calls")]),
                store=self.store,
                clock=self.clock,
            )
        )
        assert outcome.outcome == "approval_requested", outcome
        return approval_id_of(outcome.run_id)

    def answers(
        self, approval_id: UUID, by: Approver = ANN, said: Answer = "grant", **more: Any
    ) -> ApprovalState:
        """Let somebody answer, and carry out what follows."""

        async def work() -> ApprovalState:
            state = await deciding.answer(self.office, self.agent, approval_id, by, said, "It fits.", **more)
            return await effecting.carry_out(self.office, self.agent, state) if state.started else state

        return asyncio.run(work())

    def only_answers(self, approval_id: UUID, by: Approver = ANN) -> ApprovalState:
        """Let somebody grant, and the process die right after that."""
        return asyncio.run(deciding.answer(self.office, self.agent, approval_id, by, "grant", "It fits."))

    def picks_up(self, approval_id: UUID) -> ApprovalState:
        return asyncio.run(effecting.pick_up(self.office, self.agent, approval_id))

    def state(self, approval_id: UUID) -> ApprovalState:
        return load_approval(self.store, approval_id)

    def history(self, stream: UUID) -> list[Event]:
        return [entry.event for entry in self.store.read(stream) if isinstance(entry, Recorded)]

    def kinds(self, approval_id: UUID) -> list[str]:
        return [event.kind.removeprefix("approval_") for event in self.history(approval_id)]
