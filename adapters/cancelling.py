"""Cancel a run, wherever it is."""

import asyncio
from typing import Final
from uuid import UUID

from tachograph.adapters.loading import load
from tachograph.adapters.running import RunOutcome, opened_store, outcome_of
from tachograph.adapters.stores.opening import DEFAULT_URL
from tachograph.adapters.under_way import stop
from tachograph.adapters.world import SystemClock
from tachograph.domain.context import check_party
from tachograph.domain.errors import RunClosed, VersionConflict
from tachograph.domain.events import Terminal
from tachograph.domain.ports import Clock, EventStore
from tachograph.domain.run import RunState, evolve

_TRIES: Final = 20


async def cancel(
    run_id: UUID,
    *,
    store: EventStore | str = DEFAULT_URL,
    actor: str = "anonymous",
    clock: Clock | None = None,
) -> RunOutcome:
    """
    End an open run as `blocked`, reason `cancelled`.

    What this process is doing for it stops at once: an async tool or a model call is cancelled, a thread
    can't be and its result is dropped. Another process that works on it stops at its next step.

    Raises:
        InvalidId: The actor is not 1 to 200 printable characters.
        RunNotFound, RunClosed: There is nothing to cancel.
        VersionConflict: The run moves on all the time.
    """
    check_party(actor)
    with opened_store(store) as opened:
        state = await _end_as_cancelled(opened, run_id, actor, clock or SystemClock())
    stop(run_id)
    return outcome_of(state)


async def _end_as_cancelled(store: EventStore, run_id: UUID, actor: str, clock: Clock) -> RunState:
    for tries_left in reversed(range(_TRIES)):
        state = await asyncio.to_thread(load, store, run_id)
        if state.terminal is not None:
            raise RunClosed(run_id, state.terminal.outcome)
        event = Terminal(
            recorded_at=clock.now(),
            outcome="blocked",
            reason="cancelled",
            actor=actor,
            totals=state.totals,
        )
        try:
            await store.append(run_id, [event], expected_version=state.version)
        except VersionConflict:  # It moved on at the same moment.
            if not tries_left:
                raise
        else:
            return evolve(run_id, state, event)
    raise AssertionError("the last try returns or raises")
