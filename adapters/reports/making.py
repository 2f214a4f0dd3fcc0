"""Make a report out of a store."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Final

from tachograph.adapters.read_side import NotPermitted, ReadSide, ViewsBehind, open_read_side
from tachograph.adapters.read_side.as_of import Span
from tachograph.adapters.reports.asking import InvalidPeriod, moment, time_zone
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
        position: Up to which the record is taken into account; None: all of it, or, for a role that may only
            read, as far as the views are.
    Raises:
        UnknownReport: No such name.
        InvalidPeriod, InvalidId: The period, the zone, the position or the tenant is none.
        ViewsBehind: The views end before the position, and this role may not write.
        StoreError: The store failed.
    """
    if name not in CATALOGUE:
        raise UnknownReport(name)
    if tenant is not None:
        check_party(tenant)
    known = time_zone(zone)
    first, last = moment(since, known, ends=False), moment(until, known, ends=True)
    if first is not None and last is not None and first >= last:
        raise InvalidPeriod("the period ends before it begins")
    side = open_read_side(store)
    try:
        at = _position(store, side, position, progress)
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


def _position(store: EventStore, side: ReadSide, asked: int | None, progress: Progress | None) -> int:
    """Return the position of the report, with the views there: for whoever may not write, where they are."""
    try:
        side.catch_up(progress)
    except NotPermitted as exc:
        reached = side.facts_reached()
        if asked is not None and reached < asked <= store.head():
            raise ViewsBehind(reached, asked) from exc
        if asked is None:
            return reached
    head = store.head()
    if asked is not None and asked > head:
        raise InvalidPeriod(f"the record ends at position {head}")
    return head if asked is None else asked


def _text(at: datetime | None) -> str | None:
    return None if at is None else time_text(at)
