"""
What a worker does with a run that it is given, decided from the record alone.

A try is a takeover after which the run has come no further: no turn and no result of a call was recorded. A
run that has had too many of them is set aside, so that one which kills its workers can't kill them for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tachograph.domain.events import Entry, ModelTurn, Recorded, RunResumed, ToolCall, ToolError
from tachograph.domain.origins import ASIDE, QUEUE
from tachograph.domain.run import RunState

WORKER: Final = "worker"  # The actor of a worker's takeovers.
LOOK_AGAIN: Final = timedelta(seconds=30)
PAUSE_FIRST: Final = timedelta(seconds=5)
PAUSE_MAX: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Take:
    """Take the run over and go on with it. `tried`: which try this is, from 1."""

    reason: str
    tried: int


@dataclass(frozen=True, slots=True)
class LookAgain:
    """A person has it, or has to settle a call first: look again at that time."""

    at: datetime


@dataclass(frozen=True, slots=True)
class SetAside:
    """It had its tries: leave it to a person."""

    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """It has ended, or was set aside: nothing is to be done."""


Decision = Take | LookAgain | SetAside | Leave


def decide(
    state: RunState, entries: Sequence[Entry], now: datetime, tries_max: int, *, given_up: bool
) -> Decision:
    """
    Decide what to do with a run that the queue has given out.

    Args:
        entries: All events of the run.
        given_up: Whether the process that took it last has ended or let go of it, as far as can be seen.
    """
    if state.ended or state.owner == ASIDE:
        return Leave()
    if state.unknown:
        return LookAgain(now + LOOK_AGAIN)
    if state.owner != QUEUE and not given_up:
        return LookAgain(now + LOOK_AGAIN)
    before = tries(entries)
    if before >= tries_max:
        return SetAside(f"tried {before} times, and it came no further")
    reason = "taken from the queue" if state.owner == QUEUE else "its process ended, or failed"
    return Take(reason, before + 1)


def tries(entries: Sequence[Entry]) -> int:
    """Count who took the run and came no further than where it is now, since it was queued."""
    count = 0
    for entry in reversed(entries):
        event = entry.event if isinstance(entry, Recorded) else None
        if isinstance(event, ModelTurn | ToolCall | ToolError):
            return count + 1  # Whoever recorded this came to where the run is now.
        if isinstance(event, RunResumed):
            if event.owner == QUEUE:
                break
            count += 1
    return count


def pause_after(tried: int) -> timedelta:
    """Return how long a run rests after a try that failed: 5 s, 10 s, 20 s, ... up to ten minutes."""
    return min(PAUSE_FIRST * (1 << min(tried - 1, 10)), PAUSE_MAX)
