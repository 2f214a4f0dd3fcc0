"""The period of a report, as somebody gives it: days or times, in a time zone."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tachograph.domain.errors import TachographError


class InvalidPeriod(TachographError, ValueError):
    """A period, time zone or position that no report can be made of."""


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


def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name. Raises InvalidPeriod: There is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidPeriod(f"no time zone {name[:80]!r} here; write UTC or Europe/Vienna") from exc
