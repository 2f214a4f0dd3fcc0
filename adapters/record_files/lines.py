"""A part as one text file: JSON lines, CSV, or lines of another program's format."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tachograph.adapters.exporters.csv_file import csv_line
from tachograph.adapters.record_files.columns import COLUMNS, row_of
from tachograph.adapters.record_files.reading import RUNS_KNOWN_MAX, Placed
from tachograph.domain.events import Recorded
from tachograph.domain.ports import EventStore
from tachograph.domain.values import json_text
from tachograph.projections.plain import time_text
from tachograph.projections.whose import Whose

_TIME: Final = list(COLUMNS).index("recorded_at")

LinesOf = Callable[[Placed], Iterable[str]]


class Lines:
    """
    Events as lines of text.

    Args:
        form: Ends the file's name.
        lines_of: Returns the lines of an event, without their ends.
        head: The file's first line.
    """

    def __init__(self, partial: Path, form: str, lines_of: LinesOf, head: str | None = None) -> None:
        self._path = partial
        self._place = f"events-{{}}.{form}"
        self._lines_of = lines_of
        self._stream = self._path.open("w", encoding="utf-8", newline="")
        self._events = 0
        if head is not None:
            self._stream.write(f"{head}\n")

    def write(self, placed: Placed) -> None:
        """Add an event."""
        for line in self._lines_of(placed):
            self._stream.write(f"{line}\n")
        self._events += 1

    def __len__(self) -> int:
        """Return how many files there are: one."""
        return 1

    def files(self) -> dict[Path, tuple[str, int]]:
        """Return the one file, where it belongs, and how many events it has."""
        return {self._path: (self._place, self._events)} if self._events else {}

    def finish(self) -> None:
        """Close the file."""
        self._stream.close()

    abandon = finish


def json_lines(partial: Path, store: EventStore) -> Lines:
    """Return a part of JSON lines: an object an event, its own fields under `event`."""
    return Lines(partial, "jsonl", lambda placed: (_json_line(placed),))


def csv_lines(partial: Path, store: EventStore) -> Lines:
    """Return a part of CSV, one line an event, safe to open in a spreadsheet."""
    return Lines(partial, "csv", lambda placed: (_csv_line(placed),), csv_line(COLUMNS))


def _json_line(placed: Placed) -> str:
    entry = placed.entry
    place = f'{{"position":{entry.position},"run_id":"{entry.run_id}","version":{entry.version}'
    whose = _whose(placed.whose)
    if isinstance(entry, Recorded):
        return f'{place},"kind":"{entry.kind}",{whose},"event":{placed.json}}}'
    return f'{place},"kind":{json_text(entry.kind)},{whose},"unreadable":{json_text(entry.why)}}}'


@lru_cache(maxsize=RUNS_KNOWN_MAX)
def _whose(whose: Whose) -> str:
    return f'"tenant":{json_text(whose.tenant)},"trace_id":{json_text(whose.trace_id)}'


def _csv_line(placed: Placed) -> str:
    row: list[Any] = [*row_of(placed)]
    row[_TIME] = time_text(placed.entry.event.recorded_at) if isinstance(placed.entry, Recorded) else None
    return csv_line(row)
