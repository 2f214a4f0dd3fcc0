"""Start a run, resume one, cancel one."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from tachograph.adapters.defining import begin
from tachograph.adapters.limiting import Gate
from tachograph.adapters.loading import history_of, load
from tachograph.adapters.loop import World, drive, record
from tachograph.adapters.stores.opening import DEFAULT_URL, open_store
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.context import TrustedContext, check_party, check_request_id
from tachograph.domain.errors import InvalidAgent, RunClosed, RunOpen, RunTakenOver, VersionConflict
from tachograph.domain.events import Outcome, RunResumed
from tachograph.domain.messages import NO_HISTORY
from tachograph.domain.origins import Message
from tachograph.domain.ports import Clock, EventStore, Ids, Model
from tachograph.domain.recording import run_start
from tachograph.domain.run import RunState, evolve
from tachograph.domain.text import storable

_REQUESTS: Final = uuid5(NAMESPACE_URL, "urn:tachograph:request")


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `arguments`: JSON text of the terminal call, if one ended it."""

    run_id: UUID
    trace_id: str
    outcome: Outcome
    reason: str | None
    arguments: str | None
    steps: int
    version: int


async def run(
    agent: Agent,
    input: str | Sequence[Message],
    context: TrustedContext,
    *,
    model: Model | None = None,
    store: EventStore | str = DEFAULT_URL,
    request_id: str | None = None,
    continues: UUID | None = None,
    gate: Gate | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> RunOutcome:
    """
    Run an agent to its end and return the outcome.

    Args:
        input: What the customer said, or several messages.
        context: What the caller's session vouches for.
        model: Answers in place of the agent's own.
        store: An open store, or the URL of one that is opened and closed here.
        request_id: Makes the call repeatable: the same id and tenant give the same run, whose
            outcome is returned if it has ended.
        continues: A run whose conversation this one goes on with.
        gate: Where its calls wait, so that all runs of the process keep to the limits.
    Raises:
        InvalidAgent: There is no model, neither the agent's nor another.
        InvalidId: The request id is not 1 to 200 printable characters.
        RunOpen: The request's run exists and has not ended.
        RunNotFound: No run of this tenant to continue.
        ModelError, RunTakenOver, StoreError: As `drive`; what is recorded stays.
    """
    clock, ids = clock or SystemClock(), ids or SystemIds()
    with opened_store(store) as opened:
        world = World(opened, model_for(agent, model), clock, ids, gate)
        history = NO_HISTORY
        if continues is not None:
            history = await asyncio.to_thread(history_of, opened, agent, continues, context.tenant)
        run_id = ids.run_id() if request_id is None else request_run(context, request_id)
        messages, notes = storable_input(input)
        started = run_start(
            agent,
            context,
            messages,
            clock.now(),
            ids.owner(),
            request_id=request_id,
            continues=continues,
            altered=notes or None,
        )
        try:
            await begin(opened, agent, run_id, [started])
        except VersionConflict:
            if request_id is None:
                raise
            return outcome_of(_ended(await asyncio.to_thread(load, opened, run_id)))
        return outcome_of(await drive(agent, evolve(run_id, None, started), world, history))


async def resume(
    agent: Agent,
    run_id: UUID,
    *,
    model: Model | None = None,
    store: EventStore | str = DEFAULT_URL,
    actor: str = "anonymous",
    reason: str = "its process ended",
    gate: Gate | None = None,
    version: int | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> RunOutcome:
    """
    Take an open run over and carry it to its end.

    The takeover is recorded first, so whoever owned the run can't append to it any more. What is
    recorded is not done again: no model call for a recorded turn, no second execution of a `once`
    tool.

    Args:
        version: Where the run is, as whoever decided to resume it saw it; None: wherever it is.
    Raises:
        InvalidId: The actor is not 1 to 200 printable characters.
        RunNotFound, RunClosed: There is nothing to resume.
        RunTakenOver: Also where it has moved past `version`; it is left alone then.
        ModelError, StoreError: As `drive`.
    """
    check_party(actor)
    reason, _ = storable("reason", reason)
    with opened_store(store) as opened:
        world = World(opened, model_for(agent, model), clock or SystemClock(), ids or SystemIds(), gate)
        state = await asyncio.to_thread(load, opened, run_id)
        if version not in (None, state.version):
            raise RunTakenOver(run_id)
        if state.terminal is not None:
            raise RunClosed(run_id, state.terminal.outcome)
        if state.started.agent != agent.name:
            raise InvalidAgent(f"run {run_id} is of agent {state.started.agent}, not {agent.name}")
        history = NO_HISTORY
        if state.started.continues is not None:
            tenant = state.started.context.tenant
            history = await asyncio.to_thread(history_of, opened, agent, state.started.continues, tenant)
        taken = RunResumed(recorded_at=world.clock.now(), owner=world.ids.owner(), actor=actor, reason=reason)
        state = await record(world, state, taken)
        return outcome_of(await drive(agent, state, world, history))


def run_sync(*args: Any, **kwargs: Any) -> RunOutcome:
    """Do what `run` does, for callers without an event loop."""
    return asyncio.run(run(*args, **kwargs))


def outcome_of(state: RunState) -> RunOutcome:
    """Return the outcome of an ended run."""
    terminal = state.terminal
    assert terminal is not None
    return RunOutcome(
        run_id=state.run_id,
        trace_id=state.started.context.trace_id,
        outcome=terminal.outcome,
        reason=terminal.reason,
        arguments=terminal.arguments,
        steps=len(state.steps),
        version=state.version,
    )


def _ended(state: RunState) -> RunState:
    if not state.ended:
        raise RunOpen(state.run_id)
    return state


def model_for(agent: Agent, model: Model | None) -> Model:
    """Return who answers: the model that is given, or the agent's own. Raises InvalidAgent: Neither."""
    chosen = model or agent.model
    if chosen is None:
        raise InvalidAgent(f"{agent.name} has no model; give it one, or give one to the run")
    return chosen


def request_run(context: TrustedContext, request_id: str) -> UUID:
    """Return the id of a request's run. Raises InvalidId: The request id breaks the rule."""
    name = f"{len(context.tenant)}:{context.tenant}:{check_request_id(request_id)}"
    return uuid5(_REQUESTS, name)


def storable_input(
    input: str | Sequence[Message],
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the messages as they can be stored, and notes of what was altered for it."""
    messages = [Message(role="user", content=input)] if isinstance(input, str) else list(input)
    notes: list[str] = []
    for index, message in enumerate(messages):
        content, altered = storable(f"input.{index}", message.content)
        messages[index] = Message(role=message.role, content=content)
        notes += altered
    return tuple(messages), tuple(notes)


@contextmanager
def opened_store(store: EventStore | str) -> Iterator[EventStore]:
    """Give an open store as it is, or open the one that a URL names and close it afterwards."""
    if not isinstance(store, str):
        yield store
        return
    opened = open_store(store)
    try:
        yield opened
    finally:
        opened.close()
