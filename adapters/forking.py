"""Fork a run of a store, and drive the fork to its end."""

import asyncio
from collections.abc import Mapping
from uuid import UUID

from tachograph.adapters.defining import begin
from tachograph.adapters.loading import history_of, read_recorded
from tachograph.adapters.loop import World, drive
from tachograph.adapters.running import RunOutcome, model_for, outcome_of
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import RunStarted
from tachograph.domain.forking import fork_of
from tachograph.domain.messages import NO_HISTORY
from tachograph.domain.ports import Clock, EventStore, Ids, Model
from tachograph.domain.run import RunState, evolve


async def fork(
    agent: Agent,
    run_id: UUID,
    step: int,
    *,
    store: EventStore,
    model: Model | None = None,
    edits: Mapping[str, str] | None = None,
    live: bool = False,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> RunOutcome:
    """
    Begin a run with the steps of another one up to a step, and carry it to its end.

    The model is asked for what comes after that step alone.

    Args:
        agent: Today's; its instructions may differ from those that the original had.
        edits: Outputs that take the place of the recorded ones, as JSON text, by call key.
        live: Whether it may change the world and ask for approvals. Else its tools that don't only read
            are refused.
    Raises:
        RunNotFound, StepNotFound, CallNotFound: There is nothing to share.
        ValueError: An edit isn't JSON text.
        InvalidAgent, ModelError, StoreError: As `run`.
    """
    answering = model_for(agent, model)
    world = World(store, answering, clock or SystemClock(), ids or SystemIds())
    original = await asyncio.to_thread(read_recorded, store, run_id)
    started = original[0].event
    if not isinstance(started, RunStarted) or started.agent != agent.name:
        raise InvalidAgent(f"run {run_id} is not of agent {agent.name}")
    history = NO_HISTORY
    if started.continues is not None:
        tenant = started.context.tenant
        history = await asyncio.to_thread(history_of, store, agent, started.continues, tenant)
    fork_id = world.ids.run_id()
    events = fork_of(
        agent, original, step, edits or {}, live=live, run_id=fork_id, clock=world.clock, ids=world.ids
    )
    await begin(store, agent, fork_id, events)
    state: RunState | None = None
    for event in events:
        state = evolve(fork_id, state, event)
    assert state is not None, "a fork has its start"
    return outcome_of(await drive(agent, state, world, history))
