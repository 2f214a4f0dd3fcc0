"""Submit a run: record that it begins, and let a worker do it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tachograph.adapters.defining import begin_with
from tachograph.adapters.loading import history_of, load
from tachograph.adapters.running import opened_store, request_run, storable_input
from tachograph.adapters.stores.opening import DEFAULT_URL
from tachograph.adapters.workers.queues import Queue, open_queue
from tachograph.adapters.workers.tickets import ticket_of
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.context import TrustedContext, check_party
from tachograph.domain.errors import RunClosed, VersionConflict
from tachograph.domain.events import RunResumed
from tachograph.domain.origins import QUEUE, Message, Queued
from tachograph.domain.ports import Append, Clock, EventStore, Ids
from tachograph.domain.recording import run_start
from tachograph.domain.run import RunState
from tachograph.domain.text import storable


@dataclass(frozen=True, slots=True)
class Submitted:
    """A run in the queue. `already`: it had been submitted, or run, before under the same request id."""

    run_id: UUID
    trace_id: str
    already: bool


async def submit(
    agent: Agent,
    input: str | Sequence[Message],
    context: TrustedContext,
    *,
    store: EventStore | str = DEFAULT_URL,
    queue: Queue | None = None,
    request_id: str | None = None,
    continues: UUID | None = None,
    priority: int = 0,
    not_before: datetime | None = None,
    model_name: str | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Submitted:
    """
    Record a run and put it into the queue, in one transaction. A worker runs it.

    Args:
        input, context, request_id, continues: As of `run`.
        queue: The store's, where many runs are submitted one after the other; else it is opened here.
        priority: The highest one goes first.
        not_before: In UTC; no worker takes it earlier.
        model_name: What the worker is to have answer in place of the agent's own model.
    Raises:
        InvalidId: The request id is not 1 to 200 printable characters.
        RunNotFound: No run of this tenant to continue.
        ExtraMissing: The store is PostgreSQL, and procrastinate isn't installed.
        StoreError: It could not be stored. With a request id, it is safe to submit it again.
    """
    clock, ids = clock or SystemClock(), ids or SystemIds()
    with opened_store(store) as opened:
        if queue is None:
            queue = await asyncio.to_thread(open_queue, opened)
        put = queue.put
        if continues is not None:
            await asyncio.to_thread(history_of, opened, agent, continues, context.tenant)
        run_id = ids.run_id() if request_id is None else request_run(context, request_id)
        messages, notes = storable_input(input)
        started = run_start(
            agent,
            context,
            messages,
            clock.now(),
            QUEUE,
            request_id=request_id,
            continues=continues,
            altered=notes or None,
            queued=Queued(priority=priority, not_before=not_before, model=model_name),
        )

        async def append(appends: Sequence[Append]) -> None:
            await put(appends, ticket_of(run_id, started))

        try:
            await begin_with(opened, agent, Append(run_id, [started], 0), append)
        except VersionConflict:
            if request_id is None:
                raise
            there = await asyncio.to_thread(load, opened, run_id)
            return Submitted(run_id, there.started.context.trace_id, already=True)
        return Submitted(run_id, context.trace_id, already=False)


async def requeue(
    run_id: UUID,
    reason: str,
    *,
    store: EventStore | str = DEFAULT_URL,
    actor: str = "anonymous",
    clock: Clock | None = None,
) -> RunState:
    """
    Put an open run back into the queue: one that was set aside, or that nobody works on.

    It has all its tries again. A process that works on it stops at its next step.

    Raises:
        InvalidId: The actor is not 1 to 200 printable characters.
        RunNotFound, RunClosed: There is no such open run.
        VersionConflict: The run moved on at the same moment; try again.
        StoreError: It is in the queue already, or could not be stored.
    """
    check_party(actor)
    reason, _ = storable("reason", reason)
    with opened_store(store) as opened:
        queue = await asyncio.to_thread(open_queue, opened)
        state = await asyncio.to_thread(load, opened, run_id)
        if state.terminal is not None:
            raise RunClosed(run_id, state.terminal.outcome)
        now = (clock or SystemClock()).now()
        event = RunResumed(recorded_at=now, owner=QUEUE, actor=actor, reason=reason)
        await queue.put([Append(run_id, [event], state.version)], ticket_of(run_id, state.started))
        return state
