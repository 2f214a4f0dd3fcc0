"""Runs out of a store: one as its state, or a chain of them as the conversation that they held."""

from typing import Final
from uuid import UUID

from tachograph.adapters.collector import collector_paused
from tachograph.domain.agent import Agent
from tachograph.domain.errors import CorruptRun, RunNotFound
from tachograph.domain.events import Recorded, Unreadable
from tachograph.domain.messages import History
from tachograph.domain.ports import EventStore
from tachograph.domain.run import RunState, fold

_CHAIN_MAX: Final = 1000


def load(store: EventStore, run_id: UUID, *, up_to: int | None = None) -> RunState:
    """
    Rebuild a run from the store.

    Raises:
        RunNotFound: No such run.
        CorruptRun: Its events don't fold.
    """
    with collector_paused():
        entries = store.read(run_id, up_to=up_to)
        if not entries:
            raise RunNotFound(run_id)
        return fold(run_id, entries)


def read_recorded(store: EventStore, run_id: UUID) -> list[Recorded]:
    """
    Return a run's events.

    Raises:
        RunNotFound: No such run.
        CorruptRun: One of them can't be read.
    """
    entries = store.read(run_id)
    if not entries:
        raise RunNotFound(run_id)
    events: list[Recorded] = []
    for entry in entries:
        if isinstance(entry, Unreadable):
            raise CorruptRun(run_id, entry.version, entry.why)
        events.append(entry)
    return events


def history_of(store: EventStore, agent: Agent, run_id: UUID, tenant: str) -> History:
    """
    Return a tenant's run and those that it continues.

    Raises:
        RunNotFound: One of them is not there, or another tenant's.
    """
    return History(_chain(store, run_id, tenant), agent.shown_max)


def chain_of(store: EventStore, run: RunState) -> tuple[RunState, ...]:
    """Return the runs that a run continues, oldest first. Raises as `history_of`."""
    return _chain(store, run.started.continues, run.started.context.tenant)


def _chain(store: EventStore, following: UUID | None, tenant: str) -> tuple[RunState, ...]:
    runs: list[RunState] = []
    while following is not None and len(runs) < _CHAIN_MAX:
        state = load(store, following)
        if state.started.context.tenant != tenant:
            raise RunNotFound(following)
        runs.append(state)
        following = state.started.continues
    return tuple(reversed(runs))
