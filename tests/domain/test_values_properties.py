"""Properties of the JSON text of values: exact, storable, and never another error than the documented one."""

import enum
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.values import Unserializable, json_text


class Colour(enum.Enum):
    RED = "red"
    TAG = "$float"


class Custom:
    def __repr__(self) -> str:
        return "secret=hunter2"


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
).filter(lambda value: "$literal" not in json_text(value))


@given(plain_values)
def test_plain_json_comes_back_as_it_was(value: object) -> None:
    assert json.loads(json_text(value)) == value


@given(plain_values)
def test_plain_json_is_written_as_pythons_own_writer_would(value: object) -> None:
    assert json_text(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


any_text = st.text(st.characters())


@given(any_text)
def test_any_text_with_lone_surrogates_too_comes_back_exactly(text: str) -> None:
    written = json_text({f"key {text}": text})
    assert (json.loads(written), written.encode().decode()) == ({f"key {text}": text}, written)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | any_text
    | st.binary()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([*Colour, Custom(), Decimal("sNaN")]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            any_text | st.integers() | st.sampled_from(["$float", "$bytes", "$literal"]), inner, max_size=3
        )
        | st.sets(st.integers() | any_text, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=12,
)


@given(anything)
def test_whatever_the_value_the_answer_is_storable_json_or_unserializable(value: object) -> None:
    try:
        written = json_text(value)
    except Unserializable:
        return
    json.loads(written, parse_constant=pytest.fail)
    assert (written.encode().decode(), json_text(value)) == (written, written)
