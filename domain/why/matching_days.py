"""Where a day or an instant stands, in whatever form it is written."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tachograph.domain.why import keys
from tachograph.domain.why.dates import dates, day_of_the_year, one_date
from tachograph.domain.why.match import Match, Search

_DATE_MAX: Final = 40
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![\w:]|\.[0-9])"
)


def matches_of_day(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the day that a text is; without its year only where the year is known."""
    day = one_date(value)
    if day is None:
        return
    year, month, number = day
    index = search.index
    positions = search.positions(keys.day(day))
    if len(search.places(keys.year(year))):
        positions += search.positions(keys.day((0, month, number)))
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
    index = search.index
    positions = search.positions(keys.day((0, *wanted)))
    positions += search.positions(keys.day_of_any_year(wanted))
    for position in positions:
        leaf, offset = index.place(position)
        for dated in dates(index.text(leaf)[offset : offset + _DATE_MAX]):
            if dated.start == 0 and dated.day[1:] == wanted:
                end = offset + dated.end
                note = None if dated.day[0] == 0 else f"of the year {dated.day[0]}"
                yield Match(leaf, offset, end, False, "date_without_year", note)
                break


def matches_of_instant(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the instant that a text is; times with and without an offset are different ones."""
    stamp = _INSTANT.fullmatch(value)
    instant = _instant(value) if stamp else None
    if instant is None:
        return
    index = search.index
    for days in (-1, 0, 1) if instant.tzinfo else (0,):
        try:
            day = (instant + timedelta(days=days)).date()
        except OverflowError:
            continue
        for position in search.positions(keys.day((day.year, day.month, day.day))):
            leaf, offset = index.place(position)
            text = index.text(leaf)
            found = _INSTANT.match(text, offset)
            if found and _instant(found[0]) == instant:
                whole = found.span() == (0, len(text))
                yield Match(leaf, *found.span(), whole, "exact" if found[0] == value else "time_form")


def _instant(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
