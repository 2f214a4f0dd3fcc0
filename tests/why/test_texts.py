"""Ids, names and words: the same characters, or the same after one named rule."""

from typing import Any

import pytest

from .evidence_story import Trace, found, said


@pytest.mark.parametrize(
    ("value", "text", "rule"),
    [
        ("#W5866402", "My order is #W5866402.", ("in_text", "exact")),
        ("#W5866402", "My order is W5866402.", ("transformed", "prefix")),
        ("#W5866402", "My order is 5866402.", ("transformed", "prefix")),
        ("5866402", "My order is #W5866402.", ("transformed", "prefix")),
        ("LL-10412", "Order 10412 please", ("transformed", "prefix")),
        ("10412", "Order LL-10412 please", ("transformed", "prefix")),
        ("#w5866402", "My order is #W5866402.", ("transformed", "case")),
        ("#W5866403", "My order is #W5866402.", ("unsupported", None)),
        ("#W586640", "My order is #W5866402.", ("unsupported", None)),
        ("5866402", "Mail me at 5866402@example.com", ("unsupported", None)),
        ("5866402", "See http://x.example/5866402.html", ("unsupported", None)),
        ("7447", "It is 2024-7447", ("unsupported", None)),
        ("credit_card_7447", "my card ending in 7447", ("unsupported", None)),
        ("mia_li", "I am mia_li_3668", ("unsupported", None)),
        ("Mia", "write to mia@example.com", ("unsupported", None)),
        ("Mia", "I'm Mia.", ("in_text", "exact")),
        ("JFK", "from JFK-SEA or JFK/SEA", ("in_text", "exact")),
        ("basic_economy", "Basic Economy is fine", ("transformed", "separators")),
        ("round trip", "a round-trip please", ("transformed", "separators")),
        ("New York", "in New  York", ("transformed", "separators")),
        ("New York", "New. In York", ("unsupported", None)),
    ],
)
def test_a_text_stands_in_a_longer_one(value: str, text: str, rule: tuple[str, str | None]) -> None:
    assert said(text).rule({"value": value}) == rule


@pytest.mark.parametrize(
    ("value", "written", "rule"),
    [
        ("Müller", "Mu\u0308ller", "unicode"),
        ("ABC123", "\uff21\uff22\uff23\uff11\uff12\uff13", "unicode"),
        ("Straße", "STRASSE", "unicode"),
        ("pay\u200bment", "payment", "unicode"),
        ("coop\xaderate", "cooperate", "unicode"),
        ("\u6797\u6653\u6885", "\u6797\u6653\u6885", "exact"),
    ],
)
def test_another_form_of_the_same_characters_is_named(value: str, written: str, rule: str) -> None:
    assert found({"name": written}).rule({"name": value})[1] == rule


def test_a_name_is_found_inside_a_text_without_spaces() -> None:
    trace = said("\u6211\u53eb\u6797\u6653\u6885\uff0c\u8acb\u9000\u6b3e")
    assert trace.verdicts({"name": "\u6797\u6653\u6885"}) == {"name": "in_text"}
    assert trace.verdicts({"name": "\u6797\u6653\u7389"}) == {"name": "unsupported"}


def test_a_value_without_a_word_is_found_whole() -> None:
    assert found({"mark": "\U0001f600"}).verdicts({"mark": "\U0001f600"}) == {"mark": "supported"}
    assert found({"mark": "\U0001f600"}).verdicts({"mark": "\U0001f601"}) == {"mark": "unsupported"}


def test_a_key_is_data_too() -> None:
    trace = found({"methods": {"gift_card_8190333": {"kind": "gift"}}})
    [argument] = trace.judged({"payment_id": "gift_card_8190333"}).values()
    assert (argument.verdict, argument.sources[0].pointer) == (
        "supported",
        "/output/methods/gift_card_8190333",
    )


NAMES: list[tuple[Any, dict[str, Any], str]] = [
    ("Mia Li", {"first_name": "Mia", "last_name": "Li"}, "transformed"),
    ("Li, Mia", {"first_name": "Mia", "last_name": "Li"}, "transformed"),
    ("Mia Lo", {"first_name": "Mia", "last_name": "Li"}, "unsupported"),
    ("225 Sunset Drive, Austin", {"street": "225 Sunset Drive", "city": "Austin"}, "transformed"),
    ("Mia Austin", {"user": {"first": "Mia"}, "city": "Austin"}, "unsupported"),
]


@pytest.mark.parametrize(("value", "output", "verdict"), NAMES)
def test_fields_of_one_record_make_up_a_text(value: Any, output: dict[str, Any], verdict: str) -> None:
    assert found(output).verdicts({"value": value}) == {"value": verdict}


@pytest.mark.parametrize("value", [True, False, "yes", "No", "true", None, "", [], {}])
def test_one_of_two_values_and_nothing_are_choices(value: Any) -> None:
    assert said("Hello").verdicts({"value": value}) == {"value": "choice"}


class TestFreeText:
    TRACE = said("I paid 49.90 for #W5866402 on 2024-05-20.")

    def test_is_checked_value_by_value(self) -> None:
        text = "The customer paid 49.90 for order #W5866402, and wants 59.90 back by 2024-05-21."
        argument = self.TRACE.judged({"explanation": text})["/explanation"]
        assert argument.verdict == "free_text"
        assert {part.value: part.verdict for part in argument.parts} == {
            "49.90": "in_text",
            "#W5866402": "in_text",
            "59.90": "unsupported",
            "2024-05-21": "unsupported",
        }
        assert all(text[part.span[0] : part.span[1]] == part.value for part in argument.parts)

    def test_may_hold_a_value_of_many_words(self) -> None:
        text = "See https://a.example/one-two-three-four-five-six-seven-eight/9 and then tell me, please."
        [part] = self.TRACE.judged({"explanation": text})["/explanation"].parts
        assert (part.value, part.verdict) == (
            "https://a.example/one-two-three-four-five-six-seven-eight/9"[8:],
            "unsupported",
        )

    def test_that_the_customer_wrote_is_in_the_text(self) -> None:
        text = "I paid 49.90 for #W5866402 on 2024-05-20."
        assert self.TRACE.verdicts({"explanation": text}) == {"explanation": "in_text"}

    def test_is_not_what_names_a_person_or_a_place(self) -> None:
        assert self.TRACE.verdicts({"name": "Mia Li", "street": "1 Main Street"}) == {
            "name": "unsupported",
            "street": "unsupported",
        }

    def test_may_be_short_in_a_field_that_is_always_worded(self) -> None:
        assert self.TRACE.verdicts({"query": "late refunds"}) == {"query": "free_text"}


class TestCitations:
    def test_of_a_policy_in_the_instructions_go_by_its_headings(self) -> None:
        policy = "# Airline policy\n\nHello.\n\n## Refunds\n\nOffer 125 dollars.\n\n## Other\n\nNothing."
        [argument] = Trace().start(("system", policy)).judged({"amount": 125}).values()
        citation = argument.sources[0].citation
        assert citation is not None
        assert (citation.document, citation.version, citation.section) == ("Airline policy", None, "Refunds")

    def test_of_a_passage_go_by_its_fields(self) -> None:
        passage = {
            "document_id": "returns",
            "version": 2,
            "section": "fees",
            "quote": "A fee of 12.50 is due.",
        }
        [argument] = found({"passages": [passage]}).judged({"fee": 12.5}).values()
        citation = argument.sources[0].citation
        assert citation is not None
        assert (citation.document, citation.version, citation.section) == ("returns", "2", "fees")
