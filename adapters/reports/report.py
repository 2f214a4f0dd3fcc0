"""
What a report is: sections of exact rows, and a head that says what they stand on.

The digest is the SHA-256 of the lines that `--format json` prints before the last one, each with its line
feed. It is the same in every format, on every store, and whenever it is worked out from the same position.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Kind = Literal["text", "number", "amount", "duration", "share", "time", "figure"]
Value = str | int | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """
    A column of a section.

    Args:
        kind: `amount`: a plain decimal as text; `duration`: milliseconds; `share`: percent, a decimal as
            text; `time`: UTC, ISO 8601; `figure`: a number or a few words, as text.
        group: Under which heading it is shown together with others where there is little room.
    """

    name: str
    kind: Kind = "text"
    group: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a report. `note`: what a reader has to know of it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """
    What a report stands on.

    Args:
        query_version: Of the queries and rules that the report is made by; another one may give other rows.
        tenant: None: all of them.
        since, until: The period, from and before, UTC, ISO 8601; None: without limit.
        time_zone: In which times are shown and the period was given.
        position: Of the last event of the store that it takes into account.
        recorded_at: The latest time recorded up to there; what was imported has the times of its file.
        rule_sets: Those with clauses that it serves: name and version.
        checkpoint: The signed checkpoint that covers the position; None: there is none.
    """

    report: str
    title: str
    question: str
    query_version: int
    tenant: str | None
    since: str | None
    until: str | None
    time_zone: str
    position: int
    recorded_at: str | None
    rule_sets: tuple[tuple[str, str], ...]
    checkpoint: str | None = None


@dataclass(frozen=True)
class Report:
    """A report, and its digest."""

    head: Head
    sections: tuple[Section, ...]
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        hashed = hashlib.sha256()
        for line in self.lines():
            hashed.update(f"{line}\n".encode())
        object.__setattr__(self, "digest", hashed.hexdigest())

    def lines(self) -> Iterator[str]:
        """Yield the lines of JSON that the digest is of: head, then each section with its rows."""
        yield json_line(self.head_record())
        for section in self.sections:
            names = [column.name for column in section.columns]
            kinds = [column.kind for column in section.columns]
            head: dict[str, Any] = {"section": section.name, "title": section.title, "note": section.note}
            yield json_line(head | {"columns": names, "kinds": kinds, "rows": len(section.rows)})
            for row in section.rows:
                yield json_line(dict(zip(names, row, strict=True)))

    def head_record(self) -> dict[str, Any]:
        """Return the head as a record."""
        head = self.head
        return {
            "report": head.report,
            "title": head.title,
            "question": head.question,
            "query_version": head.query_version,
            "tenant": head.tenant,
            "from": head.since,
            "to": head.until,
            "time_zone": head.time_zone,
            "position": head.position,
            "recorded_at": head.recorded_at,
            "rule_sets": [{"name": name, "version": version} for name, version in head.rule_sets],
            "checkpoint": head.checkpoint,
        }

    def section(self, name: str) -> Section:
        """Return the section of a name. Raises KeyError."""
        for section in self.sections:
            if section.name == name:
                return section
        raise KeyError(name)


FIGURES: Final = "figures"
_FIGURES: Final = (Column("figure"), Column("value", "figure"), Column("what it counts"))
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def json_line(record: dict[str, Any]) -> str:
    """Return a record as one line of JSON, ASCII alone."""
    return json.dumps(record, separators=(",", ":")).replace("\x7f", "\\u007f")


def figures(lines: Iterable[tuple[str, Value, str]]) -> Section:
    """Return the section of a report's figures: name, value, what it counts."""
    rows = [(name, None if value is None else str(value), what) for name, value, what in lines]
    return Section(FIGURES, "Figures", _FIGURES, rows)


def share(part: int, whole: int) -> str | None:
    """Return a part in percent with one decimal, rounded half up; None of nothing."""
    if whole == 0:
        return None
    tenths = (part * 2000 + whole) // (2 * whole)
    return f"{tenths // 10}.{tenths % 10}"


def duration(milliseconds: int) -> str:
    """Return a time span in its two largest units, such as 2 h 5 min; under ten seconds with tenths."""
    if milliseconds < 10_000:
        return f"{milliseconds // 100 / 10:.1f} s"
    parts: list[str] = []
    left = milliseconds
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def median(values: Sequence[int]) -> int | None:
    """Return the middle of whole numbers, of an even count the lower mean; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2
