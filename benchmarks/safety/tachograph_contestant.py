"""
Tachograph: `run`, `resume`, the event log, and `tachograph replay`; SQLite with WAL and synchronous=FULL.

The tool that sends money is `idempotent` in one kill and `once` in the other. An end that the loop accepts
is a `terminal` event that names its tool. The run's amount is declared to come from the tool that read it,
with the evidence gate on; `undeclared`, it is a plain field.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from common import AMOUNT, ANSWER, READ, SEND, STEPS, TERMINALS, database, effect, effects
from pydantic import BaseModel

from tachograph import Agent, From, ScriptedModel, TerminalTool, TrustedContext, open_store, resume, run, tool
from tachograph.adapters.loading import load
from tachograph.domain.errors import RunInDoubt
from tachograph.domain.events import Event, Recorded, Terminal, ToolError
from tachograph.domain.ports import AskedCall, EventStore, ModelReply


class Refund(BaseModel):
    """What every tool takes."""

    amount: str


class Answer(BaseModel):
    """What the run ends with."""

    amount: Annotated[str, From(READ, "/amount")]


def _agent(folder: Path, *, dies: bool = False, once: bool = False, undeclared: bool = False) -> Agent:
    @tool(effect="read", name=READ)
    def order_read(refund: Refund) -> dict[str, str]:
        """Read the order."""
        effect(folder, READ)
        return {"amount": AMOUNT}

    @tool(effect="once" if once else "idempotent", name=SEND)
    def refund_send(refund: Refund) -> dict[str, str]:
        """Send the money."""
        effect(folder, SEND, dies=dies)
        return {"sent": refund.amount}

    approval, handoff = TERMINALS
    return Agent(
        name="safety",
        version="1",
        instructions="Refund.",
        evidence_gate=not undeclared,
        tools=(order_read, refund_send),
        terminals=(
            TerminalTool(ANSWER, "Answer.", Refund if undeclared else Answer, "answered"),
            TerminalTool(approval, "Ask for an approval.", Refund, "approval_requested"),
            TerminalTool(handoff, "Hand off.", Refund, "handed_off"),
        ),
    )


# The agents that `replay` looks at; it calls no handler.
agent = _agent(Path())
undeclared_agent = _agent(Path(), undeclared=True)


def begin(folder: Path, *, dies: bool = False, once: bool = False, undeclared: bool = False) -> None:
    """Start the run."""
    _run(_agent(folder, dies=dies, once=once, undeclared=undeclared), folder, [[name] for name in STEPS])


def go_on(folder: Path, *, once: bool = False) -> str:
    """Resume the run; if it waits, give the code that its record has for the call."""
    model = _model([[name] for name in STEPS])
    store = open_store(_url(folder))
    again = _agent(folder, once=once)
    try:
        return asyncio.run(resume(again, _run_id(store), model=model, store=store)).outcome
    except RunInDoubt:
        codes = [event.code for event in _events(folder) if isinstance(event, ToolError)]
        return f"{', '.join(codes)} recorded, waits for a person"
    finally:
        store.close()


def two_ends(folder: Path) -> str:
    """Let the model ask for two ends in one answer."""
    outcome = _run(_agent(folder), folder, [list(TERMINALS)])
    accepted = [event for event in _events(folder) if isinstance(event, Terminal) and event.tool]
    return f"{len(effects(folder)) + len(accepted)}: {outcome.outcome}, `{outcome.reason}`"


def read(folder: Path) -> str:
    """Load the run, and give the amount that it ended with."""
    store = open_store(_url(folder))
    try:
        terminal = load(store, _run_id(store)).terminal
    finally:
        store.close()
    assert terminal is not None
    return str(json.loads(terminal.arguments or "{}")["amount"])


def check(folder: Path, *, undeclared: bool = False) -> str | None:
    """Replay the run; name what differs, None if nothing does."""
    store = open_store(_url(folder))
    run_id = _run_id(store)
    store.close()
    name = "undeclared_agent" if undeclared else "agent"
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from tachograph.cli import main; main()", "replay", str(run_id)),
            *("--agent", f"{Path(__file__).stem}:{name}", "--store", _url(folder), "--json"),
        ],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    if done.returncode == 2:
        return "replay not there"
    if done.returncode == 0:
        return None
    assert done.returncode == 1, done.stderr
    drift = json.loads(done.stdout)["drift"]
    return f"`{drift['kind']}` drift"


def _run(running: Agent, folder: Path, answers: list[list[str]]) -> Any:
    context = TrustedContext(trace_id="safety")
    return asyncio.run(run(running, "Refund #W1.", context, model=_model(answers), store=_url(folder)))


def _model(answers: list[list[str]]) -> ScriptedModel:
    arguments = json.dumps({"amount": AMOUNT})
    return ScriptedModel(
        ModelReply(calls=tuple(AskedCall(name, arguments) for name in names), finish_reason="tool_calls")
        for names in answers
    )


def _events(folder: Path) -> list[Event]:
    store = open_store(_url(folder))
    try:
        return [entry.event for entry in store.read_log() if isinstance(entry, Recorded)]
    finally:
        store.close()


def _run_id(store: EventStore) -> UUID:
    return store.read_log(limit=1)[0].run_id


def _url(folder: Path) -> str:
    return f"sqlite:///{database(folder)}"
