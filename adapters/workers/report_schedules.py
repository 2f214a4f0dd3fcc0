"""Which reports are made when, for which period, and where they go: the [[report]] tables of a file."""

from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from tachograph.adapters.exporters.report_file import OF_ONE_SECTION, written
from tachograph.adapters.reports.asking import time_zone
from tachograph.adapters.reports.catalogue import NAMES
from tachograph.adapters.reports.making import make_report
from tachograph.adapters.reports.periods import Period, last_whole
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.adapters.workers.cron import due_before
from tachograph.adapters.workers.schedule_file import InvalidSchedule, Periodic, read_tables
from tachograph.domain.context import Party
from tachograph.projections.plain import time_text

FILES: Final = "{file}"
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"  # It begins the name of each file.
_WORDS_MAX: Final = 100

Form = Literal["csv", "json", "html", "pdf", "parquet"]


def _check_report(name: str) -> str:
    if name not in NAMES:
        raise ValueError(f"there is no report {name[:80]!r}; there are: {', '.join(NAMES)}")
    return name


def _check_word(word: str) -> str:
    if "\0" in word:
        raise ValueError("no program takes a NUL in an argument")
    return word


def _check_zone(zone: str) -> str:
    time_zone(zone)
    return zone


Word = Annotated[str, Field(max_length=4_000), AfterValidator(_check_word)]


class ReportSchedule(Periodic):
    """
    A report that is made again and again.

    Args:
        name: Letters, digits, `_`, `.`, `-`: the names of the files begin with it.
        cron: Five fields, on the clocks of `zone`.
        period: The last whole one of that zone before each due time; None: from the beginning.
        section: As of `report NAME`: for csv and parquet, this section alone.
        directory: Where the files are put and stay.
        command: Is called with the files; the word `{file}` stands for their paths.
    """

    name: str = Field(pattern=_NAME, max_length=100)
    report: Annotated[str, AfterValidator(_check_report)]
    zone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    period: Period | None = None
    tenant: Party | None = None
    section: str | None = None
    formats: tuple[Form, ...] = Field(min_length=1, max_length=5)
    directory: Path | None = None
    command: tuple[Word, ...] | None = Field(default=None, min_length=2, max_length=_WORDS_MAX)

    @model_validator(mode="after")
    def _goes_somewhere(self) -> Self:
        if self.directory is None and self.command is None:
            raise ValueError("it goes nowhere: name a directory, a command, or both")
        if self.command is not None and self.command[1:].count(FILES) != 1:
            raise ValueError(f"the command must have the word {FILES} once, after the program's name")
        if len(set(self.formats)) < len(self.formats):
            raise ValueError("a format is named twice")
        if self.section is not None and not set(self.formats) <= set(OF_ONE_SECTION):
            raise ValueError("a section goes with the formats csv and parquet alone")
        return self

    @cached_property
    def time_zone(self) -> ZoneInfo:
        """The zone of its cron and of its period."""
        return time_zone(self.zone)

    def due_before(self, now: datetime) -> datetime:
        """Return the last time at or before `now` that it was due, UTC."""
        return due_before(self.cron, self.time_zone, now)

    def span(self, due: datetime) -> tuple[str | None, str | None]:
        """Return from, and before which time its report of a due time is: UTC, ISO 8601; None: no limit."""
        if self.period is None:
            return None, None
        since, until = last_whole(self.period, due, self.time_zone)
        return time_text(since), time_text(until)


def read_reports(path: Path) -> tuple[ReportSchedule, ...]:
    """
    Read the `[[report]]` tables of a file, and make each report once of nothing, to see that it can be.

    Raises:
        InvalidSchedule: It can't be read, or one of them is wrong, doubled, or has no such section or folder.
        ExtraMissing: What a format needs, or croniter, isn't installed.
    """
    found = read_tables(path, "report", ReportSchedule)
    for schedule in found:
        if schedule.directory is not None and not schedule.directory.is_dir():
            raise InvalidSchedule(f"{path}: {schedule.name}: there is no folder {schedule.directory}")
        _rehearse(path, schedule)
    return found


def _rehearse(path: Path, schedule: ReportSchedule) -> None:
    made = make_report(MemoryEventStore(), schedule.report, zone=schedule.zone, tenant=schedule.tenant)
    try:
        section = None if schedule.section is None else made.section(schedule.section)
    except KeyError as exc:
        known = ", ".join(each.name for each in made.sections)
        raise InvalidSchedule(f"{path}: {schedule.name}: no such section; there are: {known}") from exc
    for form in schedule.formats:
        written(made, form, section)
