"""What `reconcile` and `runs --in-doubt` do."""

import asyncio
import getpass
import json
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from tachograph.adapters import reconciling
from tachograph.adapters.approving import every_approval, load_approval
from tachograph.adapters.loading import load
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, opened
from tachograph.adapters.screen.approvals import told
from tachograph.adapters.screen.commands import FINE, Settings, tell
from tachograph.adapters.screen.output import Screen, cell, columns, text
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.errors import NothingToSettle


def reconcile(
    settings: Settings,
    run: str,
    call_key: str,
    succeeded: str | None,
    failed: str | None,
    reason: str | None,
    actor: str | None,
) -> int:
    """Settle a call in doubt, of a run or of the effect of its approval."""
    if (succeeded is None) == (failed is None):
        raise click.UsageError("Give one of --succeeded FILE and --failed REASON.")
    why = reason or failed
    if not why or not why.strip():
        raise click.UsageError("Say with --reason what the settlement rests on; it is recorded.")
    who = actor or getpass.getuser()
    output = output_of(succeeded) if succeeded is not None else None
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        if store.read(run_id, up_to=1)[0].kind == "approval_requested":
            run_id = load_approval(store, run_id).requested.run_id
        state = load(store, run_id)
        approval_id = approval_id_of(run_id)
        screen = Screen()
        if state.terminal is not None and store.read(approval_id, up_to=1):
            if call_key != state.terminal.call_key:
                raise NothingToSettle(run_id, call_key)
            settled = asyncio.run(
                reconciling.reconcile_effect(
                    approval_id, output=output, failure=failed, reason=why, store=store, actor=who
                )
            )
            return told(settings, store, None, settled, None)
        after = asyncio.run(
            reconciling.reconcile(
                run_id, call_key, output=output, failure=failed, reason=why, store=store, actor=who
            )
        )
    if settings.as_json:
        screen.lines([machine.line({"run_id": run_id, "call_key": call_key, "version": after.version})])
    else:
        screen.print(text(f"Call {call_key} is settled by {who}. The run goes on with:"))
        screen.print(text(f"  tachograph resume {run_id}"))
    return FINE


def in_doubt(settings: Settings) -> int:
    """List what waits for a person to find out: calls of open runs, effects of approvals."""
    screen = Screen()
    lines: list[dict[str, Any]] = []
    with opened(settings.store) as store:
        side = open_read_side(store)
        try:
            side.catch_up()
            open_runs = [UUID(row["run_id"]) for row in side.runs(status="open")]
        finally:
            side.close()
        for run_id in open_runs:
            run = load(store, run_id)
            names = {call.call_key: call.name for call in (run.steps[-1].turn.calls if run.steps else ())}
            for key in run.waits_for_settlement:
                known = "outcome_unknown" if key in run.unknown else "under way or interrupted"
                lines.append({"run_id": run_id, "call_key": key, "tool": names[key], "state": known})
        for state in every_approval(store, pending=False):
            if state.execution in ("started", "unknown"):
                asked = state.requested
                known = "outcome_unknown" if state.execution == "unknown" else "under way or interrupted"
                tool = state.started.tool if state.started else asked.tool
                lines.append(
                    {"run_id": asked.run_id, "call_key": asked.call_key, "tool": tool, "state": known}
                )
    if settings.as_json:
        screen.lines(map(machine.line, lines))
        return FINE
    table = columns("run", "call", "tool", "state")
    for line in lines:
        table.add_row(
            text(str(line["run_id"])), text(line["call_key"]), cell(line["tool"]), text(line["state"])
        )
    if lines:
        screen.table(table)
        tell("Settle one: tachograph reconcile RUN CALL --succeeded FILE | --failed REASON")
    else:
        tell("Nothing is in doubt.")
    return FINE


def output_of(file: str) -> str:
    """Return a file's text as JSON text: as it is where it is JSON, else as a string."""
    said = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    try:
        json.loads(said)
    except ValueError:
        return json.dumps(said)
    return said.strip()
