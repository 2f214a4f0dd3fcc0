"""The runs of a trace as one record, in an order that the events themselves tell."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from tachograph.domain.events import Recorded, RunStarted

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def in_order(runs: Mapping[UUID, Sequence[Recorded]]) -> list[Recorded]:
    """
    Return the events of all runs in the order of their recorded times.

    Within a run the version decides, whatever its clock did; a run that continues another one comes
    after it as a whole. So the order is the same on every store.

    Args:
        runs: The events of each run, from its first.
    """
    placed: list[tuple[datetime, int, int, Recorded]] = []
    ends: dict[UUID, datetime] = {}
    for number, run_id in enumerate(_run_order(runs)):
        started = runs[run_id][0].event
        continued = started.continues if isinstance(started, RunStarted) else None
        latest = ends.get(continued, _EARLIEST) if continued else _EARLIEST
        for entry in runs[run_id]:
            latest = max(latest, entry.event.recorded_at)
            placed.append((latest, number, entry.version, entry))
        ends[run_id] = latest
    placed.sort(key=lambda place: place[:3])
    return [entry for *_, entry in placed]


def _run_order(runs: Mapping[UUID, Sequence[Recorded]]) -> Iterable[UUID]:
    """Return the runs by start, each after the one that it continues."""
    waiting = sorted(runs, key=lambda run_id: (runs[run_id][0].event.recorded_at, run_id.int))
    following: dict[UUID | None, list[UUID]] = {}
    for run_id in waiting:
        started = runs[run_id][0].event
        continued = started.continues if isinstance(started, RunStarted) else None
        following.setdefault(continued if continued in runs else None, []).append(run_id)
    order: dict[UUID, None] = {}
    open_runs = following.get(None, [])[::-1]
    while open_runs:
        run_id = open_runs.pop()
        order[run_id] = None
        open_runs += following.get(run_id, [])[::-1]
    for run_id in waiting:  # Runs that continue each other in a circle, which only a forged record has.
        order.setdefault(run_id)
    return order
