"""What `runs`, `steps` and `projections` print: read models, caught up with the record first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.text import Text

from tachograph.adapters.read_side import ReadSide, open_read_side
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.output import Screen, cell, columns, progress, text
from tachograph.adapters.screen.status import open_status
from tachograph.domain.context import check_trace_id

LISTED_MAX: Final = 100
_WIDE: Final = 112
_ID_WIDTH: Final = 36
_SET_ASIDE_SHOWN: Final = 10
_STYLES: Final = {
    "answered": "green",
    "approval_requested": "green",
    "needs_clarification": "yellow",
    "handed_off": "yellow",
    "blocked": "red",
    "interrupted": "magenta",
}

Row = Mapping[str, Any]


def runs(settings: Settings, trace: str | None, limit: int | None) -> int:
    """List runs."""
    _check(trace)
    with _read_side(settings, catch_up=True) as side:
        if settings.as_json:
            rows = side.runs(trace_id=trace, limit=limit)
            Screen().lines(machine.line(_with_status(row)) for row in rows)
        else:
            at_most = limit or LISTED_MAX
            found = [_with_status(row) for row in side.runs(trace_id=trace, limit=at_most + 1)]
            _print_runs(Screen(), found[:at_most])
            if len(found) > at_most and limit is None:
                tell(f"The latest {at_most} runs; --limit shows more, --json all.")
    return FINE


def steps(settings: Settings, trace: str | None) -> int:
    """Count steps per trace."""
    _check(trace)
    with _read_side(settings, catch_up=True) as side:
        rows = side.steps(trace)
        if settings.as_json:
            Screen().lines(map(machine.line, rows))
        else:
            _print_steps(Screen(), rows)
    return FINE


def projections_status(settings: Settings) -> int:
    """Show how far each read model is; NO if one has set events aside."""
    with _read_side(settings) as side:
        return FINE if _print_status(settings, side) == 0 else NO


def projections_catch_up(settings: Settings) -> int:
    """Bring every read model up to the end of the record, then show how far each is."""
    with _read_side(settings, catch_up=True) as side:
        _print_status(settings, side)
    return FINE


def projections_rebuild(settings: Settings, names: Sequence[str]) -> int:
    """Rebuild read models from zero, then show how far each is."""
    with _read_side(settings) as side:
        known = [status.name for status in side.status()]
        if unknown := [name for name in names if name not in known]:
            raise click.UsageError(
                f"There is no read model {unknown[0][:80]!r}. There are: {', '.join(known)}."
            )
        with progress("rebuild") as shown:
            side.rebuild(list(names) or None, progress=shown)
        _print_status(settings, side)
    return FINE


def _check(trace: str | None) -> None:
    if trace is not None:
        check_trace_id(trace)


@contextmanager
def _read_side(settings: Settings, *, catch_up: bool = False) -> Iterator[ReadSide]:
    with opened(settings.store) as store:
        side = open_read_side(store)
        try:
            if catch_up:
                with progress("catch up") as shown:
                    side.catch_up(progress=shown)
            yield side
        finally:
            side.close()


def _with_status(row: Row) -> dict[str, Any]:
    """Return a run's row; an open run that nobody works on any more is interrupted."""
    if row["status"] != "open" or not row["owner"] or not row["last_recorded_at"]:
        return dict(row)
    return {**row, "status": open_status(row["owner"], datetime.fromisoformat(row["last_recorded_at"]))}


def _print_runs(screen: Screen, rows: Iterable[Row]) -> None:
    wide = not screen.is_terminal or screen.console.width >= _WIDE
    names = ["run", "outcome", "steps", "started", *(["trace", "agent"] if wide else [])]
    table = columns(*names, right=("steps",))
    for row in rows:
        outcome = row["outcome"] or row["status"] or "unknown"
        said = f"{outcome}: {row['reason']}" if row["reason"] else outcome
        started = _when(row["started_at"], wide=wide)
        cells: list[Text] = [
            text(row["run_id"]),
            cell(said.replace("_", " "), _STYLES.get(outcome, "")),
            Text(str(row["steps"] or 0)),
            text(started),
        ]
        more = [text(row["trace_id"]), cell(row["agent"] or "")] if wide else []
        table.add_row(*cells, *more)
    _print(screen, table, "No runs here yet; `tachograph demo` makes one.")


def _print_steps(screen: Screen, rows: Iterable[Row]) -> None:
    counted = ("runs", "model_turns", "tool_calls", "tool_errors")
    numbers = ("runs", "turns", "calls", "errors")
    table = columns("trace", *numbers, "outcomes", right=numbers)
    for row in rows:
        outcomes = ", ".join(f"{outcome} {count}" for outcome, count in row["outcomes"].items())
        trace = _folded(row["trace_id"]) if screen.is_terminal else row["trace_id"]
        table.add_row(text(trace, block=True), *(f"{row[name]:,}" for name in counted), text(outcomes))
    _print(screen, table, "No steps to count here yet.")


def _when(recorded_at: str | None, *, wide: bool) -> str:
    """Return a time as a list has room for it: in little room the time of today, or the day."""
    day, _, time = (recorded_at or "")[:19].partition("T")
    if wide:
        return f"{day} {time}"
    return time if day == f"{datetime.now(UTC):%Y-%m-%d}" else day


def _folded(trace_id: str) -> str:
    """Return a trace id over lines no longer than a run id."""
    return "\n".join(trace_id[place : place + _ID_WIDTH] for place in range(0, len(trace_id), _ID_WIDTH))


def _print_status(settings: Settings, side: ReadSide) -> int:
    """Print how far each read model is, and return how many events were set aside."""
    statuses = side.status()
    screen = Screen()
    aside = sum(status.quarantined for status in statuses)
    if settings.as_json:
        screen.lines(machine.line(asdict(status)) for status in statuses)
        return aside
    numbers = ("position", "head", "lag", "set aside")
    table = columns("read model", "version", *numbers, "updated", right=("version", *numbers))
    for status in statuses:
        counts = (status.position, status.head, status.lag, status.quarantined)
        updated = str(status.updated_at or "")[:19].replace("T", " ")
        table.add_row(
            text(status.name), str(status.version), *(f"{count:,}" for count in counts), text(updated)
        )
    _print(screen, table, "There are no read models.")
    if aside:
        tell(*_set_aside(side))
    return aside


def _set_aside(side: ReadSide) -> Iterator[str]:
    yield "Events that a read model could not take were set aside; the record has them all:"
    entries = side.quarantined()
    for entry in entries[:_SET_ASIDE_SHOWN]:
        place = f"version {entry.version} of run {entry.run_id} ({entry.kind})"
        yield f"  {entry.projection}: {place}: {entry.error}"
    if len(entries) > _SET_ASIDE_SHOWN:
        yield f"  and {len(entries) - _SET_ASIDE_SHOWN} more"


def _print(screen: Screen, table: Any, when_empty: str) -> None:
    if table.row_count:
        screen.table(table)
    else:
        tell(when_empty)
