"""What was not searched is said so, and nothing that a sender writes makes it so for others."""

import json

import pytest

from tachograph.domain.why import index
from tachograph.domain.why.gate import refusal
from tachograph.domain.why.index import TEXT_MAX

from .evidence_story import said

# 247 characters of JSON within JSON, with more levels than Python's reader is sure to take.
DEEP = "[" * 60 + json.dumps("[" * 60 + '"far inside"' + "]" * 60) + "]" * 60
DECLARED = {"/value": "evidence"}


def test_what_is_nested_deep_is_searched_all_the_same() -> None:
    trace = said(DEEP)
    assert trace.verdicts({"value": "LL-999999"}) == {"value": "unsupported"}
    assert trace.verdicts({"value": "far inside"}) == {"value": "in_text"}


def test_what_could_not_be_searched_does_not_pass_the_gate() -> None:
    trace = said("x" * (TEXT_MAX + 1))
    judged = list(trace.judged({"value": "LL-999999"}, DECLARED).values())
    assert [argument.verdict for argument in judged] == ["not_searched"]
    assert "past the limit" in str(refusal(judged))


def test_a_value_within_free_text_that_could_not_be_searched_does_not_pass_either() -> None:
    trace = said("x" * (TEXT_MAX + 1))
    text = "The customer wants the money for order LL-999999 back, please."
    judged = list(trace.judged({"value": text}, DECLARED).values())
    assert "'LL-999999', in the text: not searched" in str(refusal(judged))


def test_an_output_of_the_declared_tool_past_the_limit_does_not_pass() -> None:
    trace = said("Hello").called("preview", {}, json.dumps("x" * TEXT_MAX))
    judged = list(trace.judged({"value": 5}, {"/value": "from preview /amount"}).values())
    assert "too much to be searched" in str(refusal(judged))


def test_what_comes_after_a_call_changes_nothing_in_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "TRACE_MAX", 100)
    trace = said("Hello").turn(("read", ""))
    [before] = trace.judged({"value": "LL-999999"}).values()
    later = trace.output(json.dumps("y" * 200))
    [after] = later.judged({"value": "LL-999999"}).values()
    assert (before.verdict, after.verdict) == ("unsupported", "not_searched")
    assert later.judged_at(1, {"value": "LL-999999"}) == {"/value": before}


def test_the_characters_that_were_left_out_are_counted() -> None:
    [argument] = said("x" * (TEXT_MAX + 7)).judged({"value": "LL-999999"}).values()
    assert "; 7 characters were past the limit" in str(argument.why)


def test_words_that_stand_together_are_found_among_thousands_that_do_not() -> None:
    rows = [{"carrier": "AA"} if place % 2 else {"seats": "100"} for place in range(4_400)]
    trace = said("Hello").called("search", {}, [{"flight": "AA 100"}, *rows])
    assert trace.verdicts({"value": "AA 100"}) == {"value": "supported"}


def test_words_that_only_stand_near_each_other_thousands_of_times_say_nothing() -> None:
    """A cap that left places out never makes a value unsupported."""
    trace = said("Hello").called("read", {}, "the flight AA 100 " + "AA and 100 " * 1_100)
    [argument] = trace.judged({"value": "AA 100"}).values()
    assert (argument.verdict, argument.sources) == ("not_searched", ())
    assert "in more places than were searched" in str(argument.why)


def test_a_message_full_of_days_is_looked_up_once_a_day() -> None:
    """111,000 times `tomorrow` took 5 s."""
    assert said("tomorrow " * 111_000).verdicts({"date": "2024-05-20"}) == {"date": "unsupported"}
