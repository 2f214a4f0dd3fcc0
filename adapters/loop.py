"""
The loop: the one place where a run's effects happen.

`next_action` decides from the record alone; here it is carried out and recorded. Nothing that is not
in the store influences the next action.
"""

from dataclasses import dataclass, field

from tachograph.adapters.executing import Failed, Succeeded, execute
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.arguments import arguments_digest
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.errors import RunTakenOver, VersionConflict
from tachograph.domain.events import CallRequest, Event, ModelTurn, Terminal, ToolCall, ToolError, ToolStarted
from tachograph.domain.messages import NO_HISTORY, History, ModelRequest
from tachograph.domain.next_action import AskModel, ExecuteCalls, Finish, next_action
from tachograph.domain.ports import Clock, EventStore, Ids, Model
from tachograph.domain.run import RunState, evolve
from tachograph.domain.text import storable
from tachograph.domain.tools import ToolContext


@dataclass(frozen=True)
class World:
    """The ports of one run."""

    store: EventStore
    model: Model
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)


async def drive(agent: Agent, run: RunState, world: World, history: History = NO_HISTORY) -> RunState:
    """
    Carry an open run to its end and return its last state.

    Raises:
        ModelError: The model gave no answer; the run stays open.
        RunTakenOver: Another process appended to the run.
        StoreError: The record could not be written; nothing is done that isn't recorded.
        KeyboardInterrupt, SystemExit: A handler raised it; recorded, and the run stays open.
    """
    while not run.ended:
        match next_action(agent, run, history):
            case AskModel(request):
                run = await record(world, run, await ask(request, run, world))
            case ExecuteCalls(calls):
                for call in calls:
                    run = await carry_out(call, agent, run, world)
            case Finish() as finish:
                run = await record(world, run, end(finish, run, world))
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


async def ask(request: ModelRequest, run: RunState, world: World) -> ModelTurn:
    """Ask the model and return its turn, ready to be recorded."""
    started = world.clock.monotonic()
    reply = await world.model.complete(request)
    latency_ms = _since(started, world)
    step = len(run.steps) + 1
    notes: list[str] = []

    def kept(name: str, text: str | None) -> str | None:
        if text is None:
            return None
        text, altered = storable(name, text)
        notes.extend(altered)
        return text

    calls = tuple(
        CallRequest(
            call_key=f"{step}.{index}",
            provider_id=kept(f"calls.{index - 1}.provider_id", call.provider_id),
            name=kept(f"calls.{index - 1}.name", call.name) or "",
            arguments=kept(f"calls.{index - 1}.arguments", call.arguments),
        )
        for index, call in enumerate(reply.calls, start=1)
    )
    return ModelTurn(
        recorded_at=world.clock.now(),
        step=step,
        model_asked=request.model,
        model_answered=kept("model_answered", reply.model),
        request_digest=request.digest,
        text=kept("text", reply.text),
        calls=calls,
        finish_reason=reply.finish_reason,
        finish_reason_raw=kept("finish_reason_raw", reply.finish_reason_raw),
        refusal=kept("refusal", reply.refusal),
        error=kept("error", reply.error),
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        latency_ms=latency_ms,
        response_id=kept("response_id", reply.response_id),
        provider_state=kept("provider_state", reply.provider_state),
        altered=tuple(notes) or None,
    )


async def carry_out(call: ReadyCall | RefusedCall, agent: Agent, run: RunState, world: World) -> RunState:
    """Execute or refuse one call and record what came of it."""
    key, name = call.request.call_key, call.request.name
    if isinstance(call, RefusedCall):
        return await record(world, run, _error(key, name, Failed(call.code, call.message), 0, world))
    context = ToolContext(run.started.context, run.run_id, key, name, call.canonical)
    if call.tool.effect != "read":
        start = ToolStarted(
            recorded_at=world.clock.now(),
            call_key=key,
            name=name,
            effect=call.tool.effect,
            arguments_digest=arguments_digest(call.canonical),
            idempotency_key=context.idempotency_key,
        )
        run = await record(world, run, start)
    started = world.clock.monotonic()
    result = await execute(call, context, agent.output_max)
    duration_ms = _since(started, world)
    if isinstance(result, Succeeded):
        event = ToolCall(
            recorded_at=world.clock.now(),
            call_key=key,
            name=name,
            arguments=call.canonical,
            output=result.output,
            duration_ms=duration_ms,
            declared=dict(call.declared) or None,
        )
        return await record(world, run, event)
    run = await record(world, run, _error(key, name, result, duration_ms, world))
    if result.raised is not None:
        raise result.raised
    return run


def end(finish: Finish, run: RunState, world: World) -> Terminal:
    """Return the event that ends a run."""
    return Terminal(
        recorded_at=world.clock.now(),
        outcome=finish.outcome,
        reason=finish.reason,
        call_key=finish.call.call_key if finish.call else None,
        tool=finish.call.name if finish.call else None,
        arguments=finish.arguments,
        provenance=finish.provenance,
        totals=run.totals,
    )


def _error(key: str, name: str, failed: Failed, duration_ms: int, world: World) -> ToolError:
    message, _ = storable("message", failed.message)
    detail, _ = storable("detail", failed.detail) if failed.detail else (None, [])
    return ToolError(
        recorded_at=world.clock.now(),
        call_key=key,
        name=name,
        code=failed.code,
        message=message,
        detail=detail,
        duration_ms=duration_ms,
    )


def _since(started: float, world: World) -> int:
    return max(0, round((world.clock.monotonic() - started) * 1000))
