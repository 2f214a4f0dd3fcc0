"""What a run may use up, what it has used, and which limit it has reached."""

from collections.abc import Callable
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field


class Budget(BaseModel):
    """
    The limits of one run, recorded with it. A limit that is None doesn't apply.

    Turns, tokens, cost and time are checked before each model call: at the limit no further call is
    paid for. Tool calls are checked before each one: the call that would pass the limit is not made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int = Field(default=6, ge=1)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_calls_per_tool: int | None = Field(default=None, ge=0)
    max_identical_calls: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: Decimal | None = Field(default=None, ge=0)
    max_wall_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Usage(BaseModel):
    """Tokens of one turn, as the provider counted them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    tokens_cached: int = Field(default=0, ge=0)
    tokens_reasoning: int = Field(default=0, ge=0)


class Totals(BaseModel):
    """What a run has used up so far."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: Decimal | None = None


def turn_limit_reached(budget: Budget, steps: int, used: Callable[[], Totals], wall_s: float) -> str | None:
    """
    Name the limit that forbids another model call, or None.

    Args:
        used: Adds up the run so far; asked only where a limit needs it.
        wall_s: Seconds since the start.
    """
    if steps >= budget.max_steps:
        return "max_steps_exceeded"
    if budget.max_tokens is not None and used().tokens_in + used().tokens_out >= budget.max_tokens:
        return "token_budget_exceeded"
    if budget.max_cost_usd is not None and (used().cost_usd or 0) >= budget.max_cost_usd:
        return "cost_budget_exceeded"
    if budget.max_wall_s is not None and wall_s >= budget.max_wall_s:
        return "wall_time_exceeded"
    return None


def call_limit_reached(
    budget: Budget, *, calls: int, of_this_tool: int, identical_in_a_row: int
) -> str | None:
    """Name the limit that the next tool call would pass, or None. Counts are of calls before it."""
    if budget.max_tool_calls is not None and calls >= budget.max_tool_calls:
        return "tool_call_budget_exceeded"
    if budget.max_calls_per_tool is not None and of_this_tool >= budget.max_calls_per_tool:
        return "calls_per_tool_exceeded"
    limit = budget.max_identical_calls
    if limit is not None and identical_in_a_row >= limit:
        return "identical_calls_exceeded"
    return None
