"""Arbitrary legal runs, and orders in which their events reach the log."""

from datetime import datetime, timedelta
from uuid import UUID

from hypothesis import strategies as st

from tachograph.domain.events import Event

from .stories import NOON, Story, begun, ended, failure, result, resumed, run_id, started, turn


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Draw a legal run, perhaps still open, with a clock that jumps back and forth."""
    now = NOON

    def at() -> datetime:
        nonlocal now
        now += timedelta(milliseconds=draw(st.integers(-5_000, 5_000)))
        return now

    trace_id, tenant = draw(st.sampled_from("abc")), draw(st.sampled_from(["shop", "other"]))
    events: Story = [started(trace_id, tenant, recorded_at=at())]
    for step in range(1, draw(st.integers(0, 3)) + 1):
        calls = draw(st.integers(0, 2))
        events.append(turn(step, calls, at=at()))
        for index in range(1, calls + 1):
            key = f"{step}.{index}"
            if draw(st.booleans()):
                events.append(begun(key, at=at()))
            if draw(st.integers(0, 5)) == 0:
                events.append(resumed(at=at(), owner=f"host:{step}:cccccccc"))
            outcome = draw(st.sampled_from([result, failure]))
            events.append(outcome(key, at=at()))
    if draw(st.booleans()):
        events.append(ended(draw(st.sampled_from(["answered", "handed_off", "blocked"])), at=at()))
    return events


@st.composite
def interleavings(draw: st.DrawFn) -> list[tuple[UUID, int, Event]]:
    """Draw runs and an order in which their events reach the log: (run, version, event)."""
    runs = draw(st.lists(stories(), min_size=1, max_size=4))
    left = {number: list(enumerate(story, start=1)) for number, story in enumerate(runs, start=1)}
    log: list[tuple[UUID, int, Event]] = []
    while left:
        number = draw(st.sampled_from(sorted(left)))
        version, event = left[number].pop(0)
        log.append((run_id(number), version, event))
        if not left[number]:
            del left[number]
    return log
