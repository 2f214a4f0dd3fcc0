"""Failure cases of the categories turn_shape, resume and provider, as far as the domain decides them."""

from collections.abc import Callable
from typing import Any

import pytest

from tachograph.domain.budget import Budget
from tachograph.domain.codec import decode, encode
from tachograph.domain.events import ModelTurn
from tachograph.domain.messages import RequestMessage, conversation, request
from tachograph.domain.ports import AskedCall

from .shop import AGENT
from .story import (
    ANSWER,
    MAIL,
    PREVIEW,
    READ,
    begun,
    ended,
    failure,
    folded,
    given,
    refused,
    result,
    resumed,
    started,
    turn,
)

Case = Callable[[str], dict[str, Any]]

ASKED = RequestMessage("user", "Refund order #W1, please.")


@pytest.mark.case("C078")
@pytest.mark.parametrize("text", ["", None, " ", "\n"])
def test_C078_an_empty_turn_is_recorded_and_blocks_the_run(case: Case, text: str | None) -> None:
    assistant = case("C078")["assistant"]
    assert (assistant["content"], assistant["tool_calls"]) == ("", [])
    empty = turn(1, text=text)
    assert decode(empty.kind, encode(empty)) == empty
    given(empty).finishes("blocked", "terminal_tool_missing")


@pytest.mark.case("C078")
@pytest.mark.parametrize("text", ["", None, " ", "\n"])
def test_C078_no_later_request_holds_an_empty_message(text: str | None) -> None:
    paused = folded(turn(1, text=text, finish="pause"))
    over = folded(turn(1, text=text), ended("blocked", "terminal_tool_missing"))
    assert conversation(paused, 100) == conversation(over, 100) == (ASKED,)
    given(started(Budget(max_steps=2)), turn(1, finish="pause"), turn(2, finish="pause")).finishes(
        "blocked", "max_steps_exceeded"
    )


@pytest.mark.case("C080")
def test_C080_text_and_call_of_one_turn_are_both_kept_and_both_told(case: Case) -> None:
    assistant = case("C080")["assistant"]
    [asked] = assistant["tool_calls"]
    recorded = turn(1, AskedCall(asked["name"], asked["arguments"], asked["id"]), text=assistant["content"])
    assert decode(recorded.kind, encode(recorded)) == recorded
    given(recorded).executes(refused("1.1", "invalid_arguments"))
    told = conversation(folded(recorded, failure("1.1", "invalid_arguments", "No.")), 100)
    assert told == (
        ASKED,
        RequestMessage("assistant", "Let me check that order.", recorded.calls),
        RequestMessage("tool", "No.", call_key="1.1", provider_id="1", is_error=True),
    )


@pytest.mark.case("C080")
def test_C080_text_beside_a_good_call_or_a_terminal_changes_nothing() -> None:
    given(turn(1, READ, text="Let me see.")).executes("1.1")
    given(turn(1, ANSWER, text="All done.")).finishes("answered", by="1.1", arguments='{"text":"Done."}')


@pytest.mark.case("C081")
@pytest.mark.parametrize("text", ["", None, "Sorry."])
def test_C081_a_refusal_is_an_end_of_its_own_and_its_text_is_kept(case: Case, text: str | None) -> None:
    refusal = case("C081")["assistant"]["refusal"]
    recorded = turn(1, text=text, refusal=refusal)
    again = decode(recorded.kind, encode(recorded))
    assert isinstance(again, ModelTurn)
    assert again.refusal == "I cannot help with that."
    given(recorded).finishes("blocked", "refused")


@pytest.mark.case("C082")
@pytest.mark.parametrize("text", [None, "", "The ord"])
def test_C082_a_filtered_answer_is_no_success(case: Case, text: str | None) -> None:
    finish = case("C082")["finish_reason"]
    given(turn(1, text=text, finish=finish)).finishes("blocked", "content_filtered")
    for calls in ((READ,), (ANSWER,), (ANSWER, READ)):
        given(turn(1, *calls, text=text, finish=finish)).finishes("blocked", "content_filtered")


@pytest.mark.case("C083")
def test_C083_a_call_that_the_provider_calls_wrong_is_recorded_and_not_executed(case: Case) -> None:
    raw = case("C083")["finishReason"]
    recorded = turn(1, READ, finish="rejected").model_copy(update={"finish_reason_raw": raw})
    assert decode(recorded.kind, encode(recorded)) == recorded
    given(recorded).executes(refused("1.1", "rejected_turn"))
    given(recorded, failure("1.1", "rejected_turn")).asks_the_model()
    given(turn(1, ANSWER, finish="rejected")).executes(refused("1.1", "rejected_turn"))


@pytest.mark.case("C084")
def test_C084_a_call_counts_by_its_presence_whatever_the_finish_reason_says(case: Case) -> None:
    raw = case("C084")["finish_reason"]
    assert raw == ""
    for finish in ("other", "stop", "tool_calls", "pause"):
        recorded = turn(1, READ, finish=finish).model_copy(update={"finish_reason_raw": raw})
        given(recorded).executes("1.1")
    given(turn(1, finish="other")).finishes("blocked", "terminal_tool_missing")


@pytest.mark.case("C085")
def test_C085_a_terminal_beside_a_work_call_ends_the_run_and_executes_nothing(case: Case) -> None:
    assert case("C085")["parallel"] == ["finish(summary)", "order_read(#W1)"]
    for calls in ((ANSWER, READ), (READ, ANSWER), (READ, ANSWER, MAIL), (ANSWER, ANSWER)):
        given(turn(1, *calls)).finishes("blocked", "ambiguous_terminal_calls")


@pytest.mark.case("C085")
def test_C085_a_run_that_continues_it_holds_no_call_without_a_result() -> None:
    over = folded(turn(1, ANSWER, READ, text="So."), ended("blocked", "ambiguous_terminal_calls"))
    assert conversation(over, 100) == (ASKED, RequestMessage("assistant", "So."))


@pytest.mark.case("C089")
@pytest.mark.parametrize("text", [None, "", "Searching the web."])
def test_C089_a_paused_turn_goes_on_within_the_same_budget(case: Case, text: str | None) -> None:
    assert case("C089")["stop_reason"] == "pause_turn"
    paused = [turn(step, text=text, finish="pause") for step in range(1, 7)]
    for count in range(1, 6):
        given(*paused[:count]).asks_the_model()
    given(*paused).finishes("blocked", "max_steps_exceeded")
    given(*paused[:5], turn(6, READ, finish="pause")).executes("6.1")


@pytest.mark.case("C090")
@pytest.mark.parametrize("calls", [(), (READ,), (ANSWER,)])
def test_C090_a_stop_for_refusal_ends_the_run_even_without_a_text(
    case: Case, calls: tuple[AskedCall, ...]
) -> None:
    finish = case("C090")["stop_reason"]
    given(turn(1, *calls, finish=finish)).finishes("blocked", "refused")


@pytest.mark.case("C091")
def test_C091_a_call_left_open_by_a_crash_is_closed_before_the_model_is_asked_again(case: Case) -> None:
    assert case("C091")["events"][1] == "<process killed>"
    given(turn(1, READ), resumed()).executes("1.1")
    given(turn(1, PREVIEW), begun("1.1", "idempotent"), resumed()).executes("1.1")
    given(turn(1, MAIL), begun("1.1"), resumed()).executes(refused("1.1", "outcome_unknown"))
    given(turn(1, READ, MAIL), result("1.1"), begun("1.2"), resumed()).executes(
        refused("1.2", "outcome_unknown")
    )
    assert folded(turn(1, MAIL), begun("1.1"), resumed()).in_doubt == ("1.1",)


@pytest.mark.case("C091")
def test_C091_a_run_that_continues_it_holds_no_orphaned_call() -> None:
    blocked = ended("blocked", "outcome_unknown")
    recorded = turn(1, MAIL, READ)
    over = folded(recorded, begun("1.1"), resumed(), failure("1.1", "outcome_unknown", "Unknown."), blocked)
    assert conversation(over, 100) == (
        ASKED,
        RequestMessage("assistant", "", recorded.calls[:1]),
        RequestMessage("tool", "Unknown.", call_key="1.1", is_error=True),
    )


@pytest.mark.case("C092")
def test_C092_each_call_has_exactly_one_output_before_the_next_request(case: Case) -> None:
    assert case("C092")["input"] == ["function_call a", "function_call b", "output a"]
    asked = turn(1, AskedCall("order_read", READ.arguments, "a"), AskedCall("order_read", "{}", "b"))
    given(asked, result("1.1")).executes(refused("1.2", "invalid_arguments"))
    given(asked, failure("1.2")).executes("1.1")
    complete = folded(asked, failure("1.2", message="no"), result("1.1"))
    assert [(message.role, message.provider_id) for message in request(AGENT, complete).messages[1:]] == [
        ("assistant", None),
        ("tool", "a"),
        ("tool", "b"),
    ]


@pytest.mark.case("C094")
def test_C094_a_turn_of_reasoning_alone_is_left_out_of_the_request_and_stays_recorded(case: Case) -> None:
    assert case("C094")["crash_after"] == "reasoning-only turn"
    reasoning = turn(1, finish="pause", state='{"reasoning":"opaque"}')
    state = folded(reasoning, resumed())
    assert (conversation(state, 100), state.steps[0].turn) == ((ASKED,), reasoning)
    given(reasoning, resumed()).asks_the_model()
    given(reasoning, resumed(), turn(2, READ)).executes("2.1")


@pytest.mark.case("C126")
@pytest.mark.parametrize("back", [5, 0.001, 86_400])
def test_C126_a_clock_that_steps_back_changes_no_order_and_gives_no_negative_time(
    case: Case, back: float
) -> None:
    assert case("C126")["clock"] == "steps back 5 s between event 3 and 4"
    events = (started(at=0), turn(1, READ, at=1), result("1.1", at=1 - back), turn(2, READ, at=0.5 - back))
    state = folded(*events)
    assert ([step.turn.step for step in state.steps], state.wall_s) == ([1, 2], max(0.0, 0.5 - back))
    given(*events).executes("2.1")


@pytest.mark.case("C138")
def test_C138_an_error_text_of_the_provider_is_never_an_answer(case: Case) -> None:
    text = case("C138")["assistant_text"]
    given(turn(1, text=text)).finishes("blocked", "terminal_tool_missing")
    given(turn(1, text=text, error="quota", finish="rejected")).asks_the_model()
    given(turn(1, text=text, error="quota", finish="stop")).asks_the_model()
    given(started(Budget(max_steps=1)), turn(1, text=text, error="quota", finish="rejected")).finishes(
        "blocked", "max_steps_exceeded"
    )
