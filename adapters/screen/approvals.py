"""What `approvals` and `reconcile` do."""

import asyncio
import getpass
from collections.abc import Sequence
from uuid import UUID

import click
from rich.text import Text

from tachograph.adapters import deciding, effecting, running
from tachograph.adapters.approving import every_approval, load_approval, shown_to_approver
from tachograph.adapters.deciding import Office, following_run
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.screen.access import find_run, opened
from tachograph.adapters.screen.agents import load_agent, on_model
from tachograph.adapters.screen.approval_text import (
    amount_text,
    approval_json,
    since_text,
    status_text,
    verdicts_text,
    way_text,
)
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.output import Screen, cell, columns, text
from tachograph.adapters.screen.timeline import print_timeline
from tachograph.adapters.screen.why_text import print_explanation
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.answering import Answer, Approver
from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.ports import EventStore

LISTED_MAX = 100
_STYLES = {"pending": "yellow", "granted": "green", "denied": "red", "expired": "magenta"}


def listed(settings: Settings, *, everything: bool) -> int:
    """List who waits for a decision; `everything`: also what has been decided."""
    screen = Screen()
    with opened(settings.store) as store:
        found = every_approval(store, pending=not everything)
        if settings.as_json:
            screen.lines(approval_json(state, store) for state in found)
            return FINE
        table = columns("approval", "status", "waits", "asks for", "amount", "verdicts", "who may decide")
        for state in found:
            if table.row_count == LISTED_MAX:
                tell(f"The first {LISTED_MAX}; --json shows all.")
                break
            status = status_text(state)
            asked = state.requested
            table.add_row(
                text(str(state.approval_id)),
                cell(status, _STYLES.get(state.status, "")),
                text(since_text(asked.recorded_at)),
                cell(f"{asked.tool} {asked.subject or ''}".strip()),
                cell(amount_text(state)),
                cell(verdicts_text(state, store)),
                cell(f"{asked.group or 'anyone else'}, {len(state.votes)} of {asked.needed}"),
            )
    if table.row_count:
        screen.table(table)
    else:
        tell("Nobody waits for a decision." if not everything else "No approvals here yet.")
    return FINE


def show(settings: Settings, approval: str) -> int:
    """Show what an approver decides on: the explanation as it was recorded, and what was answered so far."""
    with opened(settings.store) as store:
        state = load_approval(store, find_approval(store, approval))
        asked = state.requested
        explanation = shown_to_approver(store, asked.run_id, version=asked.shown_version)
        same = explanation.digest == asked.shown_digest
        screen = Screen()
        if settings.as_json:
            screen.lines([approval_json(state, store)])
        else:
            print_explanation(screen, explanation)
            screen.print("", text("The approval", "bold"))
            print_timeline(screen, store.read(state.approval_id), at=None)
            screen.print(
                "",
                text(
                    f"{status_text(state)} · arguments {asked.arguments_digest[:16]} · {way_text(state)}",
                    "bold",
                ),
            )
    if not same:
        tell("Error: this is not what was shown when it was asked for: the record has changed since then.")
        return NO
    return FINE


def answer(
    settings: Settings,
    approval: str,
    said: Answer,
    reason: str,
    actor: str | None,
    permissions: Sequence[str],
    digest: str | None,
    agent_name: str | None,
    model_name: str | None,
) -> int:
    """Grant or deny an approval, and carry out what follows. Refused answers are recorded (exit code 1)."""
    if not reason.strip():
        raise click.UsageError("Say with --reason why; it is recorded.")
    with opened(settings.store) as store:
        approval_id = find_approval(store, approval)
        state = load_approval(store, approval_id)
        agent = _agent_of(state, agent_name)
        approver = Approver(actor or getpass.getuser(), tuple(permissions))
        seen = None
        if digest is not None:
            whole = state.requested.arguments_digest
            seen = whole if whole.startswith(digest.lower()) and len(digest) >= 8 else digest
        state = asyncio.run(_answered(Office(store), agent, approval_id, approver, said, reason, seen))
        return told(settings, store, agent, state, model_name)


async def _answered(
    office: Office,
    agent: Agent,
    approval_id: UUID,
    approver: Approver,
    said: Answer,
    reason: str,
    seen: str | None,
) -> ApprovalState:
    state = await deciding.answer(office, agent, approval_id, approver, said, reason, seen=seen)
    return await effecting.carry_out(office, agent, state) if state.execution == "started" else state


def pick_up(settings: Settings, store: EventStore, approval_id: UUID, agent_name: str | None) -> int:
    """Go on with an effect that a process started and didn't finish."""
    agent = _agent_of(load_approval(store, approval_id), agent_name)
    state = asyncio.run(effecting.pick_up(Office(store), agent, approval_id))
    return told(settings, store, agent, state, None)


def remind(settings: Settings, agent_name: str | None) -> int:
    """Record what has expired and what has to be escalated by now."""
    with opened(settings.store) as store:
        office = Office(store)
        changed = 0
        for state in list(every_approval(store, pending=True)):
            agent = _known_agent(state, agent_name)
            if agent is None and state.requested.then == "continue":
                tell(
                    f"Left out: {state.approval_id}, whose run goes on; say with --agent where its agent is."
                )
                continue
            after = asyncio.run(deciding.remind(office, agent, state.approval_id))
            if after.version > state.version:
                changed += 1
                if settings.as_json:
                    Screen().lines([approval_json(after, store)])
                else:
                    Screen().print(text(f"{after.approval_id} {status_text(after)}"))
        if not changed:
            tell("Nothing is late.")
    return FINE


def find_approval(store: EventStore, named: str) -> UUID:
    """Return the id of an approval, named by its id, by the id of its run, or by the first 8 characters."""
    found = find_run(store, named)
    entries = store.read(found, up_to=1)
    return approval_id_of(found) if entries and entries[0].kind == "run_started" else found


def _known_agent(state: ApprovalState, name: str | None) -> Agent | None:
    agent = load_agent(name) if name is not None else refund_agent
    return agent if state.requested.agent == agent.name else None


def _agent_of(state: ApprovalState, name: str | None) -> Agent:
    agent = _known_agent(state, name)
    if agent is not None:
        return agent
    raise click.UsageError(
        f"Approval {state.approval_id} is of the agent {state.requested.agent[:80]!r}: say with --agent "
        "MODULE:AGENT where it is defined."
    )


def told(
    settings: Settings, store: EventStore, agent: Agent | None, state: ApprovalState, model_name: str | None
) -> int:
    """Tell what became of an approval, and let the run that follows go on. NO if its effect failed."""
    screen = Screen()
    asked, executed = state.requested, state.executed
    if settings.as_json:
        screen.lines([approval_json(state, store)])
    else:
        screen.print(text(f"Approval {state.approval_id}: {status_text(state)}", "bold"))
        if executed is not None:
            screen.hanging(Text("  "), text(executed.output or f"{executed.code}: {executed.message}"))
    if state.status != "pending" and asked.then == "continue" and agent is not None:
        following = following_run(state.approval_id)
        if model_name is None and agent.model is None:
            tell(f"The conversation goes on with: tachograph resume {following}")
            return FINE
        agent, model = on_model(agent, model_name)
        outcome = asyncio.run(running.resume(agent, following, model=model, store=store, reason="decided"))
        if not settings.as_json:
            screen.print(text(f"Run {following} went on with the decision: {outcome.outcome}"))
    return NO if state.execution in ("failed", "unknown") and not state.is_settled else FINE
