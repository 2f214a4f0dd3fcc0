"""The effect of a granted approval: run once, under one key, with the crash rule of a tool."""

import asyncio
from typing import Final
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.deciding import Office, definition_of
from tachograph.adapters.executing import Succeeded, execute
from tachograph.adapters.loading import load
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.answering import contradiction
from tachograph.domain.approvals.approval import ApprovalState, evolve_approval
from tachograph.domain.approvals.effects import context_of_effect, ready, start_of_effect
from tachograph.domain.approvals.events import ApprovalExecuted
from tachograph.domain.errors import CorruptRun, VersionConflict
from tachograph.domain.recorded_event import Settlement
from tachograph.domain.text import storable

UNKNOWN: Final = "The process that ran this died before it could record the result. It may have taken effect."


async def carry_out(office: Office, agent: Agent, state: ApprovalState) -> ApprovalState:
    """
    Run the effect of an approval whose start has just been recorded, and record what came of it.

    Raises:
        InvalidAgent: The agent can't carry it out; it stays started.
        CorruptRun: What was approved is not what the run asked for any more; nothing is done.
        StoreError: The result could not be recorded; it stays started.
        KeyboardInterrupt, SystemExit: The handler raised it; recorded.
    """
    run = await asyncio.to_thread(load, office.store, state.requested.run_id)
    contradicted = contradiction(state, run)
    if contradicted is not None:
        raise CorruptRun(state.approval_id, state.version, contradicted[1])
    call = ready(definition_of(agent, state), state)
    began = office.clock.monotonic()
    result = await execute(call, context_of_effect(call, run), agent.output_max)
    duration_ms = max(0, round((office.clock.monotonic() - began) * 1000))
    now = office.clock.now()
    if isinstance(result, Succeeded):
        return await _record(
            office, state, ApprovalExecuted(recorded_at=now, output=result.output, duration_ms=duration_ms)
        )
    message, _ = storable("message", result.message)
    after = await _record(
        office,
        state,
        ApprovalExecuted(recorded_at=now, code=result.code, message=message, duration_ms=duration_ms),
    )
    if result.raised is not None:
        raise result.raised
    return after


async def pick_up(office: Office, agent: Agent, approval_id: UUID) -> ApprovalState:
    """
    Go on with an effect that was started and never finished, or that failed and may run again.

    One that may not run again by itself is recorded as of unknown outcome, for a person to settle.

    Raises:
        ApprovalNotFound: No such approval.
        InvalidAgent, StoreError: As `carry_out`.
    """
    state = await asyncio.to_thread(load_approval, office.store, approval_id)
    definition = definition_of(agent, state)
    may_repeat = state.started is not None and state.started.effect != "once"
    if state.execution == "failed" and may_repeat and not state.is_settled:
        run = await asyncio.to_thread(load, office.store, state.requested.run_id)
        again = start_of_effect(definition, state, run, office.clock.now(), office.ids.owner())
        await office.store.append(approval_id, [again], expected_version=state.version)
        return await carry_out(office, agent, evolve_approval(approval_id, state, again))
    if state.execution != "started":
        return state
    if may_repeat:
        return await carry_out(office, agent, state)
    unknown = ApprovalExecuted(recorded_at=office.clock.now(), code="outcome_unknown", message=UNKNOWN)
    return await _record(office, state, unknown)


async def _record(office: Office, state: ApprovalState, executed: ApprovalExecuted) -> ApprovalState:
    """Record the result, also where somebody has called it unknown meanwhile."""
    while True:
        try:
            await office.store.append(state.approval_id, [executed], expected_version=state.version)
        except VersionConflict:
            state = await asyncio.to_thread(load_approval, office.store, state.approval_id)
            if state.execution == "unknown" and executed.code != "outcome_unknown":
                late = Settlement(actor="tachograph", reason="the process that ran it reported after all")
                executed = executed.model_copy(update={"settled": late})
            elif state.execution != "started":
                return state
            continue
        return evolve_approval(state.approval_id, state, executed)
