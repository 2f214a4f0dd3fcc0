"""Rules 1, 2 and 4 of the loop: a turn is classified whole before any of its calls runs."""

import pytest

from tachograph.domain.agent import Agent
from tachograph.domain.events import ErrorCode, FinishReason, Outcome
from tachograph.domain.ports import AskedCall
from tachograph.domain.tools import TerminalTool

from .shop import Answer
from .story import ANSWER, MAIL, PREVIEW, READ, ask, failure, given, refused, result, turn


def test_new_run_asks_the_model() -> None:
    given().asks_the_model()


def test_work_calls_are_executed_in_the_order_given() -> None:
    given(turn(1, MAIL, READ, PREVIEW)).executes("1.1", "1.2", "1.3")


def test_a_call_with_a_result_is_not_executed_again() -> None:
    given(turn(1, READ, MAIL, PREVIEW), result("1.2")).executes("1.1", "1.3")


def test_a_call_with_an_error_is_not_executed_again() -> None:
    given(turn(1, READ, MAIL), failure("1.1")).executes("1.2")


def test_when_all_calls_have_results_the_model_goes_on() -> None:
    given(turn(1, READ, MAIL), failure("1.1"), result("1.2")).asks_the_model()


def test_failed_tool_goes_back_to_the_model_and_does_not_end_the_run() -> None:
    given(turn(1, READ), failure("1.1", "timed_out")).asks_the_model()


def test_text_beside_a_work_call_changes_nothing() -> None:
    given(turn(1, READ, text="Let me look that up.")).executes("1.1")


@pytest.mark.parametrize("text", ["The refund is done.", "", " \n", None])
def test_no_call_at_all_is_blocked_with_or_without_text(text: str | None) -> None:
    given(turn(1, text=text)).finishes("blocked", "terminal_tool_missing")


def test_empty_list_of_calls_is_blocked_though_the_provider_speaks_of_calls() -> None:
    given(turn(1, finish="tool_calls")).finishes("blocked", "terminal_tool_missing")


def test_text_without_a_call_is_blocked_at_a_later_turn_too() -> None:
    given(turn(1, READ), result("1.1"), turn(2, text="Done.")).finishes("blocked", "terminal_tool_missing")


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("answer_user", "answered"),
        ("ask_clarification", "needs_clarification"),
        ("request_handoff", "handed_off"),
    ],
)
def test_one_terminal_call_finishes_with_its_outcome(name: str, outcome: Outcome) -> None:
    given(turn(1, ask(name, text="Done."))).finishes(outcome, by="1.1", arguments='{"text":"Done."}')


def test_terminal_arguments_are_canonical_with_defaults_and_the_models_order() -> None:
    asked = AskedCall("request_refund_approval", ' {"amount_minor" : 500, "order_id":"#W1"}')
    given(turn(1, asked)).finishes(
        "approval_requested", by="1.1", arguments='{"order_id":"#W1","amount_minor":500}'
    )


def test_text_beside_a_terminal_call_changes_nothing() -> None:
    given(turn(1, ANSWER, text="Bye.")).finishes("answered", by="1.1", arguments='{"text":"Done."}')


def test_terminal_after_work_finishes() -> None:
    given(turn(1, READ), result("1.1"), turn(2, ANSWER)).finishes(
        "answered", by="2.1", arguments='{"text":"Done."}'
    )


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((ANSWER, READ), id="terminal before work"),
        pytest.param((READ, ANSWER), id="work before terminal"),
        pytest.param((READ, ANSWER, MAIL), id="terminal amid work"),
        pytest.param((ANSWER, ask("request_handoff", text="Bye.")), id="two terminals"),
        pytest.param((ANSWER, ANSWER), id="two identical terminals"),
        pytest.param((AskedCall("answer_user", "{"), READ), id="the terminal's arguments are broken"),
        pytest.param((ANSWER, AskedCall("order_reed", "{}")), id="beside an unknown tool"),
        pytest.param((ANSWER, AskedCall("", "{}")), id="beside a nameless call"),
        pytest.param((ANSWER, AskedCall("order_read", "{")), id="beside a broken call"),
    ],
)
def test_terminal_beside_any_call_is_blocked_and_nothing_is_executed(calls: tuple[AskedCall, ...]) -> None:
    given(turn(1, *calls)).finishes("blocked", "ambiguous_terminal_calls")


@pytest.mark.parametrize(
    "calls",
    [(ANSWER, READ), (ANSWER, ANSWER)],
)
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "other", "pause"])
def test_ambiguous_terminals_are_blocked_whatever_the_provider_calls_the_turn(
    calls: tuple[AskedCall, ...], finish: FinishReason
) -> None:
    given(turn(1, *calls, finish=finish)).finishes("blocked", "ambiguous_terminal_calls")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("{}", "invalid_arguments"),
        ('{"text": 5}', "invalid_arguments"),
        ('{"text": "a", "tenant": "other"}', "invalid_arguments"),
        ('{"text": "Don', "invalid_json"),
        ('["Done."]', "arguments_not_object"),
        ('{"text": "a", "text": "b"}', "duplicate_key"),
        (None, "invalid_arguments"),
        ("", "invalid_arguments"),
    ],
)
def test_invalid_arguments_of_a_terminal_are_an_error_result(arguments: str | None, code: ErrorCode) -> None:
    given(turn(1, AskedCall("answer_user", arguments))).executes(refused("1.1", code))


def test_after_a_refused_terminal_the_model_may_correct_itself() -> None:
    broken = turn(1, AskedCall("answer_user", "{}"))
    given(broken, failure("1.1", "invalid_arguments")).asks_the_model()
    given(broken, failure("1.1", "invalid_arguments"), turn(2, ANSWER)).finishes(
        "answered", by="2.1", arguments='{"text":"Done."}'
    )


def test_terminal_of_another_agent_is_an_unknown_tool_and_ends_nothing() -> None:
    given(turn(1, AskedCall("close_ticket", "{}"))).executes(refused("1.1", "unknown_tool"))


def test_outcome_of_a_terminal_belongs_to_the_agents_definition() -> None:
    agent = Agent("triage", "1", "", terminals=(TerminalTool("route", "Route.", Answer, "handed_off"),))
    given(turn(1, ask("route", text="x")), agent=agent).finishes(
        "handed_off", by="1.1", arguments='{"text":"x"}'
    )
    given(turn(1, ANSWER), agent=agent).executes(refused("1.1", "unknown_tool"))


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "other"])
def test_calls_are_executed_by_their_presence_not_by_the_finish_reason(finish: FinishReason) -> None:
    given(turn(1, READ, finish=finish)).executes("1.1")
    given(turn(1, ANSWER, finish=finish)).finishes("answered", by="1.1", arguments='{"text":"Done."}')


@pytest.mark.parametrize("text", [None, "Still searching."])
def test_a_paused_turn_goes_on(text: str | None) -> None:
    given(turn(1, text=text, finish="pause")).asks_the_model()


def test_a_paused_turn_with_calls_executes_them() -> None:
    given(turn(1, READ, finish="pause")).executes("1.1")


@pytest.mark.parametrize("calls", [(), (READ,), (ANSWER,), (ANSWER, READ)])
@pytest.mark.parametrize(
    ("finish", "reason"), [("content_filter", "content_filtered"), ("refusal", "refused")]
)
def test_filtered_and_refused_turns_block_the_run_and_execute_nothing(
    calls: tuple[AskedCall, ...], finish: FinishReason, reason: str
) -> None:
    given(turn(1, *calls, text="I", finish=finish)).finishes("blocked", reason)


def test_a_refusal_text_without_calls_is_a_refusal_though_the_turn_stopped_well() -> None:
    given(turn(1, text="", refusal="I can't help with that.")).finishes("blocked", "refused")


def test_a_refusal_text_beside_calls_is_only_text() -> None:
    given(turn(1, READ, refusal="Not all of it.")).executes("1.1")
    given(turn(1, READ, refusal="Not all of it."), result("1.1")).asks_the_model()


@pytest.mark.parametrize("calls", [(READ,), (ANSWER,), (READ, MAIL), (ANSWER, READ)])
@pytest.mark.parametrize(("finish", "code"), [("length", "truncated_turn"), ("rejected", "rejected_turn")])
def test_calls_of_a_cut_or_rejected_turn_are_refused_though_their_json_is_complete(
    calls: tuple[AskedCall, ...], finish: FinishReason, code: ErrorCode
) -> None:
    all_refused = [refused(f"1.{index}", code) for index in range(1, len(calls) + 1)]
    given(turn(1, *calls, finish=finish)).executes(*all_refused)


def test_after_a_cut_turn_the_model_is_asked_again() -> None:
    cut = turn(1, READ, MAIL, finish="length")
    given(cut, failure("1.1", "truncated_turn")).executes(refused("1.2", "truncated_turn"))
    given(cut, failure("1.1", "truncated_turn"), failure("1.2", "truncated_turn")).asks_the_model()


@pytest.mark.parametrize("finish", ["length", "rejected"])
def test_a_cut_or_rejected_turn_without_calls_is_blocked(finish: FinishReason) -> None:
    given(turn(1, text="The ord", finish=finish)).finishes("blocked", "terminal_tool_missing")


@pytest.mark.parametrize("text", [None, "Usage limit reached, resets later"])
def test_a_provider_error_inside_a_turn_is_shown_to_the_model_and_is_never_an_answer(
    text: str | None,
) -> None:
    given(turn(1, text=text, finish="rejected", error="tool_use_failed")).asks_the_model()


def test_the_same_provider_id_twice_in_a_turn_gives_two_calls() -> None:
    twins = (AskedCall("order_read", READ.arguments, "id_0"), AskedCall("mail_send", MAIL.arguments, "id_0"))
    given(turn(1, *twins)).executes("1.1", "1.2")
    given(turn(1, *twins), result("1.1")).executes("1.2")


def test_the_same_provider_id_in_a_later_turn_is_another_call() -> None:
    first, second = (turn(step, AskedCall("order_read", READ.arguments, "id_0")) for step in (1, 2))
    given(first, result("1.1"), second).executes("2.1")
    given(first, result("1.1"), second, result("2.1")).asks_the_model()


@pytest.mark.parametrize("provider_id", ["", None])
def test_empty_provider_ids_are_no_ids(provider_id: str | None) -> None:
    nameless = AskedCall("order_read", READ.arguments, provider_id)
    given(turn(1, nameless, nameless)).executes("1.1", "1.2")
    given(turn(1, nameless, nameless), result("1.2")).executes("1.1")
