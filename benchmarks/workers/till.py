"""The agent of the benchmark: it looks something up, charges a card once, and answers."""

import os
import time
from pathlib import Path

from pydantic import BaseModel

from tachograph import Agent, ScriptedModel, TerminalTool, ToolContext, tool
from tachograph.domain.ports import AskedCall, ModelReply

CHARGES = Path(os.environ.get("CHARGES", "charges.txt"))
WORK_S = float(os.environ.get("WORK_S", "0.05"))


class Order(BaseModel):
    """What every tool takes."""

    order_id: str


class Answer(BaseModel):
    """What is said in the end."""

    text: str


@tool(effect="read")
def look_up(order: Order) -> dict[str, object]:
    """Look an order up."""
    time.sleep(WORK_S)
    return {"order_id": order.order_id, "open": True}


@tool(effect="once")
def charge(order: Order, call: ToolContext) -> dict[str, object]:
    """Charge the card: a line in a file, which outlives whoever wrote it."""
    time.sleep(WORK_S / 2)
    with CHARGES.open("a") as file:
        file.write(f"{call.run_id}\n")
    time.sleep(WORK_S / 2)
    return {"charged": order.order_id}


def _turn(name: str, arguments: str) -> ModelReply:
    return ModelReply(calls=(AskedCall(name, arguments),), finish_reason="tool_calls")


agent = Agent(
    name="till",
    version="1",
    instructions="Charge what is open.",
    tools=(look_up, charge),
    terminals=(TerminalTool("answer_user", "Answer.", Answer, "answered"),),
    model=ScriptedModel(
        [
            _turn("look_up", '{"order_id": "#7"}'),
            _turn("charge", '{"order_id": "#7"}'),
            _turn("answer_user", '{"text": "Charged."}'),
        ]
    ),
)
