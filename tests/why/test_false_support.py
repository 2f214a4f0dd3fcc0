"""What looks alike and is another thing: another id, number, address or name is no support."""

import pytest

from .evidence_story import said


@pytest.mark.parametrize(
    ("evidence", "value"),
    [
        ("Refund RF-123456 was sent", "LL-123456"),
        ("Refund RF123456 was sent", "LL-123456"),
        ("REFUND-123456", "LL-123456"),
        ("the balance is 12345", "-12345"),
        ("the balance is 49.90", "-49.90"),
        ("the balance is -49.90 now", "49.90"),
        ("write to a+b@example.com", "b@example.com"),
        ("write to o'mia@example.com", "mia@example.com"),
        ("write to longer-mia@example.com", "mia@example.com"),
        ("write to mia@example.com.evil.org", "mia@example.com"),
        ("write to mia@example.com.Evil.org", "mia@example.com"),
        ("write to mia@example.com-evil.org", "mia@example.com"),
        ("write to mia@example.com@evil.org", "mia@example.com"),
        ("she writes C and Java", "C++"),
        ("call 555-123-4567", "5551234568"),
        ("call 555-123-45678", "5551234567"),
        ("account 123456789", "1234567.89"),
        ("from 1000 to 2000", "10002000"),
        ("refund 49.90", "4990"),
        ("100 rows", "100%"),
        ("1,250.00 was paid", "250.00"),
        ("1,250,300 people", "250300"),
        ("12345,67 was paid", "12345"),
    ],
)
def test_no_support_by_a_text(evidence: str, value: str) -> None:
    assert said(evidence).verdicts({"value": value}) == {"value": "unsupported"}


@pytest.mark.parametrize(
    ("record", "value"),
    [
        ({"zip": 123456}, "0123456"),
        ({"order_id": "12345", "currency": "USD"}, 123.45),
        ({"order_id": 12345, "currency": "USD"}, 123.45),
        ({"count": 12345, "currency": "USD"}, 123.45),
        ({"amount": 12345, "fee": "1.25", "currency": "USD"}, 123.45),
        ({"area": "123", "room": "456"}, "123-456"),
        ({"area": 123, "room": 456}, "123 456"),
        ({"balance": -50.25}, 50.25),
        ({"balance": 50.25}, -50.25),
    ],
)
def test_no_support_by_a_record(record: dict[str, object], value: object) -> None:
    assert said("Hello").called("read", {}, record).verdicts({"value": value}) == {"value": "unsupported"}


@pytest.mark.parametrize("value", ["978-3-16-148410-1", "2024-02-30", "350-122", "1/2/3"])
def test_digits_with_signs_between_are_no_free_text(value: str) -> None:
    assert said("Hello").verdicts({"value": value}) == {"value": "unsupported"}


def test_a_sum_is_no_evidence_where_evidence_is_declared() -> None:
    trace = said("Hello")
    assert trace.verdicts({"value": "99 - 1"}) == {"value": "free_text"}
    assert trace.verdicts({"value": "99 - 1"}, {"/value": "evidence"}) == {"value": "unsupported"}
