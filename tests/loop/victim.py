"""
The run that the crash tests kill: imported by the tests, and started by them as a process.

As a process it reads jobs from its input, one JSON object a line, does each in a process forked off for
it, and prints what became of that: `{"signal": 9}`, or what the job gave. A job is

    {"do": "run" | "resume" | "cancel" | "ask" | "grant" | "pick_up" | "many", "url": ..., "run_id": ...,
     "effects": FILE, "effect": what an approval may do again after a crash ("once"),
     "kill": {"append": 3, "when": "before" | "after"}          around the third append, or
             {"tool": NAME, "nth": 1, "when": "before" | "after"},   around that handler's effect
             {"after_s": 0.05},                                      wherever it is by then
     "hold": {"tool": NAME, "until": FILE},      the handler, after its effect, until the file is there
     "interrupt": NAME}                          Ctrl-C while that handler runs, after its effect

`ask` runs to the request for an approval, `grant` decides on it and carries out its effect, `pick_up` goes
on with that; `many` has eight runs at once, whose ids begin with the given one.

Everything that costs or changes something leaves a line in the effects file: calls of the model and
effects of the tools, the latter with their idempotency keys.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tachograph.adapters.cancelling import cancel
from tachograph.adapters.deciding import Office, answer
from tachograph.adapters.effecting import carry_out, pick_up
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import RunOutcome, resume, run
from tachograph.adapters.stores import postgres, recorded, sqlite  # noqa: F401  # before the fork
from tachograph.adapters.stores.opening import open_store
from tachograph.adapters.world import SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.answering import Approver
from tachograph.domain.approvals.definition import Approval, approval_id_of
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import TachographError
from tachograph.domain.events import Effect, Entry, Event
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import Append, AskedCall, EventStore, ModelReply
from tachograph.domain.tools import TerminalTool, Tool, ToolContext, tool

When = Literal["before", "after"]
Happening = Callable[[str, When], None]
CONTEXT = TrustedContext(trace_id="trace-1", tenant="shop", actor="clerk", customer="customer-7")
TOOLS: dict[str, Effect] = {"order_read": "read", "refund_preview": "idempotent", "money_send": "once"}


class Kill(TypedDict, total=False):
    """Where a process dies."""

    append: int
    tool: str
    nth: int
    when: When
    after_s: float


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


def _turn(*names: str) -> ModelReply:
    calls = tuple(AskedCall(name, '{"order_id":"#W1"}', f"id-{name}") for name in names)
    return ModelReply(text="Next.", calls=calls, finish_reason="tool_calls")


SCRIPT = (
    _turn("order_read"),
    _turn("refund_preview", "order_read"),
    _turn("money_send"),
    ModelReply(calls=(AskedCall("answer_user", '{"text":"Sent."}'),), finish_reason="tool_calls"),
)
KINDS = (
    "run_started",
    *("model_turn", "tool_call"),
    *("model_turn", "tool_started", "tool_call", "tool_call"),
    *("model_turn", "tool_started", "tool_call"),
    *("model_turn", "terminal"),
)


ASKING = (_turn("order_read"), ModelReply(calls=(AskedCall("request_refund", '{"order_id":"#W1"}'),)))
MANY = 8


class World:
    """
    What the run touches: a file of effects, and something that may happen around each of them.

    Args:
        effect: What a crash may do with the effect of an approval.
    """

    def __init__(
        self, effects: Path, happening: Happening = lambda name, when: None, effect: Effect = "once"
    ) -> None:
        self._effects = effects
        self._happening = happening
        self._effect = effect

    def effect(self, name: str, note: str) -> None:
        """Change the world, in one write that survives the process."""
        self._happening(name, "before")
        with self._effects.open("a") as file:
            file.write(f"{name} {note}\n")
        self._happening(name, "after")

    def agent(self) -> Agent:
        """The agent whose tools change this world."""
        return Agent(
            name="refunder",
            version="1",
            instructions="Refund.",
            terminals=(
                TerminalTool("answer_user", "Answer.", Answer, "answered"),
                TerminalTool(
                    "request_refund",
                    "Ask for it.",
                    Order,
                    "approval_requested",
                    Approval(effect=self._tool("refund_execute", self._effect)),
                ),
            ),
            tools=tuple(self._tool(name, effect) for name, effect in TOOLS.items()),
        )

    def model(self, script: Sequence[ModelReply] = SCRIPT) -> "CountedModel":
        """The model whose calls are counted in this world."""
        return CountedModel(self, script)

    def _tool(self, name: str, effect: Effect) -> Tool:
        def handler(arguments: Order, context: ToolContext) -> dict[str, str]:
            """Do it."""
            self.effect(name, f"{context.call_key} {context.idempotency_key} {context.run_id}")
            return {"order_id": arguments.order_id, "done_by": "handler"}

        return tool(effect=effect, name=name)(handler)


class CountedModel:
    """A scripted model; each call of it is an effect, since it costs money."""

    def __init__(self, world: World, script: Sequence[ModelReply]) -> None:
        self._world = world
        self._script = ScriptedModel(script)

    async def complete(self, request: ModelRequest) -> ModelReply:
        check_answered(request)
        self._world.effect("model", str(request.step))
        return await self._script.complete(request)


def check_answered(request: ModelRequest) -> None:
    """Providers refuse a request in which a call has no answer, or two, or one in the wrong place."""
    waiting: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            assert message.call_key in waiting, f"an answer to {message.call_key}, which nobody asked"
            waiting.remove(message.call_key)
        else:
            assert not waiting, f"no answer to {waiting}"
            waiting = [call.call_key for call in message.calls]
    assert not waiting, f"no answer to {waiting}"


class CrashingStore:
    """Another store, and a crash before or after its n-th append."""

    def __init__(self, store: EventStore, append: int, when: When, crash: Callable[[], None]) -> None:
        self._store = store
        self._append, self._when, self._crash = append, when, crash
        self.appends = 0

    async def append(self, run_id: UUID, events: Sequence[Event], *, expected_version: int) -> int:
        await self.append_together([Append(run_id, events, expected_version)])
        return expected_version + len(events)

    async def append_together(self, appends: Sequence[Append]) -> None:
        self.appends += 1
        here = self.appends == self._append
        if here and self._when == "before":
            self._crash()
        await self._store.append_together(appends)
        if here and self._when == "after":
            self._crash()

    def read(self, run_id: UUID, *, up_to: int | None = None) -> list[Entry]:
        return self._store.read(run_id, up_to=up_to)

    def read_log(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        return self._store.read_log(after=after, limit=limit)

    def head(self) -> int:
        return self._store.head()

    def close(self) -> None:
        self._store.close()


class FixedId(SystemIds):
    """Owners as always, and a run id that the test knows."""

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id

    def run_id(self) -> UUID:
        return self._run_id


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def happening(kill: Kill | None, hold: dict[str, str] | None, interrupt: str | None) -> Happening:
    """What happens around effects: a death, a long wait, Ctrl-C."""
    seen: Counter[tuple[str, When]] = Counter()
    lock = threading.Lock()

    def happen(name: str, when: When) -> None:
        with lock:
            seen[name, when] += 1
            nth = seen[name, when]
        if kill and (kill.get("tool"), kill.get("nth", 1), kill.get("when")) == (name, nth, when):
            die()
        if when == "before":
            return
        if name == interrupt:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(30)  # The process ends meanwhile.
        if hold and hold["tool"] == name:
            deadline = time.monotonic() + 30
            while not Path(hold["until"]).exists() and time.monotonic() < deadline:
                time.sleep(0.005)

    return happen


async def begin(world: World, store: EventStore, run_id: UUID, script: Sequence[ModelReply]) -> RunOutcome:
    """Start a run."""
    return await run(
        world.agent(),
        "Refund order #W1.",
        CONTEXT,
        model=world.model(script),
        store=store,
        ids=FixedId(run_id),
    )


async def decide(what: str, agent: Agent, store: EventStore, approval_id: UUID) -> dict[str, Any]:
    """Grant an approval, or go on with its effect."""
    office = Office(store)
    if what == "grant":
        state = await answer(office, agent, approval_id, Approver("ann"), "grant", "It fits.")
        state = await carry_out(office, agent, state)
    else:
        state = await pick_up(office, agent, approval_id)
    return {"status": state.status, "execution": state.execution}


async def do(job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in this process."""
    kill, run_id = job.get("kill"), UUID(job["run_id"])
    happens = happening(kill, job.get("hold"), job.get("interrupt"))
    world = World(Path(job["effects"]), happens, job.get("effect", "once"))
    store: EventStore = open_store(job["url"])
    if kill and "after_s" in kill:
        threading.Timer(kill["after_s"], die).start()
    if kill and "append" in kill:
        store = CrashingStore(store, kill["append"], kill["when"], die)
    try:
        if job["do"] in ("grant", "pick_up"):
            return await decide(job["do"], world.agent(), store, approval_id_of(run_id))
        if job["do"] == "many":
            each = (run_id.int + place for place in range(MANY))
            done = await asyncio.gather(*(begin(world, store, UUID(int=one), SCRIPT) for one in each))
            return {"outcomes": [outcome.outcome for outcome in done]}
        if job["do"] in ("run", "ask"):
            outcome = await begin(world, store, run_id, SCRIPT if job["do"] == "run" else ASKING)
        elif job["do"] == "resume":
            outcome = await resume(world.agent(), run_id, model=world.model(), store=store, actor="ops")
        else:
            outcome = await cancel(run_id, store=store, actor="ops")
    except TachographError as exc:
        return {"error": type(exc).__name__}
    finally:
        store.close()
    return {"outcome": outcome.outcome, "reason": outcome.reason}


def in_child(line: str) -> dict[str, Any]:
    """Do a job in a process of its own and say what became of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            said = json.dumps(asyncio.run(do(json.loads(line))))
        except BaseException as exc:
            said = json.dumps({"error": type(exc).__name__, "text": str(exc)})
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return {"signal": os.WTERMSIG(status)}
    result: dict[str, Any] = json.loads(said) if said else {"exit": os.WEXITSTATUS(status)}
    return result


if __name__ == "__main__":
    for job_line in sys.stdin:
        print(json.dumps(in_child(job_line)), flush=True)
