"""One question has one answer: the order of candidates is total."""

from .evidence_story import found, said


def test_a_field_of_the_same_name_comes_first() -> None:
    trace = found({"total": 375.25, "refund_amount": 375.25, "price": 375.25})
    [argument] = trace.judged({"amount": 375.25}).values()
    assert [source.pointer for source in argument.sources] == [
        "/output/refund_amount",
        "/output/total",
        "/output/price",
    ]


def test_a_record_comes_before_a_text_and_the_latest_before_the_earlier() -> None:
    trace = said("It is ABC123").called("one", {}, {"v": "ABC123"}).called("two", {}, {"v": "ABC123"})
    [argument] = trace.judged({"id": "ABC123"}).values()
    assert [source.tool for source in argument.sources] == ["two", "one", None]


def test_the_same_characters_come_before_a_rule() -> None:
    trace = said("Order #W5866402").called("one", {}, {"v": "w5866402"})
    [argument] = trace.judged({"id": "#W5866402"}).values()
    assert [source.rule for source in argument.sources] == ["exact", "prefix"]


def test_the_record_that_the_other_arguments_name_comes_first() -> None:
    people = [{"first": "Ivan", "last": "Smith"}, {"first": "Ivan", "last": "Muller"}]
    trace = found(people)
    argument = trace.judged({"first": "Ivan", "last": "Smith"})["/first"]
    assert argument.sources[0].pointer == "/output/0/first"
    argument = trace.judged({"first": "Ivan", "last": "Muller"})["/first"]
    assert argument.sources[0].pointer == "/output/1/first"


def test_all_candidates_are_counted_and_the_best_are_kept() -> None:
    [argument] = found([{"id": "ABC123"}] * 50).judged({"id": "ABC123"}).values()
    assert (argument.matches, len(argument.sources)) == (50, 20)
    assert argument.sources[0].pointer == "/output/0/id"


def test_the_nearest_evidence_is_named_when_there_is_none() -> None:
    [argument] = found({"amount": 175.77, "other": 12}).judged({"amount": 180}).values()
    assert argument.why == "in no evidence before the call; nearest: 175.77 at look_up 1.1 /output/amount"
