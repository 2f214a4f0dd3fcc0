"""The loop step by step, on a store in memory: what it decides, what comes of it, how it reacts to errors."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tachograph.adapters.loop import World, answer, ask, finish, record
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import Scenario, load_scenario
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.commands import FINE, NOT_DONE
from tachograph.adapters.screen.disturbing import Alteration, Disturbance, DisturbedModel, disturbed
from tachograph.adapters.screen.keyboard import keyboard
from tachograph.adapters.screen.output import LiveScreen, text
from tachograph.adapters.screen.story import Story
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.agent import Agent
from tachograph.domain.calls import ReadyCall
from tachograph.domain.errors import ModelError
from tachograph.domain.events import Recorded
from tachograph.domain.next_action import Action, AskModel, ExecuteCalls, Finish, next_action
from tachograph.domain.origins import Message
from tachograph.domain.recording import run_start
from tachograph.domain.run import RunState, fold

KEYS_HELP: Final = "Enter step · inject: u unknown tool, i argument, f failure, t terminal · q quit"
_ALTERATIONS: Final[Mapping[str, Alteration]] = {
    "u": "unknown tool",
    "i": "invalid argument",
    "t": "second terminal",
}

_ESCAPE_SEQUENCES: Final = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|O.|.)?")  # Arrows and the like.
_STOP: Final = ("\x03", "\x04")

Keys = Callable[[], str]


def run(scenario: str, *, with_keys: bool, as_json: bool) -> int:
    """Step through a scenario. Nothing outside is called, and nothing is kept."""
    loaded = load_scenario(scenario)
    if not with_keys:
        return _Simulation(loaded, None, as_json=as_json).run()
    with keyboard() as keys:
        return _Simulation(loaded, keys, as_json=as_json).run()


class _Simulation:
    def __init__(self, scenario: Scenario, keys: Keys | None, *, as_json: bool) -> None:
        self._keys = keys
        self._typed: list[str] = []
        self._as_json = as_json
        self._scenario = scenario
        self._screen = LiveScreen()
        self._story = Story(self._screen, refund_agent.terminals_by_name)
        self._disturbance = Disturbance()
        self._agent = disturbed(refund_agent, self._disturbance)
        model = DisturbedModel(ScriptedModel(scenario.replies), self._agent, self._disturbance)
        self._world = World(MemoryEventStore(), model)

    def run(self) -> int:
        """Step through the run; keys are waited for outside of the event loop, so Ctrl-C works."""
        with asyncio.Runner() as runner:
            return self._steps(runner)

    def _steps(self, runner: asyncio.Runner) -> int:
        run = runner.run(self._begin())
        step = 0
        while not run.ended:
            step += 1
            action = next_action(self._agent, run)
            self._decided(step, action, run)
            if not self._wait():
                self._print("", text("Stopped. Nothing was kept."))
                return FINE
            before = run.version
            try:
                run = runner.run(self._make(action, run))
            except ModelError as exc:
                self._print("", text(f"The model gave no answer: {exc}", "red"))
                self._print(text("A real run would stay open here, to be resumed."))
                return NOT_DONE
            self._recorded(step, action, run, before)
        count = f"{run.version} events, {run.totals.steps} turns, {run.totals.tool_errors} tool errors"
        self._print(
            "", text(f"The run has ended: {count}. It was in memory alone; nothing was kept.", "bold")
        )
        return FINE

    async def _begin(self) -> RunState:
        """Record the start of a run."""
        scenario, world = self._scenario, self._world
        run_id = world.ids.run_id()
        said = (Message(role="user", content=scenario.input),)
        started = run_start(self._agent, scenario.context, said, world.clock.now(), world.ids.owner())
        await world.store.append(run_id, [started], expected_version=0)
        self._print(text(scenario.title, "bold"), text(scenario.shows, "dim"), "")
        if not self._as_json:
            self._story.tell(started)
        return fold(run_id, world.store.read(run_id))

    async def _make(self, action: Action, run: RunState) -> RunState:
        """Make one step, as the loop does."""
        if isinstance(action, AskModel):
            return await record(self._world, run, await ask(action.request, self._world))
        if isinstance(action, ExecuteCalls):
            for call in action.calls:
                run = await answer(call, self._agent, run, self._world)
            return run
        assert isinstance(action, Finish), "no process dies in a simulation, so nothing is in doubt"
        return await finish(action, self._agent, run, self._world)

    def _wait(self) -> bool:
        """Wait for Enter, taking injections. False: the user wants to stop."""
        if self._keys is None:
            return True
        self._print(text(KEYS_HELP, "dim"))
        while True:
            if not self._typed:
                self._typed = list(_ESCAPE_SEQUENCES.sub("", self._keys()))
                continue
            key = self._typed.pop(0).lower()
            if key in ("\r", "\n"):
                return True
            if key in ("q", *_STOP):
                return False
            if self._inject(key):
                self._print(text(f"Injected: {_armed(self._disturbance)}", "magenta"))

    def _inject(self, key: str) -> bool:
        """Take an injection, or take it back. False: the key stands for none."""
        wanted = _ALTERATIONS.get(key)
        if wanted is not None:
            self._disturbance.next_reply = None if self._disturbance.next_reply == wanted else wanted
        elif key == "f":
            self._disturbance.next_call_fails = not self._disturbance.next_call_fails
        return wanted is not None or key == "f"

    def _decided(self, step: int, action: Action, run: RunState) -> None:
        said, *more = _decision(action, run, self._agent)
        self._print("", text(f"step {step}    {said}", "bold magenta"))
        for line in more:
            self._print(text(f"          {line}"))

    def _recorded(self, step: int, action: Action, run: RunState, before: int) -> None:
        entries = self._world.store.read(run.run_id)[before:]
        if self._as_json:
            self._screen.lines([_step_json(step, action, entries)])
            return
        for entry in entries:
            if isinstance(entry, Recorded):
                self._story.tell(entry.event)
        numbered = ", ".join(
            f"{entry.version} {entry.event.kind}" for entry in entries if isinstance(entry, Recorded)
        )
        self._print(text(f"          recorded: {numbered}", "dim"))

    def _print(self, *parts: Any) -> None:
        if not self._as_json:
            self._screen.print(*parts)


def _armed(disturbance: Disturbance) -> str:
    """Say what will go wrong next."""
    armed = []
    if disturbance.next_reply is not None:
        armed.append(f"the model's next reply has an error ({disturbance.next_reply})")
    if disturbance.next_call_fails:
        armed.append("the next tool call fails")
    return " and ".join(armed) or "nothing any more"


def _decision(action: Action, run: RunState, agent: Agent) -> list[str]:
    """Say what the loop has decided, first in a line, then in detail."""
    if isinstance(action, AskModel):
        request = action.request
        terminals = sum(offer.name in agent.terminals_by_name for offer in request.tools)
        return [
            f"ask the model for turn {request.step} of at most {run.started.budget.max_steps}",
            f"Messages: {len(request.messages)}. Tools: {len(request.tools)}; {terminals} end the run.",
        ]
    if isinstance(action, ExecuteCalls):
        return ["carry out the calls, in this order", *map(_call_decision, action.calls)]
    assert isinstance(action, Finish), "no process dies in a simulation, so nothing is in doubt"
    reason = f" ({action.reason})" if action.reason else ""
    if action.call is not None:
        return [f"finish: {action.outcome}{reason}", f"{action.call.name} was called alone and validly."]
    return [f"finish: {action.outcome}{reason}", "Nothing more of the last turn is executed."]


def _call_decision(call: Any) -> str:
    if isinstance(call, ReadyCall):
        return f"{call.request.call_key}  run {call.request.name}: every check is passed"
    return f"{call.request.call_key}  refuse {call.request.name} ({call.code}): its handler never sees it"


def _step_json(step: int, action: Action, entries: list[Any]) -> str:
    decided: dict[str, Any]
    if isinstance(action, AskModel):
        decided = {"action": "ask_model", "turn": action.request.step}
    elif isinstance(action, ExecuteCalls):
        calls = [
            {
                "call_key": call.request.call_key,
                "name": call.request.name,
                "refused": None if isinstance(call, ReadyCall) else call.code,
            }
            for call in action.calls
        ]
        decided = {"action": "execute_calls", "calls": calls}
    else:
        assert isinstance(action, Finish), "no process dies in a simulation, so nothing is in doubt"
        decided = {"action": "finish", "outcome": action.outcome, "reason": action.reason}
    recorded = ",".join(map(machine.event_json, entries))
    return f'{{"step":{step},"decided":{machine.line(decided)},"recorded":[{recorded}]}}'
