"""What `show`, `rebuild` and `import` do."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from tachograph.adapters.importers.importing import import_file
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, opened, read_run
from tachograph.adapters.screen.commands import FINE, Settings
from tachograph.adapters.screen.output import Screen, columns, progress, text
from tachograph.adapters.screen.timeline import print_timeline
from tachograph.domain.run import fold, state_digest, state_json


def show(settings: Settings, run: str, at: int | None) -> int:
    """Print a run's record."""
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        entries = read_run(store, run_id, at)
    screen = Screen()
    if settings.as_json:
        screen.parts(machine.run_json(run_id, entries, entries[-1].version))
    else:
        print_timeline(screen, entries, at=at)
    return FINE


def rebuild(settings: Settings, run: str, at: int | None) -> int:
    """Print a run's state and its digest."""
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        state = fold(run_id, read_run(store, run_id, at))
    screen = Screen()
    if settings.as_json:
        screen.lines([machine.state_json(run_id, state.version, state_digest(state), state_json(state))])
        return FINE
    totals = state.totals
    ended = f"{state.terminal.outcome} {state.terminal.reason or ''}".strip() if state.terminal else "open"
    said = [
        ("run", str(run_id)),
        ("version", str(state.version)),
        ("digest", state_digest(state)),
        ("state", ended),
        ("trace", state.started.context.trace_id),
        (
            "steps",
            f"{totals.steps}, with {totals.tool_calls} tool calls and {totals.tool_errors} tool errors",
        ),
    ]
    if not state.ended:
        waiting = ", ".join(f"{call.call_key} {call.name}" for call in state.pending)
        said += [("waiting", waiting or "no call"), ("in doubt", ", ".join(state.in_doubt) or "no call")]
    for name, value in said:
        screen.hanging(text(f"{name:10}", "dim"), text(value))
    return FINE


def import_files(settings: Settings, format_name: str, files: Sequence[str]) -> int:
    """Import files one after the other, and say of each what was added."""
    screen = Screen()
    table = columns(*_COUNTS, "file", right=_COUNTS)
    with opened(settings.store, create=True) as store:
        try:
            for file in files:
                with progress(f"import {file}") as shown:
                    summary = asyncio.run(import_file(store, format_name, file, shown))
                counts = (
                    summary.conversations,
                    summary.runs_added,
                    summary.runs_already_there,
                    summary.events_added,
                )
                table.add_row(*(f"{count:,}" for count in counts), text(file, characters_max=500))
                if settings.as_json:
                    screen.lines([machine.line({"file": file, "format": format_name, **asdict(summary)})])
        finally:
            if table.row_count and not settings.as_json:
                screen.table(table)
    return FINE


_COUNTS = ("conversations", "runs added", "there before", "events added")
