"""What `sql` does: a query over an export in Parquet."""

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from tachograph.adapters.record_files.querying import answered
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.commands import FINE, Settings, tell
from tachograph.adapters.screen.output import Screen, cell, columns
from tachograph.projections.plain import time_text

ROWS_SHOWN: Final = 200


def sql(settings: Settings, folder: str, query: str) -> int:
    """Print what a query answers: a table for people, or an object a row."""
    screen = Screen()
    with answered(Path(folder), query) as (names, rows):
        if settings.as_json:
            screen.lines(machine.line(dict(zip(names, map(_plain, row), strict=True))) for row in rows)
            return FINE
        shown: list[Sequence[Any]] = []
        left_out = 0
        for row in rows:
            if len(shown) < ROWS_SHOWN:
                shown.append(row)
            else:
                left_out += 1
    if not names:
        return FINE
    numbers = [
        name
        for place, name in enumerate(names)
        if shown and all(isinstance(row[place], int | float | None) for row in shown)
    ]
    table = columns(*names, right=numbers)
    for row in shown:
        table.add_row(*(cell("" if value is None else str(_plain(value))) for value in row))
    screen.table(table)
    if left_out:
        tell(f"{left_out:,} more rows; --json prints them all.")
    return FINE


def _plain(value: Any) -> Any:
    """Return a value of DuckDB's as JSON has it; what JSON has not, as text."""
    if isinstance(value, datetime):
        return time_text(value) if value.tzinfo else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
