"""Calendar periods: the last whole day, week, month, quarter or year of a time zone."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

Period = Literal["last day", "last week", "last month", "last quarter", "last year"]


def last_whole(period: Period, at: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """
    Return the last calendar period that was over at a time: from, and before which time, in UTC.

    Weeks begin on Monday. A day on which clocks are put forward or back has 23 or 25 hours.

    Raises:
        OverflowError, ValueError: It would begin before the year 1.
    """
    begins = _BEGINS[period]
    ended = begins(at.astimezone(zone).date())
    began = begins(ended - timedelta(days=1))
    return _midnight(began, zone), _midnight(ended, zone)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


_BEGINS: Final[Mapping[Period, Callable[[date], date]]] = {
    "last day": lambda day: day,
    "last week": lambda day: day - timedelta(days=day.weekday()),
    "last month": lambda day: day.replace(day=1),
    "last quarter": lambda day: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
    "last year": lambda day: day.replace(month=1, day=1),
}
