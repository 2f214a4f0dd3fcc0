"""One row a run: who asked for it, how far it came, how it ended."""

from collections.abc import Sequence
from typing import Final

from tachograph.domain.events import (
    ModelTurn,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.projections.projection import Changes, Column, Placed, Projection, Table, Value

TABLE: Final = Table(
    name="runs",
    columns=(
        Column("run_id", "TEXT", required=True),
        Column("trace_id", "TEXT", merge="first", required=True),
        Column("tenant", "TEXT", merge="first", required=True),
        Column("agent", "TEXT", merge="first"),
        Column("agent_version", "TEXT", merge="first"),
        Column("status", "TEXT", merge="last"),
        Column("outcome", "TEXT", merge="last"),
        Column("reason", "TEXT", merge="last"),
        Column("steps", "INTEGER", merge="sum"),
        Column("tool_calls", "INTEGER", merge="sum"),
        Column("tool_errors", "INTEGER", merge="sum"),
        Column("owner", "TEXT", merge="last"),
        Column("started_at", "TEXT", merge="first"),
        Column("last_recorded_at", "TEXT", merge="last"),
        Column("ended_at", "TEXT", merge="last"),
        Column("continues", "TEXT", merge="first"),
        Column("forked_from", "TEXT", merge="first"),
        Column("request_id", "TEXT", merge="first"),
        Column("source_format", "TEXT", merge="first"),
        Column("source_digest", "TEXT", merge="first"),
        Column("source_conversation", "INTEGER", merge="first"),
        Column("source_stretch", "INTEGER", merge="first"),
        Column("version", "INTEGER", merge="last"),
        Column("first_position", "INTEGER", merge="first"),
    ),
    primary_key=("run_id",),
    indexes=(("first_position",), ("trace_id", "first_position"), ("status", "first_position")),
)


def changes(batch: Sequence[Placed]) -> Changes:
    """Bring each run's row up to date with its events."""
    return {"runs": map(_row, batch)}


def _row(placed: Placed) -> dict[str, Value]:
    row: dict[str, Value] = {
        "run_id": placed.run_id,
        "trace_id": placed.trace_id,
        "tenant": placed.tenant,
        "last_recorded_at": placed.recorded_at,
        "version": placed.version,
        "first_position": placed.position,
    }
    match placed.event:
        case ModelTurn():
            row["steps"] = 1
        case ToolCall():
            row["tool_calls"] = 1
        case ToolError():
            row["tool_errors"] = 1
        case RunStarted() as started:
            row |= _of_start(started, placed.recorded_at)
        case Terminal() as terminal:
            row |= {
                "status": "ended",
                "outcome": terminal.outcome,
                "reason": terminal.reason,
                "ended_at": placed.recorded_at,
            }
        case RunResumed() as resumed:
            row["owner"] = resumed.owner
    return row


def _of_start(started: RunStarted, recorded_at: str | None) -> dict[str, Value]:
    row: dict[str, Value] = {
        "agent": started.agent,
        "agent_version": started.agent_version,
        "status": "open",
        "owner": started.owner,
        "started_at": recorded_at,
        "request_id": started.request_id,
        "continues": str(started.continues) if started.continues else None,
        "forked_from": str(started.forked_from) if started.forked_from else None,
    }
    if started.source is not None:
        row |= {
            "source_format": started.source.format,
            "source_digest": started.source.digest,
            "source_conversation": started.source.conversation,
            "source_stretch": started.source.stretch,
        }
    return row


_KINDS: Final = (RunStarted, ModelTurn, ToolStarted, ToolCall, ToolError, RunResumed, Terminal)

RUNS: Final = Projection(
    name="runs",
    version=1,
    tables=(TABLE,),
    changes=changes,
    kinds=frozenset(event.kind for event in _KINDS),
)
