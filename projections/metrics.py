"""
Counts for monitoring: runs, turns, tokens, cost, calls and errors, each with the agent that they are of.

What a label says depends on the metric: an outcome, a reason, a model, a tool or an error code. A name that a
model made up is no label: calls of no tool are counted by their code. What a fork shares with its original
was counted there.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from tachograph.domain.events import ModelTurn, RunStarted, Terminal, ToolCall, ToolError
from tachograph.projections.plain import plain
from tachograph.projections.projection import Changes, Column, Placed, Projection, Row, Table

TABLE: Final = Table(
    name="metric_counts",
    columns=(
        Column("metric", "TEXT", required=True),
        Column("agent", "TEXT", required=True),
        Column("label", "TEXT", required=True),
        Column("tenant", "TEXT", required=True),
        Column("number", "INTEGER", merge="sum"),
        Column("first_position", "INTEGER", merge="first"),
    ),
    primary_key=("metric", "agent", "label", "tenant"),
)

# No provider's turn comes near them; a sum of millions of such turns still fits into 64 bits.
TOKENS_MAX: Final = 10**9
NANO_USD_MAX: Final = 10**13
_NANO: Final = Decimal(10**9)
_LABEL_MAX: Final = 100


def nano_usd(cost_usd: Decimal) -> int:
    """Return a cost in billionths of a USD, at most NANO_USD_MAX."""
    return round(min(cost_usd * _NANO, Decimal(NANO_USD_MAX)))


def changes(batch: Sequence[Placed]) -> Changes:
    """Count what each event adds."""
    counted: dict[tuple[str, str, str, str], list[int]] = {}
    for placed in batch:
        agent, tenant = plain(placed.agent or "", _LABEL_MAX), placed.tenant or ""
        for metric, label, number in _counts(placed):
            key = (metric, agent, plain(label, _LABEL_MAX), tenant)
            counted.setdefault(key, [0, placed.position])[0] += number
    return {TABLE.name: map(_row, counted.items())}


def _row(counted: tuple[tuple[str, str, str, str], list[int]]) -> Row:
    (metric, agent, label, tenant), (number, first_position) = counted
    return {
        "metric": metric,
        "agent": agent,
        "label": label,
        "tenant": tenant,
        "number": number,
        "first_position": first_position,
    }


def _counts(placed: Placed) -> Iterator[tuple[str, str, int]]:
    match placed.event:
        case RunStarted():
            yield "runs_started", "", 1
        case Terminal() as terminal:
            yield "runs_ended", terminal.outcome, 1
            if terminal.outcome == "blocked":
                yield "runs_blocked", terminal.reason or "", 1
        case ModelTurn() as turn if not placed.shared:
            yield from _of_turn(turn)
        case ToolCall() as call if not placed.shared:
            yield "tool_calls", call.name, 1
        case ToolError() as error if not placed.shared:
            yield "tool_errors", error.code, 1


def _of_turn(turn: ModelTurn) -> Iterator[tuple[str, str, int]]:
    model = turn.model_asked
    yield "turns", model, 1
    for metric, tokens in (
        ("tokens_in", turn.usage.tokens_in),
        ("tokens_out", turn.usage.tokens_out),
        ("tokens_cached", turn.usage.tokens_cached),
        ("tokens_reasoning", turn.usage.tokens_reasoning),
    ):
        if tokens:
            yield metric, model, min(tokens, TOKENS_MAX)
    if turn.cost_usd:
        yield "nano_usd", model, nano_usd(turn.cost_usd)
    if turn.attempts:
        yield "retries", model, len(turn.attempts)


METRICS: Final = Projection(
    name="metrics",
    version=1,
    tables=(TABLE,),
    changes=changes,
    kinds=frozenset(event.kind for event in (RunStarted, ModelTurn, ToolCall, ToolError, Terminal)),
)
