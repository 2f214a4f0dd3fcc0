"""An approval in words, and as a line of JSON."""

import json
from datetime import UTC, datetime

from tachograph.adapters.loading import load
from tachograph.adapters.screen import machine
from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.ports import EventStore


def status_text(state: ApprovalState) -> str:
    """Return what has been decided, and how far the effect is."""
    late = " (late)" if state.is_late(datetime.now(UTC)) else ""
    escalated = ", escalated" if state.escalated and state.status == "pending" else ""
    effect = f", effect {state.execution}" if state.execution != "none" else ""
    return f"{state.status}{late}{escalated}{effect}"


def way_text(state: ApprovalState) -> str:
    """Return the command that decides."""
    asked = state.requested
    if state.status != "pending":
        return "decided"
    permission = f" --permission {asked.group}" if asked.group else ""
    return f"tachograph approvals grant {state.approval_id} --reason TEXT{permission}"


def since_text(at: datetime) -> str:
    """Return how long ago something was."""
    minutes = max(0, int((datetime.now(UTC) - at).total_seconds() // 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"


def amount_text(state: ApprovalState) -> str:
    """Return the amount that is asked for, with the digits it was written with; empty if there is none."""
    arguments = json.loads(state.requested.arguments, parse_float=str, parse_int=str)
    found = [arguments.get(name) for name in ("amount", "currency")] if isinstance(arguments, dict) else []
    return " ".join(str(value) for value in found if value is not None)


def verdicts_text(state: ApprovalState, store: EventStore) -> str:
    """Return how many arguments have each verdict, as recorded with the end of the run."""
    run = load(store, state.requested.run_id)
    provenance = run.terminal.provenance if run.terminal else None
    counts: dict[str, int] = {}
    for verdict in provenance.verdicts.values() if provenance else ():
        counts[verdict] = counts.get(verdict, 0) + 1
    return ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in counts.items())


def approval_json(state: ApprovalState, store: EventStore) -> str:
    """Return an approval as a line of JSON."""
    asked = state.requested
    run = load(store, asked.run_id)
    provenance = run.terminal.provenance if run.terminal else None
    return machine.line(
        {
            "approval_id": state.approval_id,
            "run_id": asked.run_id,
            "trace_id": asked.trace_id,
            "tenant": asked.tenant,
            "agent": asked.agent,
            "tool": asked.tool,
            "arguments": asked.arguments,
            "arguments_digest": asked.arguments_digest,
            "shown_digest": asked.shown_digest,
            "policy_version": asked.policy_version,
            "group": asked.group,
            "needed": asked.needed,
            "status": state.status,
            "late": state.is_late(datetime.now(UTC)),
            "escalated": state.escalated is not None,
            "requested_at": asked.recorded_at,
            "expires_at": asked.expires_at,
            "waiting_s": int((datetime.now(UTC) - asked.recorded_at).total_seconds()),
            "votes": [{"by": vote.by, "at": vote.recorded_at, "reason": vote.reason} for vote in state.votes],
            "denied": {"by": state.denied.by, "reason": state.denied.reason} if state.denied else None,
            "refusals": len(state.refused),
            "execution": state.execution,
            "output": state.executed.output if state.executed else None,
            "verdicts": provenance.verdicts if provenance else {},
        }
    )
