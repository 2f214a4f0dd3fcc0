"""Ways in which people and tools write a value, each of which is evidence for it."""

import pytest

from .evidence_story import said


@pytest.mark.parametrize(
    ("evidence", "value"),
    [
        ("a,12345.67,b", 12345.67),
        ("12345.67,8,b", 12345.67),
        ("id,amount\nABC998,49.90\nABC999,12.50\n", 49.90),
        ("id,amount\nABC998,49.90\nABC999,12.50\n", 12.50),
        ("ABC998,ABC999,ABC997", "ABC999"),
        ("998001,998002,998003", "998002"),
        ("ABC998,1234,b", 1234),
        ("a balance of -50.25 is due", -50.25),
        ("a balance of \u221250.25 is due", -50.25),
        ("a balance of -$50.25 is due", -50.25),
        ("orders:\n-123456\n-123457", "123457"),
        ("it costs 30.50-40.50", "30.50-40.50"),
        ("on 20-05-2024", "2024-05-20"),
        ("on 20240520.", "2024-05-20"),
        ("on 2024-5-20", "2024-05-20"),
        ("2024-05-20", "20240520"),
        ("from 20-25 May 2024", "2024-05-20"),
        ("from 20 to 25 May 2024", "2024-05-25"),
        ("5/6", "May 6"),
        ("write to mia@example.com.", "mia@example.com"),
        ("write to mia@example.com.Thanks", "mia@example.com"),
        ("write to 'mia@example.com'", "mia@example.com"),
        ("email=mia@example.com", "mia@example.com"),
        ("order LL-123456", "LL123456"),
        ("order LL123456", "LL-123456"),
        ("order 123456", "LL-123456"),
        ("order LL-123456", "123456"),
        ("she writes C++", "C++"),
        ("a discount of 15% on it", "15%"),
        ("call +49 30 1234567", "+49301234567"),
        ("call 555-123-4567.", "5551234567"),
        ("call (555) 123-4567", "555-123-4567"),
        ("call 5551234567", "555-123-4567"),
        ("my card is 4111 1111 1111 1111", "4111111111111111"),
        ("to DE89 3704 0044 0532 0130 00 please", "DE89370400440532013000"),
        ("to DE89370400440532013000 please", "DE89 3704 0044 0532 0130 00"),
        ("1 234,50 kr", 1234.50),
    ],
)
def test_support_by_a_text(evidence: str, value: object) -> None:
    [verdict] = said(evidence).verdicts({"value": value}).values()
    assert verdict in ("in_text", "transformed")


@pytest.mark.parametrize(
    ("record", "value"),
    [
        ({"mia@example.com": 1}, "mia@example.com"),
        ({"New York": 5}, "New York"),
        ({"tags": '["a", 1]'}, '["a", 1]'),
        ({"tags": "[]"}, "[]"),
        ({"amount": 12345, "currency": "USD"}, 123.45),
        ({"amount": "12345", "currency": "USD"}, 123.45),
        ({"first": "Mia", "last": "Garcia"}, "Mia Garcia"),
    ],
)
def test_support_by_a_record(record: dict[str, object], value: object) -> None:
    [verdict] = said("Hello").called("read", {}, record).verdicts({"value": value}).values()
    assert verdict in ("supported", "transformed")


@pytest.mark.parametrize(
    ("evidence", "name"),
    [
        ("refund $49.90", "amount_minor"),
        ("refund EUR 49.90", "amount_cents"),
        ("49.90 euros", "price_in_cents"),
    ],
)
def test_minor_units_of_an_amount_in_a_text(evidence: str, name: str) -> None:
    assert said(evidence).rule({name: 4990}) == ("transformed", "minor_units")


def test_minor_units_of_an_amount_in_a_record() -> None:
    def rule(currency: str, value: int) -> tuple[str, str | None]:
        record = {"total": 49.90, "currency": currency}
        return said("Hello").called("read", {}, record).rule({"amount_minor": value})

    assert rule("USD", 4990) == ("transformed", "minor_units")
    assert rule("KWD", 49900) == ("transformed", "minor_units")
    assert rule("KWD", 4990) == ("unsupported", None)
    assert rule("JPY", 4990) == ("unsupported", None)
