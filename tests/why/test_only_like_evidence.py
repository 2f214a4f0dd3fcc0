"""Values that only look as if the evidence had them, and the honest ones that are nearest to these."""

import decimal
from typing import Any

import pytest

from tachograph.domain.why.gate import refusal

from .evidence_story import Trace, found, said


def _passes(trace: Trace, arguments: Any) -> bool:
    """Tell whether the gate lets a call through of which every argument needs evidence."""
    roles = dict.fromkeys(trace.judged(arguments), "evidence")
    return refusal(list(trace.judged(arguments, roles).values())) is None


MANY = 1_200


@pytest.mark.parametrize(
    ("asked", "output"),
    [
        ("LL-999999", [{"n": number, "q": "LL-999999"} for number in range(MANY)]),
        (777.77, [{"n": number, "q": 777.77} for number in range(MANY)]),
        ("LL-999999", '"' + "none for LL-999999 " * MANY + '"'),
    ],
)
def test_an_echo_is_none_however_often_it_is_repeated(asked: object, output: Any) -> None:
    assert not _passes(said("Hello").called("search", {"q": asked}, output), {"value": asked})


def test_what_stands_in_another_output_counts_beside_a_long_echo() -> None:
    trace = found({"id": "LL-999999"}).called("search", {"q": "LL-999999"}, ["LL-999999"] * 900)
    assert _passes(trace, {"value": "LL-999999"})


@pytest.mark.parametrize(
    ("asked", "output", "value"),
    [
        ({"first": "Zed", "last": "Fakename"}, {"first": "Zed", "last": "Fakename"}, "Zed Fakename"),
        ({"q": "Zed Fakename"}, {"first": "Zed", "last": "Fakename"}, "Zed Fakename"),
        ({"prefix": "LL", "number": "999999"}, {"prefix": "LL", "number": "999999"}, "LL-999999"),
        ({"user": "zed", "domain": "fake.com"}, {"user": "zed", "domain": "fake.com"}, "zed@fake.com"),
    ],
)
def test_echoed_fields_put_together_are_no_evidence(asked: Any, output: Any, value: str) -> None:
    assert not _passes(said("Hello").called("search", asked, output), {"value": value})


def test_an_echoed_field_counts_when_it_stands_elsewhere_too() -> None:
    trace = said("I am Mia").called("search", {"first": "Mia"}, {"first": "Mia", "last": "Lee"})
    assert _passes(trace, {"name": "Mia Lee"})


IDS = [f"LL-{number}" for number in range(100_000, 100_250)]


@pytest.mark.parametrize(
    "text",
    [
        f"We looked at all of these orders here: {', '.join(IDS[:200])} and also LL-999999",
        "We looked at this very long text for you. " * 4_000 + "LL-999999",
    ],
)
def test_what_lies_past_the_limits_of_free_text_is_not_searched(text: str) -> None:
    trace = found({"ids": IDS})
    [argument] = trace.judged({"note": text}).values()
    assert argument.parts[-1].verdict == "not_searched"
    assert argument.parts[-1].span[1] == len(text)
    assert not _passes(trace, {"note": text})


@pytest.mark.parametrize(
    ("evidence", "value"),
    [
        ("mia.lee@example.com", "mia-lee@example.com"),
        ("mia.lee@example.com", "mia lee@example.com"),
        ("mia@example.com", "mia.example@com"),
        ("mia@example.com", "mia-example.com"),
        ("CHF 1'234.56", "234.56"),
        ("CHF 1\u2019234.56", "234.56"),
        ("CHF 1\u00a0234.56", "234.56"),
        ("CHF 1'234.56", 234.56),
        ("1 234,56 EUR", "234,56"),
        ("ABC, 123 items", "ABC-123"),
        ("The AB: 1234 rows", "AB-1234"),
        ("12.50 13.50 14.50", "125013501450"),
        ("seats 12 34 56 78 90", "1234567890"),
        ("paid 123456 JPY", "LL-123456"),
        ("paid 123456 yen", "LL-123456"),
        ({"amount": 123456}, "LL-123456"),
        ({"first": "mia", "company": "example.com"}, "mia@example.com"),
        ({"currency": "USD", "a": 49, "b": 90}, "USD 49.90"),
        ({"month": "May", "seats": 20, "rows": 2024}, "May 20, 2024"),
        ({"year": 2024, "currency": "EUR"}, 20.24),
        ({"zip": 10115, "currency": "EUR"}, 101.15),
        ({"amount": 1234567890123456789012345678, "currency": "USD"}, "12345678901234567890123456.7840001"),
        ({"time": "2024-05-20T10:00:00"}, "2024-05-20 10:00:01"),
        ({"time": "2024-05-20T10:00:00Z"}, "2024-05-20 10:00:00"),
        ("version ABC1200", 1200),
    ],
)
def test_what_only_looks_alike_is_refused(evidence: Any, value: object) -> None:
    trace = said(evidence) if isinstance(evidence, str) else found(evidence)
    assert not _passes(trace, {"value": value})


@pytest.mark.parametrize(
    ("evidence", "value"),
    [
        ("order AB 1234 please", "AB-1234"),
        ("Suite 5, Boston", "Suite 5 Boston"),
        ("call 01 23 45 67 89", "0123456789"),
        ("call +1 (555) 123-4567", "+15551234567"),
        ("card 4111 1111 1111 1111", "4111111111111111"),
        ("USD1200", 1200),
        ("EUR12.50", 12.5),
        ("USD1,499.00", 1499),
        ("1499USD", 1499),
        ("金额1499.50元", 1499.5),
        ("合計1,499円", 1499),
        ("at 2024-05-20T10:00:00Z, ok", "2024-05-20T10:00:00+00:00"),
        ({"order_number": 123456}, "LL-123456"),
        ({"first": "Mia", "last": "Lee"}, "Lee, Mia"),
        ({"value": 4990, "currency": "USD"}, 49.9),
        ({"time": "2024-05-20T10:00:00"}, "2024-05-20 10:00:00"),
    ],
)
def test_the_honest_value_beside_it_is_found(evidence: Any, value: object) -> None:
    trace = said(evidence) if isinstance(evidence, str) else found(evidence)
    assert _passes(trace, {"value": value})


def test_no_setting_of_the_process_changes_a_verdict() -> None:
    with decimal.localcontext(prec=5):
        assert said("pay 1234567 now").verdicts({"value": 1234567}) == {"value": "in_text"}


@pytest.mark.parametrize("value", ["(1)-" * 20_000, "(1)-(" * 5_000, "1 - " * 20_000, "( 1 ) - " * 10_000])
def test_a_text_like_a_sum_is_read_once(value: str) -> None:
    assert said("Hello").verdicts({"value": value})["value"] in ("unsupported", "free_text")


def test_texts_made_to_be_slow_are_indexed() -> None:
    trace = said("123 " * 100_000, "\n" * 1_000_000 + " q1q2 " * MANY)
    assert trace.verdicts({"value": "q1q2"}) == {"value": "in_text"}


def test_thousands_of_rows_are_judged() -> None:
    rows = [{"id": f"LL-{number}", "amount": number + 0.25} for number in range(1_000)]
    assert set(said("Hello").verdicts({"rows": rows}).values()) == {"unsupported"}
    assert set(found(rows).verdicts({"rows": rows}).values()) == {"supported"}
