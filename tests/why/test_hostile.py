"""Texts written to make the engine slow, or to fill the memory: all are answered. No seconds are measured."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.values import json_text
from tachograph.domain.why.evidence import gather
from tachograph.domain.why.prose import PARTS_MAX, inner_values
from tachograph.domain.why.verdicts import Question, verdicts

from .evidence_story import said

# What is asked is a piece of the text; where a text can be cut there, it is found, else it is not. Of so
# many places of a word not all are looked at.
CUT = {"1,", "1.000,", "10/10/", "-1", "((", "9", "\u0663,", "\u202f1", "\u0301", "\ufdfa"}
FOUND = {"1'000 ", "May 20 ", "20th of May ", "w12345 ", "2024-05-20T10:00 ", "# a\n", '{"a":'}
MANY = {"1,", "1.000,", "10/10/", "-1", "\u0663,", "\u202f1"}
SIZE = 50_000


@pytest.mark.parametrize("piece", sorted(CUT | FOUND))
def test_a_long_value_is_asked_of_a_text_of_its_own_words(piece: str) -> None:
    trace = said(piece * (SIZE // len(piece)))
    verdict = "in_text" if piece in FOUND else "not_searched" if piece in MANY else "unsupported"
    assert trace.verdicts({"value": piece * (3_900 // len(piece))}) == {"value": verdict}


def test_a_value_of_many_words_does_not_hold_the_places_of_all_of_them() -> None:
    """Else a value of 4,000 characters that a text of a megabyte repeats takes all memory."""
    trace = said("aa bb " * 20_000).turn(("next", {}))
    evidence = gather(trace.events)
    question = Question(evidence, evidence.turns[trace.run_id, 1])
    asked = json_text({"value": "aa bb " * 100})
    tracemalloc.start()
    [argument] = verdicts(question, asked)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert argument.verdict == "in_text"
    assert peak < 10_000_000


def test_free_text_full_of_values_is_taken_apart_up_to_a_number_of_parts() -> None:
    values, end = inner_values("May 20, 2024 for W123456 and 49.90; " * 3_000)
    assert len(values) == PARTS_MAX
    assert values[-1][1] < end < 3_000
    assert [text for _, _, text in values[:3]] == ["May 20, 2024", "W123456", "49.90"]


@given(st.text(alphabet="May20-/,.# W1$\u4e2d", max_size=200))
def test_the_values_of_a_text_are_in_order_and_apart(text: str) -> None:
    values, end = inner_values(text)
    assert end == len(text)
    edges = [edge for start, end, _ in values for edge in (start, end)]
    assert edges == sorted(edges)
    assert all(text[start:end] == value and start < end for start, end, value in values)
