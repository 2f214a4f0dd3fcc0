"""Step counts per trace: runs, model turns, tool calls, tool errors, and how the runs ended."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tachograph.domain.events import ModelTurn, RunStarted, Terminal, ToolCall, ToolError
from tachograph.projections.projection import Changes, Column, Placed, Projection, Table

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
    counts = Counter(
        (placed.trace_id, placed.tenant, _COUNTED[placed.kind]) for placed in batch if placed.kind in _COUNTED
    )
    outcomes = Counter(
        (placed.trace_id, placed.tenant, placed.event.outcome)
        for placed in batch
        if isinstance(placed.event, Terminal)
    )
    return {
        "step_counts": [
            {"trace_id": trace_id, "tenant": tenant, counted: number}
            for (trace_id, tenant, counted), number in counts.items()
        ],
        "step_count_outcomes": [
            {"trace_id": trace_id, "tenant": tenant, "outcome": outcome, "runs": number}
            for (trace_id, tenant, outcome), number in outcomes.items()
        ],
    }


STEP_COUNTS: Final = Projection(
    name="step_counts",
    version=1,
    tables=(COUNTS, OUTCOMES),
    changes=changes,
    kinds=frozenset({*_COUNTED, Terminal.kind}),
)
