"""People's answers to approvals, and what follows: an effect run once, or a run that goes on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from tachograph.adapters.approving import load_approval
from tachograph.adapters.loading import load
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.answering import Answer, Approver, answered, escalation, expiry
from tachograph.domain.approvals.approval import ApprovalState, evolve_approval
from tachograph.domain.approvals.definition import Approval
from tachograph.domain.approvals.effects import ready, start_of_effect
from tachograph.domain.approvals.events import ApprovalRefused
from tachograph.domain.arguments import ArgumentsRefused, reread_arguments
from tachograph.domain.context import check_party
from tachograph.domain.errors import AnswerRefused, ApprovalNotFound, InvalidAgent, VersionConflict
from tachograph.domain.events import Event
from tachograph.domain.origins import Message
from tachograph.domain.ports import Append, Clock, EventStore, Ids
from tachograph.domain.recording import run_start
from tachograph.domain.run import RunState
from tachograph.domain.text import storable
from tachograph.domain.values import json_text
from tachograph.projections.approvals import APPROVALS

_FOLLOWING: Final = uuid5(NAMESPACE_URL, "urn:tachograph:decision")


@dataclass(frozen=True)
class Office:
    """The ports that a decision needs."""

    store: EventStore
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)


async def answer(
    office: Office,
    agent: Agent,
    approval_id: UUID,
    approver: Approver,
    said: Answer,
    reason: str,
    *,
    tenant: str | None = None,
    seen: str | None = None,
) -> ApprovalState:
    """
    Record a person's answer to an approval. Nothing that follows from it is done here.

    The answer, the start of the effect and the start of the run that goes on are one transaction.

    Args:
        agent: The one whose run asked.
        approver: As the caller's session vouches for it.
        tenant: The caller's, who sees no other's; None for an operator of the store.
        seen: Digest of the arguments that the approver looked at.
    Raises:
        AnswerRefused: The answer counts for nothing; that is recorded.
        ApprovalNotFound: No such approval of this tenant.
        InvalidAgent: It is another agent's, or the agent can't carry out what is approved.
        InvalidId: The approver's name is not 1 to 200 printable characters.
        StoreError: The store failed.
    """
    check_party(approver.actor)
    reason, _ = storable("reason", reason)
    while True:
        state = await asyncio.to_thread(load_approval, office.store, approval_id)
        if tenant not in (None, state.requested.tenant):
            raise ApprovalNotFound(approval_id)
        _check_agent(agent, state)
        run = await asyncio.to_thread(load, office.store, state.requested.run_id)
        limit = None
        if said == "grant" and state.status == "pending":
            definition = definition_of(agent, state)
            if state.requested.then == "execute":
                ready(definition, state)
            limit = await asyncio.to_thread(limit_of, office, agent, definition, state)
        now = office.clock.now()
        events = answered(state, run, approver, said, reason, now, seen=seen, limit=limit)
        after, appends = _with_what_follows(office, agent, run, state, events)
        try:
            await office.store.append_together(appends)
        except VersionConflict as exc:
            if exc.run_id != approval_id:
                raise
            continue  # Somebody else's answer came first: the rules are applied to what it left.
        if isinstance(events[-1], ApprovalRefused):
            raise AnswerRefused(events[-1].code, events[-1].message)
        return after


async def remind(office: Office, agent: Agent | None, approval_id: UUID) -> ApprovalState:
    """
    Record that an approval has expired, or has waited so long that somebody else has to look, if so.

    Args:
        agent: The one whose run asked; needed where a run goes on with the decision.
    Raises:
        InvalidAgent: It is another agent's.
    """
    while True:
        state = await asyncio.to_thread(load_approval, office.store, approval_id)
        now = office.clock.now()
        events: list[Event] = []
        if state.is_late(now):
            events = [expiry(state, now)]
        elif state.is_due(now):
            events = [escalation(state, now)]
        if not events:
            return state
        if agent is not None:
            _check_agent(agent, state)
        run = await asyncio.to_thread(load, office.store, state.requested.run_id)
        after, appends = _with_what_follows(office, agent, run, state, events)
        try:
            await office.store.append_together(appends)
        except VersionConflict as exc:
            if exc.run_id != approval_id:
                raise
            continue
        return after


def following_run(approval_id: UUID) -> UUID:
    """Return the id of the run that goes on with a decision."""
    return uuid5(_FOLLOWING, str(approval_id))


def definition_of(agent: Agent, state: ApprovalState) -> Approval:
    """
    Return what an agent says about an approval.

    Raises:
        InvalidAgent: It is another agent's, or the agent asks for no such approval any more.
    """
    asked = state.requested
    _check_agent(agent, state)
    terminal = agent.terminals_by_name.get(asked.tool)
    if terminal is None or terminal.approval is None or terminal.approval.then != asked.then:
        raise InvalidAgent(f"{agent.name} can't go on with what was asked for: its {asked.tool} has changed")
    return terminal.approval


def limit_of(office: Office, agent: Agent, definition: Approval, state: ApprovalState) -> str | None:
    """Say why an approval can't be granted beside those on its subject that came before; None if it can."""
    asked = state.requested
    if definition.limit is None or asked.subject is None:
        return None
    earlier: list[UUID] = []
    side = open_read_side(office.store)
    try:
        side.catch_up()
        if side.quarantined(APPROVALS.name):
            return "Some approvals can't be read: look at `tachograph projections status`."
        for row in side.approvals(tenant=asked.tenant, subject=asked.subject):
            if row["approval_id"] == str(state.approval_id):
                break
            earlier.append(UUID(row["approval_id"]))
        else:
            return "The list of approvals doesn't have it yet: look at `tachograph projections status`."
    finally:
        side.close()
    model = agent.terminals_by_name[asked.tool].arguments
    try:
        others = [load_approval(office.store, other) for other in earlier]
        held = [reread_arguments(other.requested.arguments, model) for other in others if other.holds]
        return definition.limit(reread_arguments(asked.arguments, model), held)
    except ArgumentsRefused as exc:
        return f"What is asked for on {asked.subject} can't be added up: {exc}"


def _check_agent(agent: Agent, state: ApprovalState) -> None:
    if state.requested.agent != agent.name:
        asked = state.requested.agent
        raise InvalidAgent(f"approval {state.approval_id} is of agent {asked}, not {agent.name}")


def _with_what_follows(
    office: Office, agent: Agent | None, run: RunState, state: ApprovalState, events: Sequence[Event]
) -> tuple[ApprovalState, list[Append]]:
    after = state
    for event in events:
        after = evolve_approval(state.approval_id, after, event)
    own = Append(state.approval_id, events, state.version)
    executes = after.requested.then == "execute" and after.status == "granted"
    goes_on = after.requested.then == "continue" and after.status != "pending"
    if state.status != "pending" or not (executes or goes_on):
        return after, [own]
    if agent is None:
        raise InvalidAgent(f"a run goes on with approval {state.approval_id}: its agent is needed")
    now = events[-1].recorded_at
    if executes:
        begun = start_of_effect(definition_of(agent, state), after, run, now, office.ids.owner())
        after = evolve_approval(state.approval_id, after, begun)
        return after, [own._replace(events=[*events, begun])]
    said = (Message(role="tool", content=_decision_text(after)),)
    trusted = run.started.context
    started = run_start(agent, trusted, said, now, office.ids.owner(), continues=run.run_id)
    return after, [own, Append(following_run(state.approval_id), [started], 0)]


def _decision_text(state: ApprovalState) -> str:
    decided = [(vote.by, vote.reason) for vote in state.votes]
    if state.denied:
        decided = [(state.denied.by, state.denied.reason)]
    return json_text(
        {
            "approval_id": str(state.approval_id),
            "tool": state.requested.tool,
            "decision": state.status,
            "by": [by for by, _ in decided],
            "reasons": [reason for _, reason in decided],
        }
    )
