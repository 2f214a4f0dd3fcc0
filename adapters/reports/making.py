"""Make a report out of a store."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from importlib import import_module
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.read_side.as_of import Span
from tachograph.adapters.reports.catalogue import CATALOGUE, NAMES
from tachograph.adapters.reports.report import Head, Report, Section
from tachograph.adapters.reports.rule_sets import serving
from tachograph.adapters.reports.source import Source
from tachograph.domain.context import check_party
from tachograph.domain.errors import TachographError
from tachograph.domain.ports import EventStore
from tachograph.projections.plain import time_text

_REPORTS: Final = "tachograph.adapters.reports"

Progress = Callable[[int, int], None]


class InvalidPeriod(TachographError, ValueError):
    """A period, time zone or position that no report can be made of."""


class UnknownReport(TachographError, LookupError):
    """No report has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no report {name[:80]!r}; there are: {', '.join(NAMES)}")
        self.name = name


def make_report(
    store: EventStore,
    name: str,
    *,
    since: str | None = None,
    until: str | None = None,
    zone: str = "UTC",
    tenant: str | None = None,
    position: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """
    Make a report.

    Args:
        since, until: The period: from a day or time, and up to one; a day counts whole in both. In `zone`.
        zone: Of the IANA time zone database.
        tenant: None means all.
        position: Up to which the record is taken into account; None: all of it.
    Raises:
        UnknownReport: No such name.
        InvalidPeriod, InvalidId: The period, the zone, the position or the tenant is none.
        StoreError: The store failed.
    """
    if name not in CATALOGUE:
        raise UnknownReport(name)
    if tenant is not None:
        check_party(tenant)
    known = _zone(zone)
    first, last = moment(since, known, ends=False), moment(until, known, ends=True)
    if first is not None and last is not None and first >= last:
        raise InvalidPeriod("the period ends before it begins")
    side = open_read_side(store)
    try:
        side.catch_up(progress)
        at = _position(store.head(), position)
        span = Span(at, _text(first), _text(last), tenant)
        source = Source(store, side, span, side.recorded_at(at))
        entry = CATALOGUE[name]
        sections: Callable[[Source], list[Section]] = import_module(f"{_REPORTS}.{name}").sections
        head = Head(
            report=name,
            title=entry.title,
            question=entry.question,
            query_version=entry.version,
            tenant=tenant,
            since=span.since,
            until=span.until,
            time_zone=zone,
            position=at,
            recorded_at=source.recorded_at,
            rule_sets=tuple((rules.name, rules.version) for rules in serving(name)),
        )
        return Report(head, tuple(sections(source)))
    finally:
        side.close()


def moment(said: str | None, zone: ZoneInfo, *, ends: bool) -> datetime | None:
    """
    Return the time that a day or a time stands for, in UTC.

    Args:
        ends: Whether it ends a period: a day stands for the beginning of the one after it.
    Raises:
        InvalidPeriod: It is neither.
    """
    if said is None:
        return None
    try:
        if len(said) <= len("2026-12-31"):
            day = date.fromisoformat(said) + timedelta(days=ends)
            return datetime.combine(day, time(), zone).astimezone(UTC)
        found = datetime.fromisoformat(said)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise InvalidPeriod(f"{said[:40]!r} is no day or time; write 2026-10-01 or 2026-10-01T12:00") from exc


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidPeriod(f"no time zone {name[:80]!r} here; write UTC or Europe/Vienna") from exc


def _position(head: int, asked: int | None) -> int:
    if asked is not None and asked > head:
        raise InvalidPeriod(f"the record ends at position {head}")
    return head if asked is None else asked


def _text(at: datetime | None) -> str | None:
    return None if at is None else time_text(at)
