"""When something periodic is due: five fields of cron, on the clocks of a time zone."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from tachograph.domain.errors import ExtraMissing

_FIELDS: Final = 5
_LENGTH_MAX: Final = 200
_CHANCE: Final = re.compile(r"\b[RH]\b", re.IGNORECASE)  # croniter's own: a time by chance, or by a hash.
_SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
_STEPS_MAX: Final = 300


def check_cron(cron: str) -> str:
    """
    Return five fields of cron that name times which come, the same ones whoever asks.

    Raises:
        ValueError: They don't.
        ExtraMissing: croniter isn't installed.
    """
    croniter = _croniter()
    fields = cron.split()
    if len(cron) > _LENGTH_MAX or len(fields) != _FIELDS or _CHANCE.search(cron):
        raise ValueError("not the five fields of cron")
    if not croniter.is_valid(cron):
        raise ValueError("not the five fields of cron")
    try:
        croniter(cron, _SOME_TIME).get_prev(datetime)
    except ValueError as exc:
        raise ValueError("no such time ever comes") from exc
    return cron


def due_before(cron: str, zone: ZoneInfo, now: datetime) -> datetime:
    """
    Return the last time at or before `now` that the clocks of a zone stood at a time of `cron`, in UTC.

    A time that clocks put forward leave out is due when they would have shown it; one that clocks put back
    show twice is due the first time alone.
    """
    local = now.astimezone(zone)
    shown = local.replace(tzinfo=UTC)  # What the clock shows, as a time that passes without a leap.
    if local.fold:
        shown += _offset(local.replace(fold=0)) - _offset(local)  # Shown before it was put back.
    times = _croniter()(cron, shown + timedelta(seconds=1))
    for _ in range(_STEPS_MAX):
        found: datetime = times.get_prev(datetime)
        due = found.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if due <= now:
            return due
    raise AssertionError("a clock is never put back by more minutes than that")


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()


def _croniter() -> Any:
    try:
        from croniter import croniter  # type: ignore[import-untyped]  # it has no types
    except ImportError as exc:
        raise ExtraMissing("workers") from exc
    return croniter
