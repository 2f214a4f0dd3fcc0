"""Replay runs out of a store: one, or all of them on all cores."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Final
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.collector import collector_paused
from tachograph.adapters.loading import history_of
from tachograph.adapters.stores.opening import open_store
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

CHUNK_RUNS: Final = 100
_IMPORTED: Final = "it was imported, so no definition of its agent is known"
_ALONE_MAX: Final = 2 * CHUNK_RUNS

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


def replay_all(
    url: str,
    store: EventStore,
    run_ids: Sequence[UUID],
    agents: Agents,
    cores: int,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Replayed]:
    """
    Yield what came of the replay of each run, in no order.

    Args:
        url: Of the store, which other processes open for themselves.
        agents: Can be sent to another process.
    """
    if cores == 1 or len(run_ids) <= _ALONE_MAX or getattr(store, "datastore", None) is None:
        for done, run_id in enumerate(run_ids, start=1):
            yield replay_run(store, run_id, agents)
            if progress is not None:
                progress(done, len(run_ids))
        return
    chunks = [run_ids[start : start + CHUNK_RUNS] for start in range(0, len(run_ids), CHUNK_RUNS)]
    context = get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context, initializer=_open, initargs=(url, agents)) as pool:
        waiting = [pool.submit(_replay_chunk, chunk) for chunk in chunks]
        done = 0
        try:
            for finished in as_completed(waiting):
                results = finished.result()
                done += len(results)
                yield from results
                if progress is not None:
                    progress(done, len(run_ids))
        finally:
            pool.shutdown(cancel_futures=True)


def cores_here() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_opened: list[tuple[EventStore, Agents]] = []  # Of a worker process: opened once, for all its chunks.


def _open(url: str, agents: Agents) -> None:
    _opened[:] = [(open_store(url, create=False), agents)]


def _replay_chunk(run_ids: Sequence[UUID]) -> list[Replayed]:
    [(store, agents)] = _opened
    return [replay_run(store, run_id, agents) for run_id in run_ids]


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
