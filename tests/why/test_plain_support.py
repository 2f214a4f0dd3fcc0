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
        ({"amount": 12345, "currency": "USD"}, 123.45),
        ({"amount": "12345", "currency": "USD"}, 123.45),
        ({"first": "Mia", "last": "Garcia"}, "Mia Garcia"),
    ],
)
def test_support_by_a_record(record: dict[str, object], value: object) -> None:
    [verdict] = said("Hello").called("read", {}, record).verdicts({"value": value}).values()
    assert verdict in ("supported", "transformed")
