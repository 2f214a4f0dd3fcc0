"""A report as CSV: what it stands on, then each section under its title, or one section alone."""

from collections.abc import Iterator

from tachograph.adapters.exporters.csv_file import csv_line
from tachograph.adapters.exporters.report_words import head_lines
from tachograph.adapters.reports.report import Report, Section


def report_csv(report: Report, section: Section | None = None) -> Iterator[str]:
    """
    Yield the lines of a report. Times are UTC, durations milliseconds, as they were computed.

    Args:
        section: That one alone, as a plain table; the head is left out.
    """
    if section is not None:
        yield from _table(section)
        return
    yield csv_line(["Report", report.head.title])
    for name, value in head_lines(report):
        yield csv_line([name, value])
    for each in report.sections:
        yield ""
        yield csv_line([each.title])
        yield from _table(each)


def _table(section: Section) -> Iterator[str]:
    yield csv_line(_unit(column.name, column.kind) for column in section.columns)
    for row in section.rows:
        yield csv_line(row)


def _unit(name: str, kind: str) -> str:
    return {"time": f"{name} (UTC)", "duration": f"{name} (ms)", "share": f"{name} (%)"}.get(kind, name)
