"""Step counts per trace: runs, model turns, tool calls, tool errors, and how the runs ended."""

from collections.abc import Sequence
from typing import Final

from tachograph.domain.events import ModelTurn, RunStarted, Terminal, ToolCall, ToolError
from tachograph.projections.projection import Changes, Column, Placed, Projection, Row, Table

# A trace id is the caller's, so two tenants may use the same one: their counts stay apart.
COUNTS: Final = Table(
    name="step_counts",
    columns=(
        Column("trace_id", "TEXT", required=True),
        Column("tenant", "TEXT", required=True),
        Column("runs", "INTEGER", merge="sum"),
        Column("model_turns", "INTEGER", merge="sum"),
        Column("tool_calls", "INTEGER", merge="sum"),
        Column("tool_errors", "INTEGER", merge="sum"),
    ),
    primary_key=("trace_id", "tenant"),
)

OUTCOMES: Final = Table(
    name="step_count_outcomes",
    columns=(
        Column("trace_id", "TEXT", required=True),
        Column("tenant", "TEXT", required=True),
        Column("outcome", "TEXT", required=True),
        Column("runs", "INTEGER", merge="sum"),
    ),
    primary_key=("trace_id", "tenant", "outcome"),
)

_COUNTED: Final = {
    RunStarted.kind: "runs",
    ModelTurn.kind: "model_turns",
    ToolCall.kind: "tool_calls",
    ToolError.kind: "tool_errors",
}


def changes(batch: Sequence[Placed]) -> Changes:
    """Count the events of each trace and the outcomes of its runs."""
    counts: list[Row] = []
    outcomes: list[Row] = []
    for placed in batch:
        counted = _COUNTED.get(placed.kind)
        if counted is not None:
            counts.append({"trace_id": placed.trace_id, "tenant": placed.tenant, counted: 1})
        elif isinstance(placed.event, Terminal):
            outcomes.append(
                {
                    "trace_id": placed.trace_id,
                    "tenant": placed.tenant,
                    "outcome": placed.event.outcome,
                    "runs": 1,
                }
            )
    return {"step_counts": counts, "step_count_outcomes": outcomes}


STEP_COUNTS: Final = Projection(
    name="step_counts",
    version=1,
    tables=(COUNTS, OUTCOMES),
    changes=changes,
    kinds=frozenset({*_COUNTED, Terminal.kind}),
)
