"""Rule 5 of the loop: each limit below, at and above its edge."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tachograph.domain.budget import Budget
from tachograph.domain.events import Event
from tachograph.domain.ports import AskedCall

from .shop import AGENT
from .story import ANSWER, MAIL, PREVIEW, READ, ask, failure, given, refused, result, started, turn


def rounds(count: int) -> list[Event]:
    """That many turns with one answered call each."""
    return [event for step in range(1, count + 1) for event in (turn(step, READ), result(f"{step}.1"))]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_below_six_turns_the_model_is_asked(count: int) -> None:
    given(*rounds(count)).asks_the_model()


def test_the_calls_of_the_sixth_turn_are_still_executed_then_the_run_is_blocked() -> None:
    given(*rounds(5), turn(6, READ, MAIL)).executes("6.1", "6.2")
    given(*rounds(5), turn(6, READ, MAIL), result("6.1")).executes("6.2")
    given(*rounds(6)).finishes("blocked", "max_steps_exceeded")


def test_a_terminal_in_the_sixth_turn_still_ends_the_run_well() -> None:
    given(*rounds(5), turn(6, ANSWER)).finishes("answered", by="6.1", arguments='{"text":"Done."}')


def test_a_broken_terminal_in_the_sixth_turn_can_not_be_corrected_any_more() -> None:
    broken = turn(6, AskedCall("answer_user", "{"))
    given(*rounds(5), broken).executes(refused("6.1", "invalid_json"))
    given(*rounds(5), broken, failure("6.1", "invalid_json")).finishes("blocked", "max_steps_exceeded")


def test_six_failing_turns_are_six_turns() -> None:
    failing = [e for step in range(1, 7) for e in (turn(step, READ), failure(f"{step}.1"))]
    given(*failing[:-2]).asks_the_model()
    given(*failing).finishes("blocked", "max_steps_exceeded")


@pytest.mark.parametrize("error", [None, "tool_use_failed"])
def test_pauses_and_provider_errors_are_paid_from_the_same_budget(error: str | None) -> None:
    idle = [turn(step, finish="pause" if error is None else "rejected", error=error) for step in range(1, 7)]
    given(*idle[:5]).asks_the_model()
    given(*idle).finishes("blocked", "max_steps_exceeded")


def test_one_step_is_one_turn() -> None:
    given(started(Budget(max_steps=1))).asks_the_model()
    given(started(Budget(max_steps=1)), turn(1, READ)).executes("1.1")
    given(started(Budget(max_steps=1)), *rounds(1)).finishes("blocked", "max_steps_exceeded")


def test_the_budget_is_the_recorded_one_not_that_of_todays_agent() -> None:
    strict = replace(AGENT, budget=Budget(max_steps=1))
    given(*rounds(3), agent=strict).asks_the_model()


@pytest.mark.parametrize(("tokens", "reached"), [((60, 39), False), ((60, 40), True), ((60, 41), True)])
def test_tokens_in_and_out_are_summed_over_the_turns(tokens: tuple[int, int], reached: bool) -> None:
    used = (
        started(Budget(max_tokens=200)),
        turn(1, READ, tokens=(50, 50)),
        result("1.1"),
        turn(2, READ, tokens=tokens),
    )
    given(*used).executes("2.1")
    after = given(*used, result("2.1"))
    after.finishes("blocked", "token_budget_exceeded") if reached else after.asks_the_model()


@pytest.mark.parametrize(("cost", "reached"), [("0.0999", False), ("0.1", True), ("0.10", True), ("9", True)])
def test_cost_is_summed_exactly(cost: str, reached: bool) -> None:
    """Three times 0.1 is 0.3: with floats it would be more."""
    used = (
        started(Budget(max_cost_usd=Decimal("0.3"))),
        turn(1, READ, cost="0.1"),
        result("1.1"),
        turn(2, READ, cost="0.1"),
        result("2.1"),
        turn(3, READ, cost=cost),
        result("3.1"),
    )
    given(*used[:5]).asks_the_model()
    given(*used).finishes("blocked", "cost_budget_exceeded") if reached else given(*used).asks_the_model()


def test_a_turn_without_a_price_costs_nothing() -> None:
    given(started(Budget(max_cost_usd=Decimal("0.01"))), *rounds(2)).asks_the_model()


@pytest.mark.parametrize(("at", "reached"), [(59.999, False), (60, True), (61, True)])
def test_wall_time_runs_from_the_first_event_to_the_last(at: float, reached: bool) -> None:
    history = given(started(Budget(max_wall_s=60), at=0), turn(1, READ, at=1), result("1.1", at=at))
    history.finishes("blocked", "wall_time_exceeded") if reached else history.asks_the_model()


@pytest.mark.parametrize("at", [-3600, -0.001, 0])
def test_a_clock_that_stepped_back_is_no_time_used(at: float) -> None:
    given(started(Budget(max_wall_s=60)), turn(1, READ, at=59), result("1.1", at=at)).asks_the_model()


def test_calls_of_a_turn_that_used_up_the_money_are_still_executed() -> None:
    """They are paid for; only the next model call is not."""
    budget = Budget(max_tokens=1, max_cost_usd=Decimal(1), max_wall_s=1)
    given(started(budget), turn(1, READ, tokens=(9, 9), cost="9", at=9)).executes("1.1")


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(max_tokens=0), "token_budget_exceeded"),
        (Budget(max_cost_usd=Decimal(0)), "cost_budget_exceeded"),
        (Budget(max_wall_s=0), "wall_time_exceeded"),
    ],
)
def test_a_budget_of_nothing_pays_for_no_model_call(budget: Budget, reason: str) -> None:
    given(started(budget)).finishes("blocked", reason)


def test_when_several_limits_are_reached_the_steps_are_named_first() -> None:
    budget = Budget(max_steps=1, max_tokens=0, max_cost_usd=Decimal(0), max_wall_s=0)
    given(started(budget), *rounds(1)).finishes("blocked", "max_steps_exceeded")


def test_calls_up_to_the_limit_run_and_the_one_beyond_blocks_the_run() -> None:
    start = started(Budget(max_tool_calls=2))
    given(start, turn(1, READ, MAIL)).executes("1.1", "1.2")
    given(start, turn(1, READ, MAIL), result("1.1"), result("1.2")).asks_the_model()
    given(start, turn(1, READ, MAIL, PREVIEW)).executes("1.1", "1.2")
    given(start, turn(1, READ, MAIL, PREVIEW), result("1.1"), result("1.2")).finishes(
        "blocked", "tool_call_budget_exceeded"
    )


def test_calls_are_counted_over_the_turns_and_so_are_failed_ones() -> None:
    start = started(Budget(max_tool_calls=2))
    before = (start, turn(1, READ, AskedCall("nope")), result("1.1"), failure("1.2", "unknown_tool"))
    given(*before, turn(2, READ)).finishes("blocked", "tool_call_budget_exceeded")


def test_a_budget_without_tool_calls_still_lets_the_model_end_the_run() -> None:
    given(started(Budget(max_tool_calls=0)), turn(1, READ)).finishes("blocked", "tool_call_budget_exceeded")
    given(started(Budget(max_tool_calls=0)), turn(1, ANSWER)).finishes(
        "answered", by="1.1", arguments='{"text":"Done."}'
    )


def test_calls_of_each_tool_are_counted_apart() -> None:
    start = started(Budget(max_calls_per_tool=1))
    given(start, turn(1, READ, MAIL, PREVIEW)).executes("1.1", "1.2", "1.3")
    given(start, turn(1, READ), result("1.1"), turn(2, MAIL)).executes("2.1")
    given(start, turn(1, READ), result("1.1"), turn(2, ask("order_read", order_id="#W2"))).finishes(
        "blocked", "calls_per_tool_exceeded"
    )


def test_a_call_settled_before_an_earlier_one_is_not_counted_in_its_place() -> None:
    """After a crash a person may settle the second call of a turn while the first still waits."""
    given(started(Budget(max_calls_per_tool=1)), turn(1, MAIL, READ), result("1.2")).executes("1.1")


def test_identical_calls_up_to_the_limit_run_and_the_next_one_blocks_the_run() -> None:
    start = started(Budget(max_identical_calls=2))
    given(start, turn(1, READ, READ)).executes("1.1", "1.2")
    given(start, turn(1, READ, READ, READ)).executes("1.1", "1.2")
    given(start, turn(1, READ, READ, READ), result("1.1"), result("1.2")).finishes(
        "blocked", "identical_calls_exceeded"
    )


def test_identical_calls_are_counted_over_the_turns() -> None:
    given(started(Budget(max_identical_calls=2)), *rounds(2), turn(3, READ)).finishes(
        "blocked", "identical_calls_exceeded"
    )


@pytest.mark.parametrize(
    "between", [MAIL, ask("order_read", order_id="#W2")], ids=["another tool", "other arguments"]
)
def test_another_call_between_breaks_the_row(between: AskedCall) -> None:
    start = started(Budget(max_identical_calls=1))
    given(start, turn(1, READ, between, READ, between)).executes("1.1", "1.2", "1.3", "1.4")


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(max_tool_calls=0, max_calls_per_tool=0), "tool_call_budget_exceeded"),
        (Budget(max_calls_per_tool=0), "calls_per_tool_exceeded"),
    ],
)
def test_the_widest_limit_is_named_first(budget: Budget, reason: str) -> None:
    given(started(budget), turn(1, READ)).finishes("blocked", reason)


def test_limits_that_are_not_set_do_not_apply() -> None:
    many = [READ] * 300
    given(turn(1, *many, tokens=(10**9, 10**9), cost="1000000", at=10**6)).executes(
        *(f"1.{index}" for index in range(1, 301))
    )


def test_the_limit_is_checked_before_the_call_is_looked_at() -> None:
    given(started(Budget(max_tool_calls=0)), turn(1, AskedCall("", "{"))).finishes(
        "blocked", "tool_call_budget_exceeded"
    )


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -1.0])
def test_a_limit_that_json_can_not_hold_is_refused(seconds: float) -> None:
    """An infinite limit would be stored as null, and read back as no limit at all."""
    with pytest.raises(ValueError, match="max_wall_s"):
        Budget(max_wall_s=seconds)


@pytest.mark.parametrize("cost", ["Infinity", "NaN", "-0.01"])
def test_a_cost_limit_that_is_no_amount_is_refused(cost: str) -> None:
    with pytest.raises(ValueError, match="max_cost_usd"):
        Budget(max_cost_usd=Decimal(cost))
