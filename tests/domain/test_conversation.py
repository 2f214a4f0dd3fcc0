"""The request to the model: what it is told of a recorded run, in a form that every provider takes."""

from dataclasses import replace

import pytest

from tachograph.domain.events import ErrorCode, Event
from tachograph.domain.messages import (
    NO_HISTORY,
    NUDGE_REJECTED,
    History,
    ModelRequest,
    RequestMessage,
    conversation,
    request,
)
from tachograph.domain.origins import Message
from tachograph.domain.ports import AskedCall
from tachograph.domain.text import clipped

from .shop import AGENT
from .story import ANSWER, MAIL, READ, ended, failure, folded, result, resumed, started, turn

ASKED = RequestMessage("user", "Refund order #W1, please.")


def said(*events: Event) -> tuple[RequestMessage, ...]:
    return conversation(folded(*events), shown_max=100)


def test_a_new_run_says_its_input() -> None:
    messages = (Message(role="system", content="Today is Tuesday."), Message(role="user", content="Hello"))
    assert said(started(messages=messages)) == (
        RequestMessage("system", "Today is Tuesday."),
        RequestMessage("user", "Hello"),
    )


def test_each_call_has_its_result_right_after_its_turn_in_the_order_asked_for() -> None:
    recorded = turn(1, AskedCall("order_read", "{}", "a"), AskedCall("mail_send", "{}", "b"), text="So.")
    assert said(recorded, failure("1.2", message="No mail."), result("1.1", '{"total":5}')) == (
        ASKED,
        RequestMessage("assistant", "So.", recorded.calls),
        RequestMessage("tool", '{"total":5}', call_key="1.1", provider_id="a"),
        RequestMessage("tool", "No mail.", call_key="1.2", provider_id="b", is_error=True),
    )


def test_repeated_provider_ids_still_give_each_call_its_own_result() -> None:
    twin = AskedCall("order_read", "{}", "id_0")
    results = said(turn(1, twin, twin), result("1.2", "2"), result("1.1", "1"))[2:]
    assert [(message.call_key, message.content) for message in results] == [("1.1", "1"), ("1.2", "2")]


@pytest.mark.parametrize("text", [None, "", " ", "\n\t", "\u2003"])
def test_a_blank_turn_is_left_out(text: str | None) -> None:
    assert said(turn(1, text=text, finish="pause", state="opaque")) == (ASKED,)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_blank_text_beside_calls_is_said_as_no_text(text: str | None) -> None:
    recorded = turn(1, READ, text=text)
    assert said(recorded, result("1.1")) == (
        ASKED,
        RequestMessage("assistant", "", recorded.calls),
        RequestMessage("tool", "{}", call_key="1.1"),
    )


def test_a_blank_assistant_message_of_the_input_is_left_out() -> None:
    messages = (Message(role="assistant", content=" "), Message(role="user", content="Hello"))
    assert said(started(messages=messages)) == (RequestMessage("user", "Hello"),)


def test_every_other_message_of_the_input_is_said_as_it_is() -> None:
    messages = tuple(
        Message(role=role, content=content)
        for role in ("system", "user", "assistant")
        for content in ("Hello", " ")
    )
    assert [(message.role, message.content) for message in said(started(messages=messages))] == [
        ("system", "Hello"),
        ("system", " "),
        ("user", "Hello"),
        ("user", " "),
        ("assistant", "Hello"),
    ]


def test_a_tool_result_that_came_in_without_its_call_is_said_by_the_user() -> None:
    """Only imports have such a message; a provider would refuse a result that answers no call."""
    messages = (Message(role="tool", content='{"total":5}'), Message(role="user", content="Hello"))
    assert said(started(messages=messages)) == (
        RequestMessage("user", '{"total":5}'),
        RequestMessage("user", "Hello"),
    )


def test_text_of_a_paused_turn_and_the_providers_own_state_are_given_back() -> None:
    assert said(turn(1, text="Searching", finish="pause", state="opaque")) == (
        ASKED,
        RequestMessage("assistant", "Searching", provider_state="opaque"),
    )


def test_a_refusal_is_what_the_model_said() -> None:
    assert said(turn(1, refusal="I can't.")) == (ASKED, RequestMessage("assistant", "I can't."))


def test_a_rejected_answer_is_explained_to_the_model() -> None:
    assert said(turn(1, finish="rejected", error="tool_use_failed: no such field")) == (
        ASKED,
        RequestMessage("user", f"{NUDGE_REJECTED}tool_use_failed: no such field"),
    )


def test_a_long_explanation_is_clipped() -> None:
    [_, told] = said(turn(1, finish="rejected", error="x" * 2_001))
    assert told.content == f"{NUDGE_REJECTED}{'x' * 2_000}\n[cut: 2001 characters, the first 2000 shown]"


def test_the_explanation_comes_after_the_results_of_the_turns_calls() -> None:
    """Between a call and its result providers allow nothing."""
    recorded = turn(1, READ, finish="rejected", error="malformed")
    assert said(recorded, failure("1.1", "rejected_turn", "Not executed.")) == (
        ASKED,
        RequestMessage("assistant", "", recorded.calls),
        RequestMessage("tool", "Not executed.", call_key="1.1", is_error=True),
        RequestMessage("user", f"{NUDGE_REJECTED}malformed"),
    )


def test_a_takeover_is_not_told_to_the_model() -> None:
    events = (turn(1, READ), result("1.1"))
    assert said(*events, resumed()) == said(*events)


def test_a_call_settled_as_unknown_is_a_result_like_any_other() -> None:
    recorded = turn(1, MAIL)
    assert said(recorded, failure("1.1", "outcome_unknown", "Unknown."))[-1] == RequestMessage(
        "tool", "Unknown.", call_key="1.1", is_error=True
    )


def test_the_terminal_call_of_an_ended_run_is_answered_by_its_outcome() -> None:
    """A run that continues this one can send its conversation on."""
    recorded = turn(1, ANSWER, text="Bye.")
    assert said(recorded, ended("answered", call_key="1.1")) == (
        ASKED,
        RequestMessage("assistant", "Bye.", recorded.calls),
        RequestMessage("tool", "answered", call_key="1.1"),
    )


def test_calls_that_an_ended_run_never_executed_are_left_out() -> None:
    blocked = ended("blocked", "ambiguous_terminal_calls")
    assert said(turn(1, ANSWER, READ, text="Bye."), blocked) == (ASKED, RequestMessage("assistant", "Bye."))
    assert said(turn(1, ANSWER, READ), blocked) == (ASKED,)


def test_the_model_sees_the_first_characters_of_a_long_output_and_how_many_are_missing() -> None:
    output = "x" * 101
    shown = said(turn(1, READ), result("1.1", output))[-1].content
    assert shown == f"{'x' * 100}\n[cut: 101 characters, the first 100 shown]"
    assert said(turn(1, READ), result("1.1", output[:100]))[-1].content == output[:100]


@pytest.mark.parametrize(("text", "most"), [("", 0), ("abc", 3), ("abc", 10)])
def test_a_text_within_the_limit_is_not_clipped(text: str, most: int) -> None:
    assert clipped(text, most) == text


def asked(*events: Event, history: History = NO_HISTORY) -> ModelRequest:
    return request(AGENT, folded(*events), history)


def test_a_request_holds_all_that_the_model_port_needs() -> None:
    assert asked(turn(1, READ), result("1.1")) == ModelRequest(
        step=2,
        model="scripted",
        instructions="Refund by the policy.",
        tools=AGENT.offers(started().context),
        messages=said(turn(1, READ), result("1.1")),
        catalogue_digest=AGENT.catalogue_digest,
    )


def test_what_earlier_runs_said_comes_first() -> None:
    earlier = folded(turn(1, text="How can I help?"))
    said_before = (ASKED, RequestMessage("assistant", "How can I help?"))
    assert asked(history=History((earlier,))).messages == (*said_before, ASKED)


def test_the_digest_is_of_what_is_sent_and_changes_with_each_part() -> None:
    base = asked(turn(1, READ), result("1.1"))
    others = [
        replace(base, model="other"),
        replace(base, instructions="Refund nothing."),
        replace(base, catalogue_digest="0" * 64),
        replace(base, messages=base.messages[:-1]),
        replace(base, messages=(*base.messages[:-1], base.messages[-1]._replace(is_error=True))),
        replace(base, messages=(*base.messages[:-1], base.messages[-1]._replace(content=" "))),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 1 + len(others)


def test_the_digest_does_not_shift_between_model_and_instructions() -> None:
    base = asked()
    moved = replace(base, model="scripted\nx", instructions="y")
    assert moved.digest != replace(base, model="scripted", instructions="x\ny").digest


def test_a_turn_left_out_changes_the_step_but_not_the_digest() -> None:
    """The step isn't sent: what the provider would see is the same."""
    first, second = asked(), asked(turn(1, finish="pause"))
    assert (first.step, second.step, first.digest) == (1, 2, second.digest)


@pytest.mark.parametrize("code", ["unknown_tool", "timed_out", "invalid_json"])
def test_every_error_is_marked_as_one(code: ErrorCode) -> None:
    assert said(turn(1, READ), failure("1.1", code))[-1].is_error is True
