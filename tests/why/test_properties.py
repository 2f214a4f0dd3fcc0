"""What holds for any arguments, outputs and messages; and how much room an index takes."""

import json
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.domain.why.evidence import gather
from tachograph.domain.why.leaves import leaves, parsed

from .evidence_story import found, said

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=8), values, max_size=5)


@given(objects, values, st.text())
@settings(max_examples=150)
def test_every_leaf_has_one_verdict(arguments: dict[str, Any], output: Any, message: str) -> None:
    trace = said(message.encode("utf-8", "replace").decode()).called("look_up", {}, json.dumps(output))
    expected = {leaf.pointer for leaf in leaves(parsed(json.dumps(arguments)))} if arguments else set()
    assert set(trace.judged(json.dumps(arguments))) == expected


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=30), min_size=1, max_size=5)
)
def test_what_was_copied_from_an_output_is_never_made_up(output: dict[str, str]) -> None:
    trace = found(json.dumps(output))
    assert "unsupported" not in trace.verdicts({"copied": list(output.values())}).values()


@given(st.lists(st.integers(10**8, 10**9 - 1), min_size=1, max_size=30), st.integers(0, 2**31))
def test_an_id_of_nine_digits_that_is_nowhere_is_made_up(numbers: list[int], seed: int) -> None:
    new = random.Random(seed).randrange(10**8, 10**9)
    if new not in numbers:
        trace = found({"rows": [{"id": f"#W{number}", "n": number} for number in numbers]})
        assert set(trace.verdicts({"id": f"#W{new}", "other": str(new), "n": new}).values()) == {
            "unsupported"
        }


def test_an_index_takes_less_than_ten_times_its_text() -> None:
    chance = random.Random(7)
    trace = said("Please look it up")
    characters = 0
    for _ in range(49):
        rows = [
            {
                "order_id": f"#W{chance.randrange(10**7):07}",
                "amount": round(chance.random() * 1000, 2),
                "user": {
                    "first_name": chance.choice(["Mia", "Ivan"]),
                    "email": f"u{chance.random()}@example.com",
                },
                "placed_at": f"2026-0{chance.randrange(1, 9)}-11T10:00:00",
                "note": f"delivered on May {chance.randrange(1, 29)}, all fine",
            }
            for _ in range(95)
        ]
        output = json.dumps(rows)
        characters += len(output)
        trace = trace.called("search", {}, output)
    assert characters > 900_000
    tracemalloc.start()
    evidence = gather(trace.events)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert evidence.index.size > 400_000
    assert peak < 10 * characters


@pytest.mark.slow
def test_hostile_texts_of_half_a_megabyte_are_indexed_and_asked() -> None:
    hostile = ["1,", "May ", "a_", "((", "9", "1.", "2024-05-", "20 of ", "#", "\u200b", "1 day ", "["]
    for piece in hostile:
        text = piece * (500_000 // len(piece))
        trace = said(text).called("look_up", {}, json.dumps({"text": text}))
        assert trace.verdicts({"id": "ABC123", "amount": 12345.67})["id"] == "unsupported"
