"""A number as a sum, a difference or a product: a hint, only from records that the call names."""

from .evidence_story import found, said

FLIGHTS = {
    "id": "R55ABC",
    "flights": [{"number": "HAT097", "price": 158}, {"number": "HAT251", "price": 141}],
}
ASKED = {"flights": [{"number": "HAT097"}, {"number": "HAT251"}]}


def test_a_field_added_up_over_the_named_rows() -> None:
    argument = found(FLIGHTS).judged({**ASKED, "amount": 299})["/amount"]
    assert (argument.verdict, argument.why) == ("derived", "158 + 141 = 299")
    assert [source.pointer for source in argument.sources] == [
        "/output/flights/0/price",
        "/output/flights/1/price",
    ]


def test_times_the_length_of_another_list() -> None:
    asked = {**ASKED, "people": [{"name": "a"}, {"name": "b"}], "amount": 598}
    assert found(FLIGHTS).judged(asked)["/amount"].why == "(158 + 141) * 2 = 598"


def test_a_cent_more_is_made_up() -> None:
    assert found(FLIGHTS).verdicts({**ASKED, "amount": 299.01})["amount"] == "unsupported"
    assert found(FLIGHTS).verdicts({**ASKED, "amount": 300})["amount"] == "unsupported"


def test_rows_that_the_call_does_not_name_add_nothing_up() -> None:
    assert found(FLIGHTS).verdicts({"amount": 299})["amount"] == "unsupported"


def test_what_is_left_of_a_total_that_the_evidence_states() -> None:
    trace = said("Pay with the gift card first").called("cards", {}, {"gift_card": {"amount": 128.5}})
    trace = trace.turn(("book", {})).error("total price is 375, but paid 299")
    asked = {"payments": [{"amount": 128.5}, {"amount": 246.5}]}
    assert trace.verdicts(asked) == {"payments/0/amount": "supported", "payments/1/amount": "derived"}
    wrong = {"payments": [{"amount": 128.5}, {"amount": 247.5}]}
    assert trace.verdicts(wrong) == {"payments/0/amount": "supported", "payments/1/amount": "unsupported"}
    invented = {"payments": [{"amount": -1000.55}, {"amount": 1375.55}]}
    assert set(trace.verdicts(invented).values()) == {"unsupported"}


def test_an_echo_is_no_part_of_a_sum() -> None:
    asked = {"id": "ZZ-99999", "a": 123.45, "b": 371.11}
    trace = said("Hello").called("calculate", asked, {**asked, "ok": True})
    assert trace.verdicts({"id": "ZZ-99999", "amount": 494.56})["amount"] == "unsupported"


def test_two_fields_of_the_named_record() -> None:
    trace = found({"order": "ABC123", "paid": 229.55, "fee": 53.78})
    assert trace.judged({"order": "ABC123", "amount": 175.77})["/amount"].why == "229.55 - 53.78 = 175.77"


def test_a_search_that_would_hit_by_chance_is_not_made() -> None:
    record = {"order": "ABC123"} | {f"n{number}": 100 + 37 * number for number in range(10)}
    values = [value for value in record.values() if isinstance(value, int)]
    sums = {one + other for one in values for other in values if one < other} - set(values)
    trace = found(record)
    found_by = [trace.verdicts({"order": "ABC123", "amount": value})["amount"] for value in sorted(sums)]
    assert found_by.count("derived") <= 6
