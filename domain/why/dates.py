"""
Dates in a text: ISO 8601, numbers with the day or the month first, and English month names.

A date that can be read in two ways gives both, each with the note `ambiguous`. A date without its year
gives the year 0: which one is meant has to be known from elsewhere.
"""

import calendar
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_MONTH_NAMES: Final = (
    "january february march april may june july august september october november december".split()
)
_MONTHS: Final = (
    {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
    | {name[:3]: number for number, name in enumerate(_MONTH_NAMES, start=1)}
    | {"sept": 9}
)
_NAMES: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY: Final = r"[0-3]?[0-9](?:st|nd|rd|th)?"
_DATE: Final = re.compile(
    rf"(?<![\w])(?:"
    rf"(?P<iso>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}})(?=$|[^0-9])"
    rf"|(?P<basic>(?:19|20)[0-9]{{6}})(?!\w|[.,-][0-9])"
    rf"|(?P<dashed>[0-9]{{1,2}}-[0-9]{{1,2}}-[0-9]{{4}})(?![\w-])"
    rf"|(?P<numeric>[0-9]{{1,2}}[/.][0-9]{{1,2}}(?:[/.](?:[0-9]{{4}}|[0-9]{{2}}))?)(?![\w/]|\.[0-9])"
    rf"|(?P<compact>(?:19|20)[0-9]{{2}}/[0-9]{{1,2}}/[0-9]{{1,2}})(?![\w/])"
    rf"|(?P<range>(?:{_NAMES})\.?\s{{1,3}}{_DAY}\s?(?:[-\u2013]|to|through|until)\s?{_DAY}(?:,?\s[0-9]{{4}})?)(?![\w])"
    rf"|(?P<range_first>{_DAY}\s?(?:[-\u2013]|to|through|until)\s?{_DAY}(?:\sof)?\s{{1,3}}(?:{_NAMES})(?:\.?,?\s{{1,3}}[0-9]{{4}})?)(?![\w])"
    rf"|(?P<month_first>(?:{_NAMES})\.?\s{{1,3}}{_DAY}(?:(?:,|\sof)?\s{{1,3}}[0-9]{{4}})?)(?![\w])"
    rf"|(?P<day_first>{_DAY}(?:\sof)?[\s-]{{1,3}}(?:{_NAMES})(?:\.?,?[\s-]{{1,3}}[0-9]{{4}})?)(?![\w])"
    r")",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"[0-9]+")
_LETTERS: Final = re.compile(r"[A-Za-z]+")
# No text without one of these holds a date: it spares most strings the slower search.
_HINT: Final = re.compile(
    r"[0-9][-/.][0-9]|(?:19|20)[0-9]{6}|[0-9][a-z]{0,2}[\s-].{0,3}[a-z]{3}|[a-z]{3}\.?\s[0-3]?[0-9]",
    re.IGNORECASE,
)
_RANGES: Final = ("range", "range_first")

Day = tuple[int, int, int]


class Dated(NamedTuple):
    """A date in a text: its place, the day (year 0: not said), the rule, and what is uncertain."""

    start: int
    end: int
    day: Day
    rule: str
    note: str | None = None


def dates(text: str) -> Iterator[Dated]:
    """Yield the dates of a text, each reading of an ambiguous one."""
    if len(text) < 3 or not _HINT.search(text):
        return
    for found in _DATE.finditer(text):
        start, end = found.span()
        numbers = [int(digits) for digits in _NUMBERS.findall(found[0])]
        match found.lastgroup:
            case "iso" | "compact":
                yield from _checked(start, end, (numbers[0], numbers[1], numbers[2]), "date_form")
            case "basic":
                year, rest = divmod(int(found[0]), 10_000)
                yield from _checked(start, end, (year, *divmod(rest, 100)), "date_form")
            case "numeric" | "dashed":
                yield from _numeric(start, end, numbers, found[0])
            case named:
                days, years = (numbers[:2], numbers[2:]) if named in _RANGES else (numbers[:1], numbers[1:])
                month = next(_MONTHS[word] for word in _LETTERS.findall(found[0].lower()) if word in _MONTHS)
                for day in days:
                    rule = "date_named" if years else "date_without_year"
                    yield from _checked(start, end, (years[0] if years else 0, month, day), rule)


def one_date(text: str) -> Day | None:
    """Return the day, with its year, that a text is and nothing else; None if it is none, or ambiguous."""
    if len(text) > 40:
        return None
    found = list(dates(text))
    if len(found) == 1 and (found[0].start, found[0].end) == (0, len(text)) and found[0].day[0]:
        return found[0].day
    return None


def day_of_the_year(text: str) -> tuple[int, int] | None:
    """Return the month and day that a text is and nothing else, without a year; None if it is none."""
    if len(text) > 40:
        return None
    found = list(dates(text))
    if len(found) == 1 and (found[0].start, found[0].end, found[0].day[0]) == (0, len(text), 0):
        return found[0].day[1:]
    return None


def _numeric(start: int, end: int, numbers: list[int], text: str) -> Iterator[Dated]:
    first, second = numbers[0], numbers[1]
    year = numbers[2] if len(numbers) > 2 else 0
    if len(numbers) == 2 and "." in text:
        return  # A decimal number, far more often than a day and a month.
    if year and year < 100:
        year += 2000 if year < 70 else 1900
    month_first = list(_checked(start, end, (year, first, second), "date_month_first"))
    day_first = list(_checked(start, end, (year, second, first), "date_day_first"))
    if month_first and day_first and first != second:
        for dated in month_first + day_first:
            yield dated._replace(note="ambiguous: day and month can be told apart only by guessing")
    else:
        yield from month_first or day_first


def _checked(start: int, end: int, day: Day, rule: str) -> Iterator[Dated]:
    year, month, number = day
    if 1 <= month <= 12 and 1 <= number <= calendar.monthrange(year or 2024, month)[1] and year <= 9999:
        yield Dated(start, end, day, rule)
