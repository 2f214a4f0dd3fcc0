"""
The loop: the one place where a run's effects happen.

`next_action` decides from the record alone; here it is carried out and recorded. Nothing that is not
in the store influences the next action.
"""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

from tachograph.adapters.approving import approval_for
from tachograph.adapters.executing import Succeeded, execute
from tachograph.adapters.limiting import Gate
from tachograph.adapters.under_way import under_way
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.admission import Kind
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.asking import approval_asked
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.errors import RunInDoubt, RunTakenOver, VersionConflict
from tachograph.domain.events import Event, ModelTurn
from tachograph.domain.messages import NO_HISTORY, History, ModelRequest
from tachograph.domain.next_action import AskModel, ExecuteCalls, Finish, Wait, next_action
from tachograph.domain.ports import Append, Clock, EventStore, Ids, Model
from tachograph.domain.recording import (
    context_of,
    failure_of,
    refusal_of,
    start_of,
    success_of,
    terminal_of,
    turn_of,
)
from tachograph.domain.run import RunState, evolve


@dataclass(frozen=True)
class World:
    """
    The ports of one run.

    Args:
        gate: Where its calls of models and tools wait for others; None: they don't.
    """

    store: EventStore
    model: Model
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)
    gate: Gate | None = None

    def passed(self, run: RunState, kind: Kind, name: str) -> AbstractAsyncContextManager[None]:
        """Wait until a call of the run may be made, and count it until the block ends."""
        return self.gate.passed(run.started.context.tenant, kind, name) if self.gate else nullcontext()


async def drive(agent: Agent, run: RunState, world: World, history: History = NO_HISTORY) -> RunState:
    """
    Carry an open run to its end and return its last state.

    Raises:
        ModelError: The model gave no answer; the run stays open.
        RunInDoubt: A person has to find out what a call did; the run stays open.
        RunTakenOver: Another process appended to the run, or it was cancelled.
        StoreError: The record could not be written; nothing is done that isn't recorded.
        KeyboardInterrupt, SystemExit: A handler raised it; recorded, and the run stays open.
    """
    with under_way(run.run_id):
        while not run.ended:
            match next_action(agent, run, history):
                case AskModel(request):
                    async with world.passed(run, "model", agent.model_name):
                        turn = await ask(request, world)
                    run = await record(world, run, turn)
                case ExecuteCalls(calls):
                    for call in calls:
                        run = await answer(call, agent, run, world)
                case Finish() as end:
                    run = await finish(end, agent, run, world)
                case Wait(calls):
                    raise RunInDoubt(run.run_id, calls)
        return run


async def record(world: World, run: RunState, *events: Event) -> RunState:
    """Append events to the run, durably, and return the state after them."""
    try:
        await world.store.append(run.run_id, events, expected_version=run.version)
    except VersionConflict as exc:
        raise RunTakenOver(run.run_id) from exc
    for event in events:
        run = evolve(run.run_id, run, event)
    return run


async def ask(request: ModelRequest, world: World) -> ModelTurn:
    """Ask the model and return its turn, ready to be recorded."""
    started = world.clock.monotonic()
    reply = await world.model.complete(request)
    return turn_of(request, reply, world.clock.now(), _since(started, world))


async def answer(call: ReadyCall | RefusedCall, agent: Agent, run: RunState, world: World) -> RunState:
    """Execute or refuse one call and record what came of it."""
    if isinstance(call, RefusedCall):
        return await record(world, run, refusal_of(call, world.clock.now()))
    async with world.passed(run, "tool", call.tool.name):
        return await carry_out(call, agent, run, world)


async def carry_out(call: ReadyCall, agent: Agent, run: RunState, world: World) -> RunState:
    """Execute one call, its start recorded first where it may change something, and its result."""
    context = context_of(call, run)
    start = start_of(call, context, world.clock.now())
    if start is not None:
        run = await record(world, run, start)
    began = world.clock.monotonic()
    result = await execute(call, context, agent.output_max)
    duration_ms = _since(began, world)
    if isinstance(result, Succeeded):
        return await record(world, run, success_of(call, result.output, world.clock.now(), duration_ms))
    run = await record(world, run, failure_of(call.request, result, world.clock.now(), duration_ms))
    if result.raised is not None:
        raise result.raised
    return run


async def finish(end: Finish, agent: Agent, run: RunState, world: World) -> RunState:
    """Record the end of a run, in one transaction with the approval that it asks for, if it does."""
    terminal = terminal_of(end, run, world.clock.now())
    if approval_asked(agent, run, terminal) is None:
        return await record(world, run, terminal)
    approval = await asyncio.to_thread(approval_for, agent, run, terminal, world.store)
    try:
        await world.store.append_together([Append(run.run_id, [terminal], run.version), approval])
    except VersionConflict as exc:
        raise RunTakenOver(run.run_id) from exc
    return evolve(run.run_id, run, terminal)


def _since(started: float, world: World) -> int:
    return max(0, round((world.clock.monotonic() - started) * 1000))
