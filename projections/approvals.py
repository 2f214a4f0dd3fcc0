"""One row an approval: what is asked for, who waits, what was decided, how far its effect is."""

from collections.abc import Sequence
from typing import Final, get_args

from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalEvent,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.events import Event
from tachograph.projections.plain import plain, time_text
from tachograph.projections.projection import Changes, Column, Placed, Projection, Table, Value

TABLE: Final = Table(
    name="approvals",
    columns=(
        Column("approval_id", "TEXT", required=True),
        Column("run_id", "TEXT", merge="first"),
        Column("trace_id", "TEXT", merge="first", required=True),
        Column("tenant", "TEXT", merge="first", required=True),
        Column("agent", "TEXT", merge="first"),
        Column("tool", "TEXT", merge="first"),
        Column("subject", "TEXT", merge="first"),
        Column("approvers", "TEXT", merge="first"),
        Column("needed", "INTEGER", merge="first"),
        Column("votes", "INTEGER", merge="sum"),
        Column("refusals", "INTEGER", merge="sum"),
        Column("denied_at", "TEXT", merge="first"),
        Column("expired_at", "TEXT", merge="first"),
        Column("voted_at", "TEXT", merge="last"),
        Column("escalated_at", "TEXT", merge="first"),
        Column("execution", "TEXT", merge="last"),
        Column("requested_at", "TEXT", merge="first"),
        Column("expires_at", "TEXT", merge="first"),
        Column("first_position", "INTEGER", merge="first"),
    ),
    primary_key=("approval_id",),
    indexes=(("first_position",), ("tenant", "subject", "first_position"), ("run_id",)),
)


def changes(batch: Sequence[Placed]) -> Changes:
    """Bring each approval's row up to date with its events."""
    return {"approvals": map(_row, batch)}


def _row(placed: Placed) -> dict[str, Value]:
    row: dict[str, Value] = {
        "approval_id": placed.run_id,
        "trace_id": placed.trace_id,
        "tenant": placed.tenant,
        "first_position": placed.position,
    }
    match placed.event:
        case ApprovalRequested() as asked:
            row |= {
                "run_id": str(asked.run_id),
                "agent": plain(asked.agent),
                "tool": plain(asked.tool),
                "subject": asked.subject,
                "approvers": asked.group,
                "needed": asked.needed,
                "requested_at": placed.recorded_at,
                "expires_at": time_text(asked.expires_at) if asked.expires_at else None,
            }
        case ApprovalGranted():
            row |= {"votes": 1, "voted_at": placed.recorded_at}
        case ApprovalDenied():
            row["denied_at"] = placed.recorded_at
        case ApprovalExpired():
            row["expired_at"] = placed.recorded_at
        case ApprovalEscalated():
            row["escalated_at"] = placed.recorded_at
        case ApprovalRefused():
            row["refusals"] = 1
        case ApprovalStarted():
            row["execution"] = "started"
        case ApprovalExecuted() as executed:
            unknown = executed.code == "outcome_unknown"
            row["execution"] = "unknown" if unknown else "failed" if executed.code else "done"
    return row


APPROVALS: Final = Projection(
    name="approvals",
    version=1,
    tables=(TABLE,),
    changes=changes,
    kinds=frozenset(kind.kind for kind in get_args(Event) if issubclass(kind, ApprovalEvent)),
)
