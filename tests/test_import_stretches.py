"""The rules by which a conversation becomes runs, one by one."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

import pytest

from tachograph.adapters.importers.conversation import ToolResult, Utterance
from tachograph.adapters.importers.to_events import NO_RESULT
from tachograph.domain.budget import Totals, Usage
from tachograph.domain.events import ModelTurn, RunStarted, ToolCall, ToolError
from tachograph.domain.origins import Message

from .test_import_vocabulary import (
    assistant,
    call,
    outcome,
    result,
    runs_of,
    said,
    shown,
    started,
    terminal,
    user,
)

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


def test_each_customer_message_opens_a_run_and_text_to_the_customer_ends_it() -> None:
    first, second = runs_of(user("One"), assistant("Two"), user("Three"), assistant("Four"))
    assert (said(first), said(second)) == ([("user", "One")], [("user", "Three")])
    assert outcome(first) == outcome(second) == ("answered", None, None)
    assert (terminal(first).tool, terminal(first).arguments) == ("answer_user", '{"message":"Two"}')


def test_the_policy_and_several_messages_in_a_row_open_one_run() -> None:
    [run] = runs_of(Utterance("system", "Rules"), user("One"), user("Two"), assistant("Three"))
    assert said(run) == [("system", "Rules"), ("user", "One"), ("user", "Two")]


def test_a_greeting_is_a_run_without_a_customer_and_carries_the_policy() -> None:
    greeting, answer = runs_of(assistant("Hi!"), user("One"), assistant("Two"), policy="Rules")
    assert (said(greeting), said(answer)) == ([("system", "Rules")], [("user", "One")])
    assert outcome(greeting) == ("answered", None, None)


def test_messages_after_the_last_answer_belong_to_the_last_run() -> None:
    first, last = runs_of(user("One"), assistant("Two"), user("Three"), assistant("Four"), user("Bye"))
    sources = [started(first).source, started(last).source]
    assert [source and source.unanswered for source in sources] == [
        (),
        (Message(role="user", content="Bye"),),
    ]
    assert [(source.first_message, source.last_message) for source in sources if source] == [(0, 1), (2, 3)]


def test_a_conversation_without_an_answer_is_one_run_without_a_turn() -> None:
    [run] = runs_of(user("Anyone there?"))
    assert said(run) == [("user", "Anyone there?")]
    assert [event.kind for event in run] == ["run_started", "terminal"]
    assert outcome(run) == ("blocked", "source_ended", None)


def test_an_empty_conversation_is_one_run_of_no_messages() -> None:
    [run] = runs_of()
    source = started(run).source
    assert source is not None
    assert (source.first_message, source.last_message) == (0, -1)


def test_a_file_that_ends_after_a_result_blocks_the_run() -> None:
    [run] = runs_of(user(), assistant(None, call()), result())
    assert outcome(run) == ("blocked", "source_ended", None)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_an_answer_without_text_is_none(text: str | None) -> None:
    [run] = runs_of(user(), assistant(text))
    assert outcome(run) == ("blocked", "source_ended", None)
    assert [event.text for event in run if isinstance(event, ModelTurn)] == [text]


def test_a_hand_off_ends_the_run_although_the_assistant_speaks_on() -> None:
    arguments = '{"summary": "angry"}'
    [run] = runs_of(
        user(),
        assistant(None, call()),
        result(),
        assistant(None, call("transfer_to_human_agents", arguments=arguments)),
        result("Transfer successful"),
        assistant("Please hold."),
    )
    assert outcome(run) == ("handed_off", None, "2.1")
    assert (terminal(run).tool, terminal(run).arguments) == ("transfer_to_human_agents", arguments)
    assert terminal(run).totals == Totals(steps=3, tool_calls=2)


def test_a_hand_off_that_failed_hands_nothing_off() -> None:
    hand_off = assistant(None, call("transfer_to_human_agents"))
    [run] = runs_of(user(), hand_off, result("Error: nobody is there"), assistant("Sorry."))
    assert outcome(run) == ("answered", None, None)


def test_a_hand_off_that_the_file_ends_with_counts() -> None:
    [run] = runs_of(user(), assistant(None, call("transfer_to_human_agents")))
    assert outcome(run) == ("handed_off", None, "1.1")
    assert shown(run) == [("1.1", NO_RESULT)]


def test_lone_surrogates_are_replaced_and_said_so_and_exact_where_json_holds_them() -> None:
    [run] = runs_of(
        user("a\ud83d"),
        assistant("b\udc00", call("c\ud83d", "i", '"\ud83d"'), call("e", "2")),
        result("d\ud83d", "i"),
        ToolResult("2", None, "f\ud83d", is_error=True),
    )
    first, turn, done, failed, _ = run
    assert isinstance(first, RunStarted)
    assert isinstance(turn, ModelTurn)
    assert isinstance(done, ToolCall)
    assert isinstance(failed, ToolError)
    assert (said(run), first.altered) == (
        [("user", "a\ufffd")],
        ("input.0: U+D83D at 1 replaced",),
    )
    assert turn.altered == (
        "text: U+DC00 at 1 replaced",
        "calls.0.name: U+D83D at 1 replaced",
        "calls.0.arguments: U+D83D at 1 replaced",
    )
    assert done.output == '"d\\ud83d"'
    assert (failed.message, failed.detail) == ("f\ufffd", 'message: U+D83D at 1 replaced: "f\\ud83d"')


@pytest.mark.parametrize(
    ("clock", "fields", "times"),
    [
        ("none", {}, {datetime(1970, 1, 1, tzinfo=UTC)}),
        ("conversation", {"started_at": NOON}, {NOON}),
    ],
)
def test_times_are_the_files_and_never_the_clocks(
    clock: Literal["none", "conversation"], fields: dict[str, Any], times: set[datetime]
) -> None:
    [run] = runs_of(user(), assistant("Hi"), clock=clock, **fields)
    source = started(run).source
    assert source is not None
    assert ({event.recorded_at for event in run}, source.clock) == (times, clock)


def test_messages_with_times_of_their_own_keep_them() -> None:
    seconds = [NOON.replace(second=second) for second in range(4)]
    [run] = runs_of(
        Utterance("user", "One", at=seconds[0]),
        Utterance("assistant", None, (call(),), at=seconds[1]),
        ToolResult("c1", None, "done", is_error=False, at=seconds[2]),
        Utterance("assistant", "Two", at=seconds[3]),
        clock="message",
        started_at=NOON.replace(hour=1),
    )
    assert [event.recorded_at for event in run] == [*seconds, seconds[3]]


def test_tokens_and_cost_are_the_files() -> None:
    answer = Utterance("assistant", "Hi", usage=Usage(tokens_in=7, tokens_out=2), cost_usd=Decimal("0.10"))
    [run] = runs_of(user(), answer)
    assert terminal(run).totals == Totals(steps=1, tokens_in=7, tokens_out=2, cost_usd=Decimal("0.10"))
