"""The rules by which calls find their results, one by one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tachograph.adapters.importers.conversation import ForeignCall, ToolResult
from tachograph.adapters.importers.to_events import NO_RESULT
from tachograph.domain.events import ModelTurn, ToolCall, ToolError

from .test_import_vocabulary import (
    assistant,
    call,
    result,
    runs_of,
    said,
    shown,
    started,
    user,
)


@pytest.fixture
def case(shared_data: Path) -> Callable[[str], Any]:
    lines = (shared_data / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = {entry["id"]: entry["input"] for entry in map(json.loads, filter(None, lines))}
    return cases.__getitem__


def test_a_call_without_a_result_has_an_unknown_outcome() -> None:
    [run] = runs_of(user(), assistant(None, call("a", "1"), call("b", "2")), result("B", "2"))
    assert shown(run) == [("1.1", NO_RESULT), ("1.2", '"B"')]
    assert [event.code for event in run if isinstance(event, ToolError)] == ["outcome_unknown"]


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        pytest.param(
            [call("a", "1"), call("b", "2")], [result("B", "2"), result("A", "1")], id="out of order"
        ),
        pytest.param([call("a", "1"), call("a", "1")], [result("A", "1"), result("B", "1")], id="id twice"),
        pytest.param(
            [call("a", "1"), call("b", "1")],
            [result("B", "1", "b"), result("A", "1", "a")],
            id="id twice, names tell",
        ),
        pytest.param([call("a", ""), call("b", "")], [result("A", ""), result("B", "")], id="no ids"),
        pytest.param(
            [call("a", None), call("b", "")], [result("A", "x"), result("B", "y")], id="no call ids"
        ),
        pytest.param(
            [call("a", "1"), call("b", "2")], [result("A", None), result("B", "2")], id="one id missing"
        ),
        pytest.param(
            [call("a", ""), call("b", "")],
            [result("B", "", "b"), result("A", "", "a")],
            id="no ids, names tell",
        ),
    ],
)
def test_results_find_their_calls(calls: list[ForeignCall], results: list[ToolResult]) -> None:
    [run] = runs_of(user(), assistant(None, *calls), *results)
    assert shown(run) == [("1.1", '"A"'), ("1.2", '"B"')]


def test_a_result_of_no_call_comes_in_like_a_message() -> None:
    first, second = runs_of(user(), assistant(None, call("a", "1")), result("A", "9"), assistant("Well"))
    assert shown(first) == [("1.1", NO_RESULT)]
    assert said(second) == [("tool", "A")]
    assert started(second).altered == (
        "input.0: a tool result whose call is not in the file, id '9', name None",
    )


def test_ids_that_start_again_in_each_turn_are_kept_and_tell_nothing(
    case: Callable[[str], Any],
) -> None:
    """Case C064."""
    first, second = case("C064")["calls"]
    [run] = runs_of(
        user(),
        assistant(None, call("get_user_details", first)),
        result("A", first),
        assistant(None, call("get_user_details", second)),
        result("B", second),
    )
    assert shown(run) == [("1.1", '"A"'), ("2.1", '"B"')]


def test_parallel_calls_of_one_tool_are_two_events(case: Callable[[str], Any]) -> None:
    """Case C067."""
    calls = [
        call(asked["name"], f"c{place}", json.dumps(asked["arguments"]))
        for place, asked in enumerate(case("C067")["parallel"])
    ]
    [run] = runs_of(user(), assistant(None, *calls), result("W2", "c1"), result("W1", "c0"))
    assert shown(run) == [("1.1", '"W1"'), ("1.2", '"W2"')]
    assert [event.arguments for event in run if isinstance(event, ToolCall)] == [
        '{"order_id": "#W1"}',
        '{"order_id": "#W2"}',
    ]


@pytest.mark.parametrize(
    ("text", "output"), [(None, "null"), ("", '""'), ('{"a": 1.50}', '"{\\"a\\": 1.50}"')]
)
def test_a_result_is_json_text_of_the_text_that_it_was(text: str | None, output: str) -> None:
    """Case C031: nothing and an empty text are successes, and stay different."""
    [run] = runs_of(user(), assistant(None, call()), result(text))
    assert shown(run) == [("1.1", output)]


@pytest.mark.parametrize(
    ("produced", "arguments"),
    [
        ('{"amount": 1.50}', '{"amount": 1.50}'),
        (None, "{}"),
        ("", "{}"),
        ('{"amount": ', '"{\\"amount\\": "'),
        ('{"amount": NaN}', '"{\\"amount\\": NaN}"'),
    ],
)
def test_arguments_are_kept_as_produced_and_are_json_beside_the_result(
    produced: str | None, arguments: str
) -> None:
    [run] = runs_of(user(), assistant(None, call(arguments=produced)), result())
    [turn] = [event for event in run if isinstance(event, ModelTurn)]
    [done] = [event for event in run if isinstance(event, ToolCall)]
    assert (turn.calls[0].arguments, done.arguments) == (produced, arguments)


def test_an_error_is_told_by_its_mark_or_by_its_text() -> None:
    marked = ToolResult("2", None, "refused", is_error=True)
    [run] = runs_of(user(), assistant(None, call("a", "1"), call("b", "2")), result("Error: no", "1"), marked)
    errors = [(event.code, event.message) for event in run if isinstance(event, ToolError)]
    assert errors == [("tool_execution_failed", "Error: no"), ("tool_execution_failed", "refused")]


def test_text_beside_a_call_is_kept(case: Callable[[str], Any]) -> None:
    """Case C080."""
    message = case("C080")["assistant"]
    [asked] = message["tool_calls"]
    [run] = runs_of(user(), assistant(message["content"], call(asked["name"], asked["id"])), result("A", "1"))
    [turn] = [event for event in run if isinstance(event, ModelTurn)]
    assert (turn.text, len(turn.calls), turn.finish_reason) == ("Let me check that order.", 1, "tool_calls")
