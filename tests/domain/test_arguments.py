"""The arguments of a call: parsed exactly or refused with a reason, never repaired, never guessed."""

from decimal import Decimal
from ipaddress import IPv4Address
from typing import Annotated

import pytest
from hypothesis import given as over
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Json

from tachograph.domain.arguments import (
    ArgumentsRefused,
    arguments_digest,
    canonical_arguments,
    parse_arguments,
    reread_arguments,
)
from tachograph.domain.values import json_text

from .parsing import Anything, Judged, Note, Refund, code, refusal


@pytest.mark.parametrize("raw", [None, "", " ", "\n\t\r ", "{}", " {} "])
def test_no_text_is_no_arguments(raw: str | None) -> None:
    assert parse_arguments(raw, Note) == Note()
    assert refusal(raw) == ("invalid_arguments", "Invalid arguments. order_id: Field required")


@pytest.mark.parametrize(
    "raw", ["\u00a0", "\u3000", "\x00", "\x1c", "\ufeff", "\ufeff{}", "null null", "{}{}"]
)
def test_what_only_looks_like_no_text_is_not_taken_for_it(raw: str) -> None:
    assert code(raw, Note) == "invalid_json"


def test_what_is_validated_is_what_the_text_says() -> None:
    raw = '{"order_id":"#W1","qty":2,"amount":"19.90","share":0.5,"notify":true,"lines":[{"note":"a"}]}'
    assert parse_arguments(raw, Refund) == Refund(
        order_id="#W1", qty=2, amount=Decimal("19.90"), share=0.5, notify=True, lines=[Note(note="a")]
    )


@pytest.mark.parametrize(
    "raw",
    [
        "not json at all",
        "{",
        '{"order_id": "#W1", "rea',
        '{"order_id": "#W1",}',
        "{'order_id': '#W1', 'notify': True}",
        "{order_id: 1}",
        '{"order_id": "#W1"} trailing',
        '{"order_id": "#W1"}{"order_id": "#W2"}',
        '```json\n{"order_id": "#W1"}\n```',
        '{"order_id": "line1\nline2"}',
        '{"order_id": "a\x00b"}',
        '{"order_id": "\\x41"}',
        '{"order_id": "\\ud800"}',
        '{"order_id": "\\udc00\\ud800"}',
        '{"qty": NaN}',
        '{"qty": Infinity}',
        '{"qty": -Infinity}',
        '{"qty": 01}',
        '{"qty": +1}',
        '{"qty": .5}',
        '{"qty": 5.}',
        '{"qty": 0x10}',
        '{"qty": 1_000}',
        '{"qty": \uff11}',
        '{"qty": 1/*a*/}',
        "<order_id>#W1</order_id>",
    ],
)
def test_what_is_not_json_is_refused_as_such(raw: str) -> None:
    assert code(raw, Anything) == "invalid_json"


@pytest.mark.parametrize(
    "raw", ["[]", '["#W1"]', '"#W1"', '"{\\"order_id\\": \\"#W1\\"}"', "1", "1.5", "true", "null"]
)
def test_json_that_is_no_object_is_refused_as_such(raw: str) -> None:
    assert code(raw, Anything) == "arguments_not_object"


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1,"a":2}',
        '{"a":1,"a":1}',
        '{"a":1,"\\u0061":2}',
        '{"lines":[{"note":"a"},{"note":"b","note":"c"}]}',
        '{"":1,"":2}',
    ],
)
def test_a_doubled_key_is_refused_at_any_level_however_it_is_spelled(raw: str) -> None:
    assert code(raw, Anything) == "duplicate_key"


def test_the_same_key_in_two_objects_is_not_doubled() -> None:
    raw = '{"order_id":"a","lines":[{"note":"a"},{"note":"a"}]}'
    assert parse_arguments(raw, Refund).lines == [Note(note="a"), Note(note="a")]


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ('{"order_id":1}', "order_id"),
        ('{"order_id":null}', "order_id"),
        ('{"order_id":["#W1"]}', "order_id"),
        ('{"order_id":"a","qty":"5"}', "qty"),
        ('{"order_id":"a","qty":true}', "qty"),
        ('{"order_id":"a","qty":1.0}', "qty"),
        ('{"order_id":"a","qty":1e3}', "qty"),
        ('{"order_id":"a","qty":"1_000"}', "qty"),
        ('{"order_id":"a","qty":null}', "qty"),
        ('{"order_id":"a","share":"0.5"}', "share"),
        ('{"order_id":"a","share":true}', "share"),
        ('{"order_id":"a","notify":1}', "notify"),
        ('{"order_id":"a","notify":"y"}', "notify"),
        ('{"order_id":"a","notify":"true"}', "notify"),
        ('{"order_id":"a","amount":true}', "amount"),
        ('{"order_id":"a","amount":"NaN"}', "amount"),
        ('{"order_id":"a","amount":"1,000.00"}', "amount"),
        ('{"order_id":"a","amount":""}', "amount"),
        ('{"order_id":"a","lines":{"note":"a"}}', "lines"),
        ('{"order_id":"a","lines":[{"note":1}]}', "lines.0.note"),
        ('{"order_id":"a","lines":[{"notes":"a"}]}', "lines.0.notes"),
        ('{"order_id":"a","tenant":"t2"}', "tenant"),
        ('{"orderId":"a"}', "order_id"),
    ],
)
def test_nothing_is_coerced_and_the_place_is_named(raw: str, place: str) -> None:
    found, message = refusal(raw)
    assert (found, message.startswith(f"Invalid arguments. {place}: ")) == ("invalid_arguments", True), (
        message
    )


def test_many_problems_are_told_in_a_short_message() -> None:
    raw = json_text({"order_id": "a", **{f"extra {number} " + "x" * 1_000: 1 for number in range(500)}})
    found, message = refusal(raw)
    assert (found, len(message) < 10_000, message.endswith("; and 480 more")) == (
        "invalid_arguments",
        True,
        True,
    )


def test_as_many_problems_as_are_told_leave_none_out() -> None:
    raw = json_text({"order_id": "a", **{f"extra {number}": 1 for number in range(20)}})
    message = refusal(raw)[1]
    assert (message.count("Extra inputs are not permitted"), " more" in message) == (20, False)


def test_no_value_is_repeated_in_the_message() -> None:
    """It goes to the model and into the record of errors, where nobody looks for card numbers."""
    assert "4111" not in refusal('{"order_id":4111111111111111,"qty":"4111"}')[1]


def test_a_validator_that_raises_anything_refuses_the_call_and_not_the_run() -> None:
    """`Decimal("x")` raises an ArithmeticError, which pydantic lets through."""
    assert refusal('{"amount":"x"}', Judged) == (
        "invalid_arguments",
        "The arguments can't be validated: InvalidOperation.",
    )


class Holder(BaseModel):
    payload: Json[dict[str, int]]


def test_broken_json_inside_a_text_is_a_wrong_argument_not_broken_arguments() -> None:
    assert code('{"payload":"{broken"}', Holder) == "invalid_arguments"


class Address(BaseModel):
    ip: IPv4Address


def test_arguments_that_could_not_be_recorded_are_refused_before_the_handler_runs() -> None:
    with pytest.raises(ArgumentsRefused) as caught:
        canonical_arguments(parse_arguments('{"ip":"10.0.0.1"}', Address))
    assert (caught.value.code, str(caught.value)) == (
        "invalid_arguments",
        "The arguments can't be recorded: they hold a ipaddress.IPv4Address at /ip.",
    )


def test_canonical_arguments_have_the_models_order_and_its_defaults() -> None:
    parsed = parse_arguments('{"amount": "5.00", "order_id": "#W1"}', Refund)
    assert canonical_arguments(parsed) == (
        '{"order_id":"#W1","qty":1,"amount":5.00,"share":null,"notify":false,"lines":[]}'
    )


def test_the_digest_is_of_the_canonical_text() -> None:
    texts = ['{"order_id":"#W1"}', ' { "order_id" : "\\u0023W1" , "qty" : 1 } ']
    digests = {arguments_digest(canonical_arguments(parse_arguments(text, Refund))) for text in texts}
    assert digests == {"f6b11009f23eddb8604a1c80d61273927933e1832108334b79f84c029d63f38d"}


class Paid(BaseModel):
    amount: Decimal
    count: int


class Measured(BaseModel):
    rate: float


@over(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.integers(-(2**53), 2**53))
def test_canonical_amounts_are_read_back_with_all_their_digits(amount: Decimal, count: int) -> None:
    canonical = canonical_arguments(Paid(amount=amount, count=count))
    assert canonical_arguments(reread_arguments(canonical, Paid)) == canonical


@over(st.floats(allow_nan=False, allow_infinity=False))
def test_canonical_floats_are_read_back_as_what_they_were(rate: float) -> None:
    assert reread_arguments(canonical_arguments(Measured(rate=rate)), Measured).rate == rate


def test_what_is_read_as_another_value_is_refused() -> None:
    class Rounded(BaseModel):
        amount: Annotated[Decimal, AfterValidator(lambda value: value.quantize(Decimal(1)))]

    with pytest.raises(ArgumentsRefused):
        reread_arguments('{"amount":49.90}', Rounded)
