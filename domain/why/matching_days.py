"""Where a day or an instant stands, in whatever form it is written."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tachograph.domain.why import keys
from tachograph.domain.why.dates import dates, day_of_the_year, one_date
from tachograph.domain.why.match import Match, Search

_DATE_MAX: Final = 40
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")


def matches_of_day(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the day that a text is; without its year only where the year is known."""
    day = one_date(value)
    if day is None:
        return
    year, month, number = day
    index, before = search.index, search.before
    positions = search.latest(index.places(keys.day(day), before))
    if len(index.places(keys.year(year), before)):
        positions += search.latest(index.places(keys.day((0, month, number)), before))
    for position in positions:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        for dated in dates(text[offset : offset + _DATE_MAX]):
            if dated.start == 0 and dated.day in (day, (0, month, number)):
                end = offset + dated.end
                whole = (offset, end) == (0, len(text))
                note = dated.note
                rule = dated.rule
                if dated.day[0] == 0:
                    rule = "date_without_year"
                    note = "; ".join(filter(None, (note, f"the year {year} is known from elsewhere")))
                elif rule == "date_form" and text[offset:end] == value:
                    rule = "exact"
                    if not whole and text[end : end + 1] in ("T", " ") and offset == 0:
                        rule, whole = "date_part", True
                yield Match(leaf, offset, end, whole, rule, note)
                break


def matches_of_day_of_the_year(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the month and day that a text is, whatever year stands there."""
    wanted = day_of_the_year(value)
    if wanted is None:
        return
    index, before = search.index, search.before
    positions = search.latest(index.places(keys.day((0, *wanted)), before))
    positions += search.latest(index.places(keys.day_of_any_year(wanted), before))
    for position in positions:
        leaf, offset = index.place(position)
        for dated in dates(index.text(leaf)[offset : offset + _DATE_MAX]):
            if dated.start == 0 and dated.day[1:] == wanted:
                end = offset + dated.end
                note = None if dated.day[0] == 0 else f"of the year {dated.day[0]}"
                yield Match(leaf, offset, end, False, "date_without_year", note)
                break


def matches_of_instant(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the instant that a text is; a time without an offset is none."""
    if not _INSTANT.match(value):
        return
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return
    if instant.tzinfo is None:
        return
    index = search.index
    for days in (-1, 0, 1):
        try:
            day = (instant + timedelta(days=days)).date()
        except OverflowError:
            continue
        for position in search.latest(index.places(keys.day((day.year, day.month, day.day)), search.before)):
            leaf, offset = index.place(position)
            text = index.text(leaf)
            try:
                same = offset == 0 and datetime.fromisoformat(text) == instant
            except (ValueError, TypeError):
                continue
            if same:
                yield Match(leaf, 0, len(text), True, "exact" if text == value else "time_form")
