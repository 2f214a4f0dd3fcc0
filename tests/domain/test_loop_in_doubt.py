"""The crash rule: what becomes of calls that were started and have no result."""

from dataclasses import replace
from typing import Literal

import pytest

from tachograph.domain.agent import Agent
from tachograph.domain.budget import Budget
from tachograph.domain.calls import RefusedCall
from tachograph.domain.events import Effect, ToolCall, ToolError
from tachograph.domain.next_action import IN_DOUBT, ExecuteCalls
from tachograph.domain.ports import AskedCall
from tachograph.domain.recorded_event import Settlement
from tachograph.domain.run import fold

from .shop import AGENT
from .story import (
    ANSWER,
    MAIL,
    PREVIEW,
    READ,
    RUN_ID,
    begun,
    failure,
    folded,
    given,
    numbered,
    refused,
    result,
    resumed,
    started,
    turn,
)

RecordedEffect = Literal["idempotent", "once"]


def today(**effects: Effect) -> Agent:
    """The agent as today's code declares it: some effects changed since the run was recorded."""
    return replace(
        AGENT,
        tools=tuple(
            replace(tool, effect=effects[tool.name]) if tool.name in effects else tool for tool in AGENT.tools
        ),
    )


def test_a_read_call_under_way_at_the_crash_runs_again() -> None:
    given(turn(1, READ), resumed()).executes("1.1")


def test_an_idempotent_call_in_doubt_runs_again() -> None:
    given(turn(1, PREVIEW), begun("1.1", "idempotent"), resumed()).executes("1.1")


def test_a_once_call_in_doubt_never_runs_again_by_itself() -> None:
    recorded = turn(1, MAIL)
    given(recorded, begun("1.1"), resumed()).next_action_is(
        ExecuteCalls((RefusedCall(recorded.calls[0], "outcome_unknown", IN_DOUBT),))
    )


def test_a_once_call_that_was_not_started_runs_after_the_takeover() -> None:
    given(turn(1, MAIL), resumed()).executes("1.1")


@pytest.mark.parametrize(
    ("recorded", "declared", "again"),
    [
        ("idempotent", "read", True),
        ("idempotent", "idempotent", True),
        ("idempotent", "once", False),
        ("once", "read", False),
        ("once", "idempotent", False),
        ("once", "once", False),
    ],
)
def test_the_more_careful_of_the_recorded_and_todays_effect_counts(
    recorded: RecordedEffect, declared: Effect, again: bool
) -> None:
    history = given(turn(1, MAIL), begun("1.1", recorded), resumed(), agent=today(mail_send=declared))
    history.executes("1.1") if again else history.executes(refused("1.1", "outcome_unknown"))


@pytest.mark.parametrize("recorded", ["idempotent", "once"])
@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(replace(AGENT, tools=(), allowed=None), id="the tool is gone"),
        pytest.param(replace(AGENT, allowed=frozenset()), id="the tool is not allowed any more"),
    ],
)
def test_a_call_in_doubt_that_today_could_not_run_is_of_unknown_outcome(
    agent: Agent, recorded: RecordedEffect
) -> None:
    """`unknown_tool` would say that it never ran; nobody knows that."""
    given(turn(1, PREVIEW), begun("1.1", recorded), resumed(), agent=agent).executes(
        refused("1.1", "outcome_unknown")
    )


def test_a_call_in_doubt_whose_arguments_are_invalid_today_is_of_unknown_outcome() -> None:
    given(turn(1, AskedCall("refund_preview", '{"old": 1}')), begun("1.1", "idempotent"), resumed()).executes(
        refused("1.1", "outcome_unknown")
    )


def test_only_the_calls_that_were_under_way_are_in_doubt() -> None:
    history = (
        turn(1, MAIL, MAIL, READ, MAIL),
        begun("1.1"),
        result("1.1"),
        begun("1.2"),
        resumed(),
    )
    assert folded(*history).in_doubt == ("1.2",)
    given(*history).executes(refused("1.2", "outcome_unknown"))


def test_calls_after_one_of_unknown_outcome_are_not_executed_whether_it_is_recorded_yet_or_not() -> None:
    """Else it would depend on the moment of a second crash what is done after the doubtful call."""
    doubtful = (turn(1, READ, MAIL, MAIL), begun("1.2"), resumed())
    given(*doubtful).executes("1.1", refused("1.2", "outcome_unknown"))
    given(*doubtful, result("1.1"), failure("1.2", "outcome_unknown")).waits_for("1.2")


def test_a_run_waits_for_a_person_and_the_rest_of_its_turn_is_not_executed() -> None:
    given(turn(1, MAIL, MAIL), begun("1.1"), resumed(), failure("1.1", "outcome_unknown")).waits_for("1.1")


def test_a_run_waits_though_the_unknown_outcome_is_not_the_last_result() -> None:
    given(
        turn(1, MAIL, READ), begun("1.1"), resumed(), failure("1.1", "outcome_unknown"), result("1.2")
    ).waits_for("1.1")


def settled(event: ToolCall | ToolError) -> ToolCall | ToolError:
    return event.model_copy(update={"settled": Settlement(actor="ops", reason="asked the bank")})


UNKNOWN = (turn(1, MAIL, READ), begun("1.1"), resumed(), failure("1.1", "outcome_unknown"))


def test_a_settlement_takes_the_place_of_the_unknown_outcome_and_the_run_goes_on() -> None:
    for found in (settled(result("1.1")), settled(failure("1.1"))):
        given(*UNKNOWN, found).executes("1.2")
        assert folded(*UNKNOWN, found).steps[-1].results == (found,)
        assert folded(*UNKNOWN, found).unknown == ()


def test_only_what_is_unknown_is_settled_and_only_once() -> None:
    once = settled(result("1.1"))
    given(*UNKNOWN, once, once).is_corrupt(7, "tool_call for call 1.1, which is not waiting for one")
    given(*UNKNOWN, result("1.1")).is_corrupt(6, "tool_call for call 1.1, which is not waiting for one")


def test_an_idempotent_call_started_again_is_in_doubt_again_after_a_second_crash() -> None:
    again = (turn(1, PREVIEW), begun("1.1", "idempotent"), resumed(), begun("1.1", "idempotent"))
    assert folded(*again).in_doubt == ()
    assert folded(*again, resumed("third")).in_doubt == ("1.1",)
    given(*again, resumed("third")).executes("1.1")


def test_a_once_call_stays_in_doubt_over_a_second_takeover() -> None:
    given(turn(1, MAIL), begun("1.1"), resumed(), resumed("third")).executes(
        refused("1.1", "outcome_unknown")
    )


def test_a_result_settles_the_doubt() -> None:
    settled = (turn(1, MAIL), begun("1.1"), resumed(), result("1.1"))
    assert folded(*settled).in_doubt == ()
    given(*settled).asks_the_model()


def test_a_takeover_between_turns_leaves_nothing_in_doubt() -> None:
    given(turn(1, MAIL), begun("1.1"), result("1.1"), resumed()).asks_the_model()
    given(resumed()).asks_the_model()


def test_a_takeover_before_the_terminal_is_recorded_finishes_the_same_way() -> None:
    given(turn(1, ANSWER), resumed()).finishes("answered", by="1.1", arguments='{"text":"Done."}')
    given(turn(1, ANSWER, READ), resumed()).finishes("blocked", "ambiguous_terminal_calls")


def test_a_takeover_gives_no_new_budget() -> None:
    spent = (started(Budget(max_steps=1)), turn(1, READ), result("1.1"), resumed())
    given(*spent).finishes("blocked", "max_steps_exceeded")


def test_a_call_in_doubt_does_not_pass_the_limit_that_it_had_passed_before() -> None:
    given(
        started(Budget(max_tool_calls=1)), turn(1, PREVIEW), begun("1.1", "idempotent"), resumed()
    ).executes("1.1")


def test_the_takeover_names_the_new_owner() -> None:
    state = fold(RUN_ID, numbered([started(), resumed("second"), resumed("third")]))
    assert (state.owner, [event.owner for event in state.resumed]) == ("third", ["second", "third"])
