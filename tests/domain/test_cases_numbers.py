"""Failure cases of the category numbers, as far as the domain decides them."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from tachograph.domain.arguments import ArgumentsRefused, parse_arguments
from tachograph.domain.codec import decode, encode
from tachograph.domain.values import json_text

from .story import result

Case = Callable[[str], dict[str, Any]]


class ById(BaseModel):
    order_id: int


class Minor(BaseModel):
    amount_minor: int


class Amount(BaseModel):
    amount: Decimal


class Share(BaseModel):
    amount: float


def code(raw: str, model: type[BaseModel]) -> str:
    with pytest.raises(ArgumentsRefused) as caught:
        parse_arguments(raw, model)
    return caught.value.code


@pytest.mark.case("C010")
def test_C010_what_json_lacks_is_tagged_and_never_null(case: Case) -> None:
    """The case writes the float itself as {"$float": ...}: the same notation as ours."""
    notation = case("C010")["tool_output"]
    assert json.loads(json_text({"days_left": float("inf")})) == notation
    for number, name in [("inf", "Infinity"), ("-inf", "-Infinity"), ("nan", "NaN")]:
        for value in (float(number), Decimal(number)):
            assert json_text({"a": [value]}) == f'{{"a":[{{"$float":"{name}"}}]}}'


@pytest.mark.case("C010")
def test_C010_an_output_that_holds_the_notation_itself_is_another_output(case: Case) -> None:
    notation = case("C010")["tool_output"]
    assert json_text(notation) == '{"days_left":{"$literal":{"$float":"Infinity"}}}'


@pytest.mark.case("C012")
def test_C012_a_text_is_no_integer_and_no_digits_are_lost_through_a_float(case: Case) -> None:
    raw = case("C012")["arguments_raw"]
    sent = json.loads(raw)["order_id"]
    assert code(raw, ById) == "invalid_arguments"
    assert parse_arguments(f'{{"order_id": {sent}}}', ById) == ById(order_id=1234567890123456789)
    for number in (2**53 + 1, 2**63 + 1, -(2**64) - 1, 10**100 + 1):
        assert parse_arguments(f'{{"order_id": {number}}}', ById).order_id == number
        assert code(f'{{"order_id": "{number}"}}', ById) == "invalid_arguments"
        assert code(f'{{"order_id": {number}.0}}', ById) in {"invalid_arguments", "invalid_json"}


@pytest.mark.case("C013")
def test_C013_a_number_with_an_exponent_is_no_integer(case: Case) -> None:
    assert code(case("C013")["arguments_raw"], Minor) == "invalid_arguments"
    for lexeme in ("1e2", "1E+2", "100.0", "-1e0", "1e22"):
        assert code(f'{{"amount_minor": {lexeme}}}', Minor) == "invalid_arguments"
    for lexeme in ("1e400", "1e-400", "12345678901234567890.5"):
        assert code(f'{{"amount_minor": {lexeme}}}', Minor) == "invalid_json"


@pytest.mark.case("C014")
def test_C014_an_integer_past_every_sql_column_is_kept_in_the_payload(case: Case) -> None:
    output = case("C014")["tool_output"]
    assert output == {"big": 2**63}
    for value in (output, {"big": -(2**63) - 1}, [2**64, 10**400], {"n": {"n": 2**53 + 1}}):
        event = result("1.1", json_text(value))
        again = decode(event.kind, encode(event))
        assert (again, json.loads(event.output)) == (event, value)


@pytest.mark.case("C015")
def test_C015_an_integer_of_thousands_of_digits_is_refused(case: Case) -> None:
    raw = re.sub("\u2026.*\\}", "9" * 4_940 + "}", case("C015")["arguments_raw"])
    assert len(raw) > 5_000
    assert code(raw, Minor) == "invalid_json"
    for digits in (4_301, 100_000, 900_000):
        assert code(f'{{"amount_minor": {"1" * digits}}}', Minor) == "invalid_json"
        assert code(f'{{"amount_minor": [[-{"1" * digits}]]}}', Minor) == "invalid_json"
    assert parse_arguments(f'{{"amount_minor": {"1" * 4_000}}}', Minor).amount_minor == int("1" * 4_000)


@pytest.mark.case("C016")
@pytest.mark.parametrize("model", [Amount, Share, Minor])
def test_C016_no_argument_is_not_a_number(case: Case, model: type[BaseModel]) -> None:
    """A NaN is below every limit, so that a check of the amount would let it pass."""
    raw = case("C016")["arguments_raw"]
    assert code(raw, model) == "invalid_json"
    for name in ("Infinity", "-Infinity", "-NaN", "nan", "inf", "1e999"):
        assert code(raw.replace("NaN", name), model) == "invalid_json"
    for nested in ('{"amount": 1, "more": [{"x": NaN}]}', '{"more": Infinity, "amount": 1}'):
        assert code(nested, model) == "invalid_json"


@pytest.mark.case("C016")
@pytest.mark.parametrize("model", [Amount, Share])
@pytest.mark.parametrize("text", ["NaN", "sNaN", "nan", "Infinity", "-inf", ""])
def test_C016_neither_is_a_text_that_reads_as_one(model: type[BaseModel], text: str) -> None:
    assert code(f'{{"amount": "{text}"}}', model) == "invalid_arguments"
