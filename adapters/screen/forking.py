"""What `fork` and `diff` do."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import click
from rich.text import Text

from tachograph.adapters.forking import fork as begin_fork
from tachograph.adapters.loading import load
from tachograph.adapters.running import RunOutcome
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, opened
from tachograph.adapters.screen.agents import model_of_trace, on_model
from tachograph.adapters.screen.commands import FINE, NO, Settings
from tachograph.adapters.screen.driving import agent_of, carried_out, verdict_of
from tachograph.adapters.screen.open_runs import Resumption
from tachograph.adapters.screen.output import LiveScreen, Screen, text
from tachograph.adapters.screen.reconciling import output_of
from tachograph.domain.comparing import Difference, differences
from tachograph.domain.ports import EventStore

_SIDE_MAX: Final = 400


def fork(
    settings: Settings,
    run: str,
    step: int,
    agent_name: str | None,
    model_name: str | None,
    edits: Sequence[str],
    instructions: str | None,
    *,
    live: bool,
) -> int:
    """Fork a run at a step and tell how the fork goes on. NO if it was blocked."""
    replaced = dict(map(_edit, edits))
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        state = load(store, run_id)
        named = model_name or model_of_trace(state.started.context.trace_id)
        agent, model = on_model(agent_of(state, agent_name), named)
        if instructions is not None:
            agent = replace(agent, instructions=_read(instructions))

        async def work(watched: EventStore) -> RunOutcome:
            return await begin_fork(
                agent, run_id, step, store=watched, model=model, edits=replaced, live=live
            )

        resumption = Resumption(agent_name, model_name)
        return verdict_of(carried_out(settings, store, agent, work, resumption, LiveScreen()))


def diff(settings: Settings, one: str, other: str) -> int:
    """Print what differs between two runs. NO if anything does."""
    with opened(settings.store) as store:
        ids = [find_run(store, run) for run in (one, other)]
        found = differences(*(load(store, run_id) for run_id in ids))
    screen = Screen()
    if settings.as_json:
        screen.lines(
            [machine.line({"runs": ids, "same": not found, "differences": list(map(asdict, found))})]
        )
    elif not found:
        screen.print(text("The two runs are the same.", "green"))
    for difference in () if settings.as_json else found:
        _print(screen, difference)
    return NO if found else FINE


def _print(screen: Screen, difference: Difference) -> None:
    where = f"step {difference.step}, " if difference.step else ""
    screen.print(text(f"{where}{difference.what}", "bold"))
    for mark, side, style in (("-", difference.one, "red"), ("+", difference.other, "green")):
        if side is not None:
            screen.hanging(Text(f"  {mark} ", style), text(side, style, characters_max=_SIDE_MAX))


def _edit(said: str) -> tuple[str, str]:
    key, _, file = said.partition("=")
    if not key or not file:
        raise click.UsageError("--edit takes CALL=FILE, such as 2.1=order.json.")
    output = output_of(file)
    json.loads(output)
    return key, output


def _read(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")
