"""What `replay` does."""

import difflib
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from rich.text import Text

from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.replaying import Replayed, ReplayRuns, replay_run
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, opened
from tachograph.adapters.screen.agents import load_agent
from tachograph.adapters.screen.all_runs import traces
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.epilogue import counted
from tachograph.adapters.screen.output import Screen, progress, text
from tachograph.adapters.spreading import Spread, spread
from tachograph.domain.agent import Agent
from tachograph.domain.replaying import Drift

_SHOWN_MAX: Final = 20
_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class KnownAgents:
    """Today's agents by name: the bundled one, and the one that the user names."""

    named: str | None

    def __call__(self, name: str) -> Agent | None:
        """Return the agent of this name, or None."""
        if self.named is not None:
            agent = load_agent(self.named)
            if agent.name == name:
                return agent
        return refund_agent if name == refund_agent.name else None


def one_by_one(settings: Settings, runs: Sequence[str], agent: str | None) -> int:
    """Replay some runs. NO if today's code would record something else."""
    if agent is not None:
        load_agent(agent)
    screen = Screen()
    drifted = False
    with opened(settings.store) as store:
        for run in runs:
            replayed = replay_run(store, find_run(store, run), KnownAgents(agent))
            drifted |= bool(replayed.drifts)
            if settings.as_json:
                screen.lines([_line(replayed)])
            else:
                _print(screen, replayed)
    return NO if drifted else FINE


def everything(settings: Settings, agent: str | None, since: datetime | None, where: Spread) -> int:
    """Replay all runs of the store. NO if today's code would record something else in any."""
    if agent is not None:
        load_agent(agent)
    screen = Screen()
    kinds: Counter[str] = Counter()
    unchecked: Counter[str] = Counter()
    events = shown = 0
    began = time.monotonic()
    with opened(settings.store) as store:
        run_ids = [run_id for group in traces(store, since) for run_id in group]
        with progress("replay") as said:
            reading = ReplayRuns(KnownAgents(agent))
            for replayed in spread(reading, run_ids, store, settings.store, where, said):
                events += replayed.events
                kinds.update({drift.kind for drift in replayed.drifts})
                if replayed.unchecked:
                    unchecked[replayed.unchecked] += 1
                if settings.as_json:
                    screen.lines([_line(replayed)])
                elif replayed.drifts and shown < _SHOWN_MAX:
                    shown += 1
                    _print(screen, replayed)
    rate = round(events / max(time.monotonic() - began, 1e-9))
    if not settings.as_json:
        said_kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        screen.print(
            text(
                f"{counted(len(run_ids), 'run')}, {counted(events, 'event')} ({rate:,}/s). "
                f"Drift: {said_kinds or 'none'}."
            )
        )
        for why, count in unchecked.items():
            tell(f"{count:,} folded and not replayed: {why}.")
    return NO if kinds else FINE


def _print(screen: Screen, replayed: Replayed) -> None:
    if replayed.unchecked:
        screen.print(text(f"run {replayed.run_id}: folded and not replayed: {replayed.unchecked}"))
    elif not replayed.drifts:
        screen.print(text(f"run {replayed.run_id}: no drift, {replayed.events} events", "green"))
    for place, drift in enumerate(replayed.drifts):
        head = f"run {replayed.run_id}" if place == 0 else "  and"
        screen.print(
            text(f"{head}: {drift.kind} would differ at version {drift.version}: {drift.why}", "bold red")
        )
        for line in _diff(drift):
            screen.hanging(Text("    "), line)


def _diff(drift: Drift) -> list[Text]:
    """Return the lines that differ: what stands there with a minus, what would be recorded with a plus."""
    lines = difflib.unified_diff(
        _laid_out(drift.actual), _laid_out(drift.expected), "recorded", "today", lineterm="", n=0
    )
    return [text(line, _STYLES.get(line[:1], ""), characters_max=300) for line in lines if line[:2] != "@@"]


def _laid_out(event: str) -> list[str]:
    try:
        fields = json.loads(event, parse_float=str, parse_int=str)
    except ValueError:
        return [event]
    if not isinstance(fields, dict):
        return [event]
    fields = {name: _opened(value) for name, value in fields.items()}
    return json.dumps(fields, indent=1, ensure_ascii=False).splitlines()


def _opened(value: object) -> object:
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value, parse_float=str, parse_int=str)
        except ValueError:
            return value
    return value


def _line(replayed: Replayed) -> str:
    first = replayed.drifts[0] if replayed.drifts else None
    return machine.line(
        {
            "run_id": replayed.run_id,
            "drift": asdict(first) if first else None,
            "also": [drift.kind for drift in replayed.drifts[1:]],
            "unchecked": replayed.unchecked,
            "events": replayed.events,
        }
    )
