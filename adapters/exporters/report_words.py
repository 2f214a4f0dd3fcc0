"""How a report is put for people: its head in words, and cells as they are read."""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

from tachograph.adapters.reports.report import Column, Kind, Report, Section, Value, duration

RIGHT: Final[frozenset[Kind]] = frozenset({"number", "amount", "duration", "share"})
_GROUPED: Final[frozenset[Kind]] = frozenset({"number", "amount", "figure"})
_DECIMAL: Final = re.compile(r"-?[1-9][0-9]{0,30}(\.[0-9]+)?\Z")
NO_CONFORMITY: Final = "Evidence, not a verdict: nothing here says that a requirement is met."


def head_lines(report: Report) -> list[tuple[str, str]]:
    """Return what a report stands on, as names and values."""
    head = report.head
    since = moment(head.since, head.time_zone) if head.since else "the beginning"
    until = f"before {moment(head.until, head.time_zone)}" if head.until else "the position"
    seen = f", recorded until {moment(head.recorded_at, head.time_zone)}" if head.recorded_at else ""
    return [
        ("Period", f"from {since} to {until}"),
        ("Time zone", head.time_zone),
        ("Tenant", head.tenant if head.tenant is not None else "all tenants"),
        ("Store position", f"{head.position:,}{seen}"),
        ("Rule sets", ", ".join(f"{name} ({version})" for name, version in head.rule_sets) or "none"),
        ("Queries", f"{head.report}, version {head.query_version}"),
        ("Checkpoint", head.checkpoint or "none covers this position"),
        ("Digest", f"SHA-256 {report.digest}"),
    ]


def shown(value: Value, kind: Kind, zone: str) -> str:
    """Return a value as it is read. What comes from outside is returned as it is: escape it."""
    if value is None:
        return ""
    if kind == "time":
        return moment(str(value), zone)
    if kind == "duration":
        return duration(int(value))
    if kind == "share":
        return f"{value} %"
    if kind in _GROUPED and _DECIMAL.match(str(value)):
        whole, point, part = str(value).partition(".")
        return f"{int(whole):,}{point}{part}"
    return str(value)


def moment(at: str, zone: str) -> str:
    """Return a time (UTC, ISO 8601) to the second, in a time zone."""
    local = datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m-%d %H:%M:%S}"


def headings(section: Section) -> list[tuple[str, list[tuple[int, Column]]]]:
    """Return the columns as they are shown: heading, and the columns under it with their places."""
    placed = list(enumerate(section.columns))
    together = groupby(placed, key=lambda one: one[1].group or one[1].name)
    return [(heading, list(columns)) for heading, columns in together]


def stacked(
    row: tuple[Value, ...], columns: list[tuple[int, Column]], zone: str
) -> Iterator[tuple[str, str]]:
    """Yield name and value of each cell under one heading that holds something."""
    for place, column in columns:
        text = shown(row[place], column.kind, zone)
        if text:
            yield column.name, text
