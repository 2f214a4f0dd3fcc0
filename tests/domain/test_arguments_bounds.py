"""Numbers, nesting and size of arguments: exact up to a limit, and refused beyond it."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tachograph.domain.arguments import (
    SIZE_MAX,
    ArgumentsRefused,
    canonical_arguments,
    parse_arguments,
)
from tachograph.domain.values import DEPTH_MAX, json_text

from .parsing import Anything, Note, Refund, code, parsed_or_refused


@pytest.mark.parametrize(
    "lexeme",
    ["0.1", "19.90", "1e2", "1E+2", "-0.0", "0e0", "0e999999999", "1e22", "5e-324", "0.30000000000000004"],
)
def test_a_number_that_a_double_holds_keeps_its_value(lexeme: str) -> None:
    parsed = parse_arguments(f'{{"order_id":"a","amount":{lexeme},"share":{lexeme}}}', Refund)
    assert (parsed.amount, parsed.share) == (Decimal(lexeme), float(lexeme))


@pytest.mark.parametrize(
    "lexeme",
    ["0.1234567890123456789", "1e400", "-1e400", "1e-400", "0.30000000000000001", "9007199254740993.0",
     "1e-9999999999999999999999", "1" + "0" * 400 + ".0"],
)  # fmt: skip
def test_a_number_that_a_double_can_not_hold_is_refused_and_a_text_is_asked_for(lexeme: str) -> None:
    assert code(f'{{"order_id":"a","share":{lexeme}}}') == "invalid_json"
    assert code(f'{{"order_id":"a","amount":{lexeme}}}') == "invalid_json"


@pytest.mark.parametrize("text", ["19.90", "0.1234567890123456789", "-5", "1E+2", "9007199254740993.01"])
def test_money_sent_as_text_keeps_every_digit(text: str) -> None:
    parsed = parse_arguments(f'{{"order_id":"a","amount":"{text}"}}', Refund)
    assert str(parsed.amount) == text


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, -(2**63) - 1, 10**400, 1234567890123456789])
def test_an_integer_of_any_size_is_exact(number: int) -> None:
    parsed = parse_arguments(f'{{"order_id":"a","qty":{number},"amount":{number}}}', Refund)
    assert (parsed.qty, parsed.amount) == (number, Decimal(number))


@pytest.mark.parametrize("digits", [4_301, 5_000, 100_000])
def test_an_integer_of_too_many_digits_is_refused(digits: int) -> None:
    assert code(f'{{"order_id":"a","qty":{"9" * digits}}}') == "invalid_json"


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    "raw", [nested(DEPTH_MAX), f'{{"a":{"[" * (DEPTH_MAX - 1)}{"]" * (DEPTH_MAX - 1)}}}']
)
def test_as_many_levels_as_can_be_recorded_are_accepted(raw: str) -> None:
    parsed = parse_arguments(raw, Anything)
    assert canonical_arguments(parsed) == raw


@pytest.mark.parametrize(
    "raw",
    [
        nested(DEPTH_MAX + 1),
        nested(1_000),
        nested(100_000),
        '{"a":' + "[" * 400_000,
        '{"a":' + "[" * DEPTH_MAX + "]" * DEPTH_MAX + ',"b":{}}',
    ],
    ids=len,
)
def test_more_levels_are_refused(raw: str) -> None:
    assert code(raw, Anything) == "invalid_json"


def test_brackets_in_texts_are_no_levels() -> None:
    raw = json_text({"a": "{[" * 10_000, "b": [{} for _ in range(1_000)]})
    assert canonical_arguments(parse_arguments(raw, Anything)) == raw


def test_arguments_up_to_the_size_limit_are_accepted_and_no_longer_ones() -> None:
    frame = len('{"note":""}')
    assert len(parse_arguments(f'{{"note":"{"x" * (SIZE_MAX - frame)}"}}', Note).note) == SIZE_MAX - frame
    assert code(f'{{"note":"{"x" * (SIZE_MAX - frame + 1)}"}}', Note) == "invalid_json"


def test_hostile_json_is_refused_or_exact(shared_data: Path) -> None:
    vectors = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    deep = {"[[[[...10000 deep]]]]": "[" * 10_000 + "]" * 10_000}
    values = [deep.get(text, text) for text in vectors["json"]]
    found = [parsed_or_refused(f'{{"a":{value}}}', Anything) for value in values]
    assert [refused.code if isinstance(refused, ArgumentsRefused) else refused for refused in found] == [
        "duplicate_key",
        "invalid_json",
        "invalid_json",
        "invalid_json",
        "invalid_json",
        Anything.model_validate({"a": 9007199254740993}),
    ]
