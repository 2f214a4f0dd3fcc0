"""Failure cases of the category serialisation, as far as the domain decides them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from tachograph.domain.codec import decode, encode
from tachograph.domain.events import RunResumed
from tachograph.domain.messages import RequestMessage, conversation
from tachograph.domain.values import Unserializable, json_text

from .story import READ, failure, folded, given, result, resumed, turn

Case = Callable[[str], dict[str, Any]]


def refusal(value: object) -> str:
    with pytest.raises(Unserializable) as caught:
        json_text(value)
    return str(caught.value)


@pytest.mark.case("C020")
def test_C020_a_time_in_an_output_comes_back_as_the_same_instant(case: Case) -> None:
    [name] = case("C020")["tool_output"]
    offsets = [timedelta(0), timedelta(hours=2), -timedelta(hours=9, minutes=30), timedelta(seconds=1)]
    for offset in offsets:
        for microsecond in (0, 1, 999_999):
            time = datetime(2026, 3, 31, 10, 0, 0, microsecond, tzinfo=timezone(offset))
            again = datetime.fromisoformat(json.loads(json_text({name: time}))[name])
            assert (again, again.utcoffset()) == (time, offset)


@pytest.mark.case("C020")
def test_C020_a_time_without_an_offset_gets_none() -> None:
    assert json_text({"requested_at": datetime(2026, 3, 31, 10)}) == '{"requested_at":"2026-03-31T10:00:00"}'


@pytest.mark.case("C021")
def test_C021_an_event_without_a_time_zone_is_refused_and_so_is_any_but_utc(case: Case) -> None:
    naive = datetime.fromisoformat(case("C021")["event_time"].removesuffix(" (naive)"))
    assert naive.tzinfo is None
    paris = naive.replace(tzinfo=timezone(timedelta(hours=2)))
    for time in (naive, naive.isoformat(), paris, paris.isoformat()):
        with pytest.raises(ValidationError, match="recorded_at"):
            RunResumed(recorded_at=time, owner="a", actor="b", reason="c")  # type: ignore[arg-type]  # texts too


@pytest.mark.case("C021")
def test_C021_a_stored_time_is_utc_and_stays_so() -> None:
    event = resumed().model_copy(update={"recorded_at": datetime(2026, 3, 31, 10, tzinfo=UTC)})
    stored = encode(event)
    assert b'"recorded_at":"2026-03-31T10:00:00Z"' in stored
    assert decode(event.kind, stored).recorded_at.utcoffset() == timedelta(0)


@pytest.mark.case("C023")
def test_C023_a_set_is_a_sorted_list(case: Case) -> None:
    assert case("C023")["tool_output"] == {"tags": "<set {vip, gold}>"}
    assert json_text({"tags": {"vip", "gold"}}) == '{"tags":["gold","vip"]}'
    for members in (["b", "a", "B", "é", ""], [10, 9, -1], [1.5, "1.5", None, (1, 2)], [b"b", b"a"]):
        texts = {json_text(set(order)) for order in (members, reversed(members))}
        assert texts == {json_text(frozenset(members))}
        assert json.loads(texts.pop()) == [json.loads(text) for text in sorted(map(json_text, members))]


@pytest.mark.case("C024")
@pytest.mark.parametrize("digits", ["19.90", "19.9", "0.00", "-0.10", "1E+3", "0.1234567890123456789012"])
def test_C024_money_keeps_its_digits(case: Case, digits: str) -> None:
    assert case("C024")["tool_output"] == {"total": "<Decimal 19.90>"}
    text = json_text({"total": Decimal(digits)})
    event = result("1.1", text)
    again = decode(event.kind, encode(event))
    assert (text, again) == (f'{{"total":{digits}}}', event)
    assert str(json.loads(text, parse_float=Decimal, parse_int=Decimal)["total"]) == digits


@pytest.mark.case("C025")
def test_C025_an_output_that_contains_itself_is_refused_and_nothing_else_is_raised(case: Case) -> None:
    assert case("C025")["tool_output"] == "<dict that contains itself>"
    looped: dict[str, Any] = {"secret": "hunter2"}
    looped["self"] = looped
    by_list: list[Any] = [1, {"deep": []}]
    by_list[1]["deep"].append(by_list)
    assert [refusal(looped), refusal(by_list), refusal({"a": looped})] == [
        "a cycle, which contains itself, at /self",
        "a cycle, which contains itself, at /1/deep/0",
        "a cycle, which contains itself, at /a/self",
    ]


@pytest.mark.case("C025")
@pytest.mark.case("C034")
def test_C025_after_such_an_output_the_run_goes_on_and_the_call_is_not_run_again() -> None:
    given(turn(1, READ), failure("1.1", "unserializable_output")).asks_the_model()


@pytest.mark.case("C026")
def test_C026_a_thousand_levels_are_refused_by_one_limit_and_no_recursion_error_escapes(case: Case) -> None:
    assert case("C026")["tool_output"] == "<1000 nested dicts>"
    for levels in (101, 1_000, 200_000):
        nested: Any = 1
        for _ in range(levels):
            nested = {"a": nested}
        assert refusal(nested).startswith("more than 100 levels at /a/a/")
        lists: Any = 1
        for _ in range(levels):
            lists = [lists]
        assert refusal(lists).startswith("more than 100 levels at /0/0/")


@pytest.mark.case("C027")
def test_C027_a_coroutine_is_never_stored_as_its_repr(case: Case) -> None:
    assert case("C027")["returns"] == "<coroutine>"

    async def refund() -> str:
        return "done"

    running = refund()
    nested = refund()
    assert (refusal(running), refusal({"a": [nested]}), refusal(refund)) == (
        "a builtins.coroutine at the top",
        "a builtins.coroutine at /a/0",
        "a builtins.function at the top",
    )
    running.close()
    nested.close()


@pytest.mark.case("C031")
@pytest.mark.parametrize(
    ("output", "text"), [(None, "null"), ("", '""'), ([], "[]"), ({}, "{}"), (False, "false"), (0, "0")]
)
def test_C031_an_empty_output_is_a_success_with_a_text(case: Case, output: object, text: str) -> None:
    assert case("C031")["tool_output"] is None
    assert json_text(output) == text
    given(turn(1, READ), result("1.1", text)).asks_the_model()
    assert conversation(folded(turn(1, READ), result("1.1", text)), shown_max=10)[-1] == RequestMessage(
        "tool", text, call_key="1.1"
    )


@pytest.mark.case("C031")
def test_C031_an_imported_result_of_no_text_at_all_is_still_a_result() -> None:
    """92 results in the airline file are empty strings."""
    given(turn(1, READ), result("1.1", "")).asks_the_model()
    assert folded(turn(1, READ), result("1.1", "")).pending == ()


class NeedsKeywords(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


@pytest.mark.case("C032")
def test_C032_an_exception_is_no_value_and_its_text_is_stored_as_plain_text(case: Case) -> None:
    assert "keyword" in case("C032")["handler_raises"]
    error = NeedsKeywords(code=7)
    assert refusal({"error": error}) == f"a {__name__}.NeedsKeywords at /error"
    recorded = failure("1.1", message=f"{type(error).__name__}: {error}", at=1)
    assert decode(recorded.kind, encode(recorded)) == recorded


class Basket:
    def __init__(self, secret: str) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        return f"Basket({self.secret})"


@pytest.mark.case("C034")
def test_C034_an_object_of_an_unknown_class_is_refused_by_type_and_path(case: Case) -> None:
    assert case("C034")["tool_output"] == "<custom class instance>"
    name = f"{__name__}.Basket"
    basket = Basket("hunter2")
    assert [
        refusal(basket),
        refusal({"order": {"lines": [{"sku": 1}, {"sku": basket}]}}),
        refusal([(basket,)]),
        refusal({basket}),
        refusal({"a": {basket: 1}}),
    ] == [
        f"a {name} at the top",
        f"a {name} at /order/lines/1/sku",
        f"a {name} at /0/0",
        f"a {name} at /*",
        f"a key of type {name} at /a",
    ]
