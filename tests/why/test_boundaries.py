"""What is only a piece of something longer, or another value in the clothes of this one, is no evidence."""

from typing import Any

import pytest

from .evidence_story import Trace, found, said


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("order W123456789", "W12345678"),
        ("order W123456789x", "W123456789"),
        ("abc_W123456", "W123456"),
        ("W123456_abc", "W123456"),
        ("W123456-7", "W123456"),
        ("ABCDE-W123456", "W123456"),
        ("W123456@example.com", "W123456"),
        ("XX123456", "YY123456"),
        ("0012345678", "12345678"),
        ("12345678", "0012345678"),
        ("credit card 7447", "credit_card_7447"),
        ("credit_card_74471", "credit_card_7447"),
        ("a.b@example.com", "b@example.com"),
        ("mia@example.com.au", "mia@example.com"),
        ("mia@example.com", "mia@example.co"),
        ("https://a.example.com", "https://a.example"),
        ("192.168.1.1", "192.168.1"),
        ("v1.2.3", "1.2.3"),
        ("123-456-789", "123 456 789"),
        ("Mary Jane Watson", "Mary Watson"),
        ("\u6797\u6653", "\u6797\u6653\u6885"),
        ("M\u00fcller", "Muller"),
        ("\u0130stanbul", "Istanbul"),
        ("new.\n\nYork", "new York"),
    ],
)
def test_a_piece_or_a_neighbour_is_made_up(text: str, value: str) -> None:
    assert said(text).verdicts({"value": value}) == {"value": "unsupported"}


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("<mia@example.com>", "mia@example.com", ("in_text", "exact")),
        ("mia@example.com.", "mia@example.com", ("in_text", "exact")),
        ("MIA@EXAMPLE.COM", "mia@example.com", ("transformed", "case")),
        ("\u6ce8\u6587W123456\u53f7", "W123456", ("in_text", "exact")),
        ("\uff11\uff12\uff13\uff14\uff15\uff16", "123456", ("transformed", "unicode")),
        ("Jean-Luc", "Jean Luc", ("transformed", "separators")),
        ("id=W123456&x=1", "W123456", ("in_text", "exact")),
        ("|W123456|49.90|", "W123456", ("in_text", "exact")),
    ],
)
def test_what_stands_by_itself_is_found(text: str, value: str, rule: tuple[str, str]) -> None:
    assert said(text).rule({"value": value}) == rule


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("123,456", 456),
        ("100,200,300", 200),
        ("1,499,000", 1499),
        ("1.499", 1499),
        ("12:345", 345),
        ("3x150", 150),
        ("x49.90", 49.9),
        ("2024-05-200", 200),
    ],
)
def test_a_piece_of_a_number_is_made_up(text: str, value: float) -> None:
    assert said(text).verdicts({"amount": value}) == {"amount": "unsupported"}


MINOR: list[tuple[dict[str, Any], Any, str]] = [
    ({"amount_minor": 17577, "currency": "CLF"}, 1.7577, "transformed"),
    ({"amount_minor": -17577, "currency": "USD"}, -175.77, "transformed"),
    ({"amount_minor": 17577, "currency": "USD"}, "175.77", "transformed"),
    ({"amount_minor": 17577, "currency": "XXX"}, 175.77, "unsupported"),
    ({"amount_minor": 17577}, 175.77, "unsupported"),
    ({"amount": 175.77, "currency": "USD"}, 17577, "unsupported"),
]


@pytest.mark.parametrize(("output", "amount", "verdict"), MINOR)
def test_minor_units_need_a_currency_that_has_them(output: Any, amount: Any, verdict: str) -> None:
    assert found(output).verdicts({"amount": amount}) == {"amount": verdict}


@pytest.mark.parametrize(
    ("text", "date", "verdict"),
    [
        ("20/5/69", "2069-05-20", "transformed"),
        ("20/5/70", "1970-05-20", "transformed"),
        ("2024-02-29", "2024-02-29", "in_text"),
        ("2024-02-28", "2024-02-29", "unsupported"),
        ("12024-05-20", "2024-05-20", "unsupported"),
        ("2024-05-200", "2024-05-20", "unsupported"),
        ("I may 20 times", "2024-05-20", "unsupported"),
        ("2024-05-20", "2024-05-20T00:00:00Z", "unsupported"),
        ("2024-05-20T10:00:00Z", "2024-05-20T10:00:00", "unsupported"),
        ("2024-05-20T23:30:00-05:00", "2024-05-20", "transformed"),
        ("2024-05-20T23:30:00-05:00", "2024-05-21", "unsupported"),
    ],
)
def test_a_day_is_the_one_that_is_written(text: str, date: str, verdict: str) -> None:
    assert said(text).verdicts({"date": date}) == {"date": verdict}


def test_a_tenant_in_an_output_is_data_and_the_runs_own_is_context() -> None:
    trace = Trace().start(("user", "Hello"), tenant="shop-one").called("read", {}, {"tenant": "shop-two"})
    trust = {
        name[1:]: argument.sources[0].trust
        for name, argument in trace.judged({"own": "shop-one", "other": "shop-two"}).items()
    }
    assert trust == {"own": "context", "other": "tool"}
