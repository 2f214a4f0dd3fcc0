"""Settle by hand what nobody could know after a crash: a call of a run, or the effect of an approval."""

import asyncio
import json
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.loading import load
from tachograph.adapters.running import opened_store
from tachograph.adapters.stores.opening import DEFAULT_URL
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.approvals.approval import ApprovalState, evolve_approval
from tachograph.domain.approvals.events import ApprovalExecuted
from tachograph.domain.context import check_party
from tachograph.domain.errors import NothingToSettle, RunClosed
from tachograph.domain.events import Event, RunResumed, ToolCall
from tachograph.domain.next_action import IN_DOUBT
from tachograph.domain.ports import Clock, EventStore, Ids
from tachograph.domain.recorded_event import Settlement
from tachograph.domain.recording import Failed, failure_of
from tachograph.domain.run import RunState, evolve
from tachograph.domain.text import storable


async def reconcile(
    run_id: UUID,
    call_key: str,
    *,
    output: str | None = None,
    failure: str | None = None,
    reason: str,
    store: EventStore | str = DEFAULT_URL,
    actor: str = "anonymous",
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> RunState:
    """
    Settle a call of an open run of which nobody knows what it did; then the run can be resumed.

    A call under way in a process that may still live is taken over first, as a resume does.

    Args:
        output: What the call gave, as JSON text; or
        failure: what the model is told in place of an output.
        reason: What the settlement rests on, such as the bank's answer.
    Raises:
        InvalidId: The actor is not 1 to 200 printable characters.
        RunNotFound, RunClosed: There is no such open run.
        NothingToSettle: The call is not in doubt.
        VersionConflict: The run moved on at the same moment; try again.
        ValueError: The output isn't JSON text, or neither or both of output and failure are given.
    """
    check_party(actor)
    _check_one(output, failure)
    settled = Settlement(actor=actor, reason=storable("reason", reason)[0])
    clock, ids = clock or SystemClock(), ids or SystemIds()
    with opened_store(store) as opened:
        state = await asyncio.to_thread(load, opened, run_id)
        if state.terminal is not None:
            raise RunClosed(run_id, state.terminal.outcome)
        if call_key not in state.waits_for_settlement:
            raise NothingToSettle(run_id, call_key)
        call = next(call for call in state.steps[-1].turn.calls if call.call_key == call_key)
        events: list[Event] = []
        now = clock.now()
        if call_key not in state.unknown:
            unknown = Failed("outcome_unknown", IN_DOUBT)
            events = [
                RunResumed(recorded_at=now, owner=ids.owner(), actor=actor, reason="to settle a call"),
                failure_of(call, unknown, now, 0),
            ]
        if output is not None:
            events.append(
                ToolCall(
                    recorded_at=now,
                    call_key=call_key,
                    name=call.name,
                    arguments=call.arguments or "{}",
                    output=storable("output", output)[0],
                    duration_ms=0,
                    settled=settled,
                )
            )
        else:
            failed = failure_of(call, Failed("tool_execution_failed", failure or ""), now, 0)
            events.append(failed.model_copy(update={"settled": settled}))
        await opened.append(run_id, events, expected_version=state.version)
        for event in events:
            state = evolve(run_id, state, event)
        return state


async def reconcile_effect(
    approval_id: UUID,
    *,
    output: str | None = None,
    failure: str | None = None,
    reason: str,
    store: EventStore,
    actor: str,
    clock: Clock | None = None,
) -> ApprovalState:
    """
    Settle the effect of an approval that is started and unfinished, failed, or of unknown outcome.

    Raises:
        ApprovalNotFound, NothingToSettle: There is no such approval, or its effect is not in doubt.
        InvalidId, VersionConflict, ValueError: As `reconcile`.
    """
    check_party(actor)
    _check_one(output, failure)
    now = (clock or SystemClock()).now()
    state = await asyncio.to_thread(load_approval, store, approval_id)
    if state.execution not in ("started", "failed", "unknown") or state.is_settled:
        raise NothingToSettle(state.requested.run_id, state.requested.call_key)
    events: list[Event] = []
    if state.execution == "started":
        events = [ApprovalExecuted(recorded_at=now, code="outcome_unknown", message=IN_DOUBT)]
    settled = Settlement(actor=actor, reason=storable("reason", reason)[0])
    code = None if failure is None else "tool_execution_failed"
    events.append(
        ApprovalExecuted(recorded_at=now, output=output, code=code, message=failure, settled=settled)
    )
    await store.append(approval_id, events, expected_version=state.version)
    for event in events:
        state = evolve_approval(approval_id, state, event)
    return state


def _check_one(output: str | None, failure: str | None) -> None:
    if (output is None) == (failure is None):
        raise ValueError("a call is settled by an output or by a failure")
    if output is not None:
        json.loads(output)
