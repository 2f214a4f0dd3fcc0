"""
Phrases of a text that name a day by its distance from another one: the day after, two days earlier.

Source of the phrases: plain English.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final, NamedTuple

from tachograph.domain.why.dates import Day

_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_LENGTHS: Final = {"day": 1, "week": 7}
_PHRASE: Final = re.compile(
    r"\b(?:(?P<next>(?:the\s+)?(?:next|following)\s+day|(?:the\s+)?day\s+after|tomorrow)"
    r"|(?P<last>(?:the\s+)?(?:previous|prior)\s+day|(?:the\s+)?day\s+before|yesterday)"
    r"|(?P<count>an?|one|two|three|four|five|six|seven|[0-9]{1,2})\s+(?P<length>day|week)s?\s+"
    r"(?P<way>later|after|from|earlier|before|sooner|prior))\b",
    re.IGNORECASE,
)
_BACK: Final = frozenset({"earlier", "before", "sooner", "prior"})


class Distance(NamedTuple):
    """A phrase of a text: its place, and the days that it goes on or back."""

    start: int
    end: int
    days: int


def distances(text: str) -> Iterator[Distance]:
    """Yield the phrases of a text that say how far one day is from another."""
    for found in _PHRASE.finditer(text):
        if found["next"] or found["last"]:
            days = 1 if found["next"] else -1
        else:
            count = found["count"].lower()
            days = _COUNTS.get("a" if count == "an" else count) or int(count)
            days *= _LENGTHS[found["length"].lower()]
            days = -days if found["way"].lower() in _BACK else days
        yield Distance(found.start(), found.end(), days)


def day_before(day: Day, days: int) -> date | None:
    """Return the day that lies so many days before a day; None outside the calendar."""
    try:
        return date(*day) - timedelta(days=days)
    except (OverflowError, ValueError):
        return None
