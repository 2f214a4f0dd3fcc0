"""Properties of parsing arguments, over arbitrary text."""

import json
from datetime import timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tachograph.domain.arguments import (
    ArgumentsRefused,
    canonical_arguments,
    parse_arguments,
)
from tachograph.domain.values import json_text

from .parsing import CODES, Anything, Judged, Refund, parsed_or_refused

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
nearly_json = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ":", ",", '"', "\\", "\\u", "d800", "1", "-", ".", "e", "9" * 400, "NaN", "true",
         "null", " ", "\n", "\x00", "\ud800", "order_id", '"order_id":', '"qty":', "Infinity", "'", "é"]
    ),
    max_size=30,
).map("".join)  # fmt: skip
raw_texts = st.one_of(
    st.text(st.characters()),
    nearly_json,
    nearly_json.map(lambda text: f'{{"order_id":"a",{text}}}'),
    json_values.map(json_text),
    st.dictionaries(st.sampled_from(["order_id", "qty", "amount", "share"]), json_values).map(json_text),
)


@given(raw_texts)
@example("[" * 1_000_000)
@example('{"a":' * 160_000)
@example('{"a":' + "9" * 900_000 + "}")
@example('{"a":0.' + "9" * 900_000 + "}")
@example('{"a":1e' + "9" * 900_000 + "}")
@example('{"a":-1e-' + "9" * 900_000 + "}")
@example('{"' + '\\"' * 490_000 + '":1}')
@example("{" + ",".join(f'"{number}":1' for number in range(80_000)) + "}")
@example("{" + '"a":1,' * 160_000 + '"a":1}')
@example('"' + "\\u0000" * 160_000)
@example("x" * 20_000_000)
@settings(deadline=timedelta(seconds=3))
def test_any_text_gives_arguments_or_a_refusal_in_bounded_time(raw: str) -> None:
    for model in (Refund, Anything, Judged):
        parsed = parsed_or_refused(raw, model)
        if isinstance(parsed, ArgumentsRefused):
            assert (parsed.code in CODES, len(str(parsed)) < 20_000) == (True, True)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_what_was_accepted_is_what_was_sent(value: dict[str, Any]) -> None:
    sent = json.dumps(value)
    assert parse_arguments(sent, Anything).model_extra == value


refunds = st.builds(
    Refund,
    order_id=st.text(),
    qty=st.integers(),
    amount=st.none() | st.decimals(allow_nan=False, allow_infinity=False, places=2),
    share=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    notify=st.booleans(),
)


@given(refunds)
def test_canonical_arguments_parse_to_the_same_arguments(arguments: Refund) -> None:
    """An approval carries the canonical text; executing it later must mean the same."""
    again = parsed_or_refused(canonical_arguments(arguments), Refund)
    if isinstance(again, ArgumentsRefused):  # A Decimal with more digits than a double can hold.
        assert (again.code, "send it as a string" in str(again)) == ("invalid_json", True)
    else:
        assert again == arguments
