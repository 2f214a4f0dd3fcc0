"""Replay runs out of a store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.collector import collector_paused
from tachograph.adapters.loading import history_of
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.answering import contradiction
from tachograph.domain.approvals.asking import approval_asked
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.errors import CorruptRun, RunNotFound
from tachograph.domain.events import Entry, Recorded, RunStarted
from tachograph.domain.messages import NO_HISTORY
from tachograph.domain.ports import EventStore
from tachograph.domain.replaying import Drift, replay
from tachograph.domain.run import RunState, fold

_IMPORTED: Final = "it was imported, so no definition of its agent is known"

Agents = Callable[[str], Agent | None]


@dataclass(frozen=True, slots=True)
class Replayed:
    """
    What came of a run's replay.

    Args:
        drifts: The first divergence of each kind; none where today's code would do the same.
        unchecked: Why no more than the fold could be checked; None where all was.
    """

    run_id: UUID
    events: int
    drifts: tuple[Drift, ...]
    unchecked: str | None = None


def replay_run(store: EventStore, run_id: UUID, agents: Agents) -> Replayed:
    """
    Replay a run.

    Args:
        agents: Gives today's definition of an agent by its name; None where there is none.
    Raises:
        RunNotFound: No such run, or one that it continues isn't there.
        StoreError: The store failed.
    """
    with collector_paused():
        entries = store.read(run_id)
        if not entries:
            raise RunNotFound(run_id)
        first = entries[0]
        started = first.event if isinstance(first, Recorded) else None
        if not isinstance(started, RunStarted):
            why = "its beginning can't be read"
            return Replayed(run_id, len(entries), (_broken(1, first, why),))
        try:
            state = fold(run_id, entries)
        except CorruptRun as exc:
            at = entries[min(exc.version, len(entries)) - 1]
            return Replayed(run_id, len(entries), (_broken(exc.version, at, exc.why),))
        if started.source is not None:
            return Replayed(run_id, len(entries), (), _IMPORTED)
        agent = agents(started.agent)
        if agent is None:
            return Replayed(run_id, len(entries), (), f"its agent {started.agent} is not given")
        history = NO_HISTORY
        if started.continues is not None:
            history = history_of(store, agent, started.continues, started.context.tenant)
        drifts = replay(agent, entries, history)
        return Replayed(run_id, len(entries), drifts or _of_approval(store, agent, state, entries))


@dataclass(frozen=True, slots=True)
class ReplayRuns:
    """Replays portions of a store's runs, here or elsewhere. `agents`: as of `replay_run`."""

    agents: Agents

    def __call__(self, store: EventStore, portion: Sequence[UUID]) -> list[Replayed]:
        """Return what came of each run of a portion."""
        return [replay_run(store, run_id, self.agents) for run_id in portion]


def _of_approval(
    store: EventStore, agent: Agent, run: RunState, entries: Sequence[Entry]
) -> tuple[Drift, ...]:
    """Compare what a run asks people for with the approval that stands in the store."""
    if run.terminal is None or approval_asked(agent, run, run.terminal) is None:
        return ()
    approval_id = approval_id_of(run.run_id)
    if not store.read(approval_id, up_to=1):
        why = "people are asked, and no approval is recorded"
        return (Drift("outcome", run.version, "an approval", "none", why),)
    try:
        found = contradiction(load_approval(store, approval_id), run)
    except CorruptRun as exc:
        found = ("run_changed", exc.why)
    if found is None:
        return ()
    why = f"approval {approval_id}: {found[1]}"
    return (Drift("record", run.version, "an approval of what the run asks for", "another", why),)


def _broken(version: int, entry: Entry, why: str) -> Drift:
    return Drift("record", version, "an event that can follow", entry.kind, why)
