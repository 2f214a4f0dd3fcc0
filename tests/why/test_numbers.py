"""Numbers are compared by value, from the digits that they were written with."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.why.numbers import as_decimal, is_low, number_key, written_numbers

from .evidence_story import Trace, found, said


@pytest.mark.parametrize(
    ("asked", "output", "rule"),
    [
        ('{"amount": 49.90}', '{"amount": 49.90}', ("supported", "exact")),
        ('{"amount": 49.90}', '{"amount": 49.9}', ("supported", "number")),
        ('{"amount": 4990e-2}', '{"amount": 49.9}', ("supported", "number")),
        ('{"amount": "49.90"}', '{"amount": 49.90}', ("supported", "number")),
        ('{"amount": 49.90}', '{"amount": "49.90"}', ("supported", "exact")),
        ('{"amount": 1499}', '{"amount": "1,499.00"}', ("transformed", "thousands")),
        ('{"amount": 1499.5}', '{"amount": "1.499,50"}', ("transformed", "thousands")),
        ('{"amount": 1499}', '{"amount": "1\\u202f499"}', ("transformed", "thousands")),
        ('{"amount": 49.90}', '{"amount": "49,90"}', ("transformed", "decimal_comma")),
        ('{"amount": 49.91}', '{"amount": 49.90}', ("unsupported", None)),
        ('{"amount": 499.0}', '{"amount": 49.90}', ("unsupported", None)),
        ('{"amount": 9007199254740993}', '{"amount": 9007199254740992}', ("unsupported", None)),
        ('{"amount": 1e400}', '{"amount": 1e400}', ("supported", "exact")),
    ],
)
def test_a_number_is_found_by_its_value(asked: str, output: str, rule: tuple[str, str | None]) -> None:
    assert found(output).rule(asked) == rule  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Please refund 49.90 EUR.", "in_text"),
        ("It was $49.90, I think", "in_text"),
        ("It was 149.90", "unsupported"),
        ("It was 49.905", "unsupported"),
        ("Version 1.49.90 of it", "unsupported"),
        ("on 2049.90.01", "unsupported"),
    ],
)
def test_a_number_in_a_text_stands_by_itself(text: str, verdict: str) -> None:
    assert said(text).verdicts({"amount": 49.90}) == {"amount": verdict}


def test_an_id_of_digits_keeps_its_zeros() -> None:
    trace = found({"zip": "01234", "other": "1234"})
    assert trace.verdicts({"zip": "01234"}) == {"zip": "supported"}
    assert trace.verdicts({"zip": "001234"}) == {"zip": "unsupported"}


@pytest.mark.parametrize("number", ["9" * 5000, "-" * 50, "1" * 61, "NaN", "Infinity", "0x10", "1e99999", ""])
def test_what_is_no_number_of_sixty_characters_has_no_value(number: str) -> None:
    assert as_decimal(number) is None
    assert number_key(number) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12))
def test_numbers_of_one_value_have_one_key(number: Decimal) -> None:
    written = {f"{number:f}", f"{number:f}00", f"{number.normalize():E}"}
    assert len({number_key(text) for text in written}) == 1
    other = number + Decimal("0.0001")
    assert number_key(f"{other:f}") not in {number_key(text) for text in written}


@given(st.text(max_size=60))
def test_numbers_of_a_text_are_where_they_are_said_to_be(text: str) -> None:
    for written in written_numbers(text):
        assert as_decimal(text[written.start : written.end]) is not None


@pytest.mark.parametrize(
    ("lexeme", "low"),
    [
        ("7", True),
        ("99", True),
        ("100", False),
        ("-12", True),
        ("0.5", True),
        ("50.00", True),
        ("49.90", False),
    ],
)
def test_two_digits_say_too_little(lexeme: str, low: bool) -> None:
    assert is_low(lexeme) is low


MINOR: list[tuple[Any, Any, str]] = [
    (175.77, {"amount_minor": 17577, "currency": "USD"}, "transformed"),
    (175.77, {"amount": 17577, "currency": "usd"}, "transformed"),
    (17577, {"amount_minor": 17577, "currency": "JPY"}, "supported"),
    (1.234, {"amount_minor": 1234, "currency": "KWD"}, "transformed"),
    (12.34, {"amount_minor": 1234, "currency": "KWD"}, "unsupported"),
    (175.77, {"amount_cents": 17577}, "transformed"),
    (175.77, {"amount": 17577}, "unsupported"),
    (175.77, {"amount": 17577, "currency": "JPY"}, "unsupported"),
    (3.27, {"amount": 327, "fee": 1.5, "currency": "USD"}, "unsupported"),
    (175.77, {"payment": {"amount_minor": 17577}, "currency": "EUR"}, "transformed"),
]


@pytest.mark.parametrize(("amount", "output", "verdict"), MINOR)
def test_minor_units_count_beside_a_currency_of_so_many_digits(
    amount: Any, output: Any, verdict: str
) -> None:
    assert found(output).verdicts({"amount": amount}) == {"amount": verdict}


def test_a_factor_of_a_hundred_is_no_unit() -> None:
    assert found({"amount": 327, "currency": "USD"}).verdicts({"amount": 32700}) == {"amount": "unsupported"}


class TestShortValues:
    def test_under_the_same_name_are_weak(self) -> None:
        assert found({"bags": 3}).verdicts({"total_bags": 3}) == {"total_bags": "weak"}

    def test_anywhere_else_are_coincidental(self) -> None:
        assert found({"rating": 3}).verdicts({"total_bags": 3}) == {"total_bags": "coincidental"}

    def test_nowhere_are_made_up(self) -> None:
        assert found({"rating": 4}).verdicts({"total_bags": 3}) == {"total_bags": "unsupported"}

    def test_in_the_record_that_the_other_arguments_name_are_supported(self) -> None:
        trace = found([{"order": "ABC123", "bags": 3}, {"order": "XYZ789", "bags": 5}])
        assert trace.verdicts({"order": "ABC123", "bags": 3}) == {"order": "supported", "bags": "supported"}
        assert trace.verdicts({"order": "ABC123", "bags": 5}) == {"order": "supported", "bags": "weak"}

    def test_as_money_where_money_is_asked_for_are_found(self) -> None:
        trace = Trace().start(("system", "Offer a certificate of $50 for a delay of 50 minutes."))
        assert trace.verdicts({"amount": 50}) == {"amount": "in_text"}
        assert trace.verdicts({"seats": 50}) == {"seats": "coincidental"}
