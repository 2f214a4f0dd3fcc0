"""Tachograph: `run`, `resume` and `tachograph replay`; SQLite, WAL, synchronous=FULL; the tool is `once`."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from common import AMOUNT, TERMINALS, effect, forge
from pydantic import BaseModel

from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, resume, run, tool
from tachograph.domain.errors import RunInDoubt
from tachograph.domain.ports import AskedCall, ModelReply

FOLDER = Path(os.environ.get("SAFETY_FOLDER", "."))
DIES = os.environ.get("SAFETY_PROBE") == "crash"


class Order(BaseModel):
    """What every tool takes."""

    order_id: str = "#W1"


@tool(effect="read")
def order_read(order: Order) -> dict[str, str]:
    """Read an order."""
    effect(FOLDER, "order_read")
    return {"order_id": order.order_id, "amount": AMOUNT}


@tool(effect="once")
def refund_send(order: Order) -> dict[str, str]:
    """Send money."""
    effect(FOLDER, "refund_send", die=DIES)
    return {"sent": AMOUNT}


agent = Agent(
    name="safety",
    version="1",
    instructions="Refund.",
    tools=(order_read, refund_send),
    terminals=(
        TerminalTool("answer_user", "Answer.", Order, "answered"),
        *(TerminalTool(name, "End.", Order, "handed_off") for name in TERMINALS),
    ),
)


def _reply(*names: str) -> ModelReply:
    return ModelReply(calls=tuple(AskedCall(name, "{}") for name in names), finish_reason="tool_calls")


def _model() -> ScriptedModel:
    return ScriptedModel([_reply("order_read"), _reply("refund_send"), _reply("answer_user")])


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'store.db'}"


def _begin(folder: Path, model: ScriptedModel) -> Any:
    context = TrustedContext(trace_id="safety")
    return asyncio.run(run(agent, "Refund #W1.", context, model=model, store=_url(folder)))


def crash(folder: Path) -> None:
    """Die within the tool."""
    _begin(folder, _model())


def after(folder: Path) -> str:
    """Resume the run."""
    store = open_store(_url(folder))
    run_id = store.read_log(limit=1)[0].run_id
    try:
        return asyncio.run(resume(agent, run_id, model=_model(), store=store)).outcome
    except RunInDoubt:
        return "outcome_unknown: a person settles it"
    finally:
        store.close()


def two_terminals(folder: Path) -> str:
    """Let the model ask for two ends at once."""
    outcome = _begin(folder, ScriptedModel([_reply(*TERMINALS)]))
    return f"0 ({outcome.reason})"


def forged(folder: Path) -> str:
    """Run to the end, edit the amount, and replay."""
    outcome = _begin(folder, _model())
    assert forge(folder / "store.db"), "there was an amount to forge"
    command = [sys.executable, "-c", "from tachograph.cli import main; main()"]
    words = ["replay", str(outcome.run_id), "--agent", "tachograph_contestant:agent", "--json"]
    replayed = subprocess.run(
        [*command, *words, "--store", _url(folder)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    drift = json.loads(replayed.stdout)["drift"]
    return f"yes: {drift['kind']} differs" if replayed.returncode == 1 else "no"
