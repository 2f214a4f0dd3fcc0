"""What `report run` and `report runs` do, and what a worker tells of reports."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from tachograph.adapters.read_side.opening import database_of
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, NOT_DONE, Settings, one_line, tell
from tachograph.adapters.screen.output import LiveScreen, Screen, cell, columns, text
from tachograph.adapters.workers.report_notes import ReportNotes
from tachograph.adapters.workers.report_rounds import Reported, Rounds
from tachograph.adapters.workers.report_runs import ReportRun, again_at
from tachograph.adapters.workers.report_schedules import read_reports
from tachograph.projections.plain import time_text

_PATH_MAX: Final = 120


def run(settings: Settings, schedule: str) -> int:
    """Make what is due now, once; NOT_DONE if something of it could not be done."""
    in_a_database(settings.store)
    reports = read_reports(Path(schedule))
    screen = LiveScreen()
    print_told = report_told(settings, screen)
    told: list[Reported] = []

    def hear(reported: Reported) -> None:
        told.append(reported)
        print_told(reported)

    with opened(settings.store) as store:
        asyncio.run(Rounds(reports, store, hear).once())
    if not told:
        tell("Nothing is due.")
    return NOT_DONE if any(each.result in ("failed", "given_up") for each in told) else FINE


def listed(settings: Settings) -> int:
    """List what schedules have made."""
    with opened(settings.store) as store:
        database = database_of(store)
        try:
            found = ReportNotes(database).all()
        finally:
            database.close()
    if settings.as_json:
        Screen().lines(machine.line(_record(run)) for run in found)
        return FINE
    table = columns(
        "schedule", "due (UTC)", "position", "status", "exit", "file", "sha-256", right=["position", "exit"]
    )
    for each in found:
        head = [
            text(each.schedule),
            text(f"{each.due_at:%Y-%m-%d %H:%M}"),
            text(str(each.asked.position)),
            text(each.status.replace("_", " ")),
            text("" if each.exit_code is None else str(each.exit_code)),
        ]
        for place, file in enumerate(each.files or [None]):
            shown = [cell(file.path, characters_max=_PATH_MAX), text(file.sha256)] if file else [text("")] * 2
            table.add_row(*(head if place == 0 else [text("")] * len(head)), *shown)
    Screen().table(table)
    for each in found:
        if each.reason is not None:
            tell(one_line(f"{each.schedule} {each.due_at:%Y-%m-%d %H:%M}: {each.reason}"))
    return FINE


def report_told(settings: Settings, screen: LiveScreen) -> Callable[[Reported], None]:
    """Return what prints a line for each due time that was worked on."""

    def told(reported: Reported) -> None:
        if settings.as_json:
            screen.lines(
                [machine.line({"what": "report", "result": reported.result} | _record(reported.run))]
            )
        else:
            screen.lines([one_line(_sentence(reported))])

    return told


def in_a_database(url: str) -> None:
    """Refuse a store that no two processes share. Raises click.UsageError."""
    if url in ("memory:", "memory://"):
        raise click.UsageError("Nothing in memory: keeps what was made; name another store with --store.")


def _sentence(reported: Reported) -> str:
    run = reported.run
    parts = [f"report {run.schedule} {run.due_at:%Y-%m-%dT%H:%MZ} {reported.result.replace('_', ' ')}"]
    if run.reason and reported.result != "taken_over":
        parts.append(run.reason)
    if reported.result == "done":
        parts.append(", ".join(file.path for file in run.files))
    again = f"; again at {reported.again_at:%H:%M:%S} UTC" if reported.again_at else ""
    return f"{': '.join(parts)}{again}"


def _record(run: ReportRun) -> dict[str, Any]:
    again = again_at(run)
    return {
        "schedule": run.schedule,
        "due_at": time_text(run.due_at),
        "report": run.asked.report,
        "from": run.asked.since,
        "to": run.asked.until,
        "time_zone": run.asked.zone,
        "tenant": run.asked.tenant,
        "position": run.asked.position,
        "status": run.status,
        "digest": run.digest,
        "files": [file.model_dump() for file in run.files],
        "exit_code": run.exit_code,
        "reason": run.reason,
        "tried": run.tried,
        "at": time_text(run.at),
        "again_at": None if again is None else time_text(again),
    }
