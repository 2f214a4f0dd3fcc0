"""A day is the same day in whatever form it is written; what is uncertain about it is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.why.dates import dates, one_date
from tachograph.domain.why.relative_dates import distances

from .evidence_story import Trace, found, said


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("We leave on 2024-05-20.", "exact"),
        ("We leave on May 20, 2024.", "date_named"),
        ("We leave on 20 May 2024.", "date_named"),
        ("We leave on the 20th of May, 2024", "date_named"),
        ("we leave may 20th 2024", "date_named"),
        ("We leave on 05/20/2024.", "date_month_first"),
        ("We leave on 20.05.2024.", "date_day_first"),
        ("We leave on 20/5/24", "date_day_first"),
        ("We leave on 2024/05/20", "date_form"),
    ],
)
def test_a_day_is_found_in_any_form(text: str, rule: str) -> None:
    verdict = "in_text" if rule == "exact" else "transformed"
    assert said(text).rule({"date": "2024-05-20"}) == (verdict, rule)


def test_a_day_that_can_be_read_in_two_ways_says_so() -> None:
    trace = said("It came on 05/06/2024.")
    for date, rule in (("2024-05-06", "date_month_first"), ("2024-06-05", "date_day_first")):
        [argument] = trace.judged({"date": date}).values()
        assert (argument.verdict, argument.sources[0].rule) == ("transformed", rule)
        assert argument.sources[0].note is not None
        assert argument.sources[0].note.startswith("ambiguous")


def test_a_day_without_its_year_counts_where_the_year_is_known() -> None:
    trace = Trace().start(("system", "It is 2024-05-15."), ("user", "I want to fly on May 20."))
    [argument] = trace.judged({"date": "2024-05-20"}).values()
    assert (argument.verdict, argument.sources[0].note) == (
        "transformed",
        "the year 2024 is known from elsewhere",
    )
    assert trace.verdicts({"date": "2023-05-20"}) == {"date": "unsupported"}
    assert said("I want to fly on May 20.").verdicts({"date": "2024-05-20"}) == {"date": "unsupported"}


def test_both_ends_of_a_range_are_days() -> None:
    trace = said("From May 20 to 25, 2024, please")
    assert trace.verdicts({"out": "2024-05-20", "back": "2024-05-25"}) == {
        "out": "transformed",
        "back": "transformed",
    }
    assert trace.verdicts({"out": "2024-05-22"}) == {"out": "unsupported"}


def test_the_day_of_a_time_is_a_day() -> None:
    trace = found({"placed_at": "2024-05-20T13:25:06"})
    assert trace.rule({"date": "2024-05-20"}) == ("transformed", "date_part")


def test_an_instant_is_the_same_in_another_offset() -> None:
    trace = found({"at": "2024-05-20T01:00:00+02:00"})
    assert trace.rule({"at": "2024-05-19T23:00:00Z"}) == ("transformed", "time_form")
    assert trace.verdicts({"at": "2024-05-20T01:00:00Z"}) == {"at": "unsupported"}


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "Feb 30, 2024",
        "99/99/2024",
        "May 32",
        "12.5",
        "10000-01-01",
        "maybe 20",
        "1/2/3/4",
        "3 marches",
    ],
)
def test_what_is_no_day_is_none(text: str) -> None:
    assert one_date(text) is None


@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%Y/%m/%d"]))
def test_a_written_day_is_read_as_it_was_meant(day: object, form: str) -> None:
    import datetime

    assert isinstance(day, datetime.date)
    if day.year >= 1000 and (form != "%Y/%m/%d" or 1900 <= day.year < 2100):
        assert one_date(day.strftime(form)) == (day.year, day.month, day.day)


@given(st.text(max_size=80))
def test_days_of_a_text_lie_within_it(text: str) -> None:
    assert all(0 <= dated.start < dated.end <= len(text) for dated in dates(text))
    assert all(0 <= phrase.start < phrase.end <= len(text) for phrase in distances(text))


class TestADayNamedByItsDistance:
    TRACE = said("Change R55ABC to the day after, please.").called(
        "read", {"id": "R55ABC"}, {"id": "R55ABC", "flights": [{"date": "2024-05-23"}]}
    )

    def test_follows_from_the_record_that_the_call_names(self) -> None:
        argument = self.TRACE.judged({"id": "R55ABC", "date": "2024-05-24"})["/date"]
        assert (argument.verdict, argument.why) == (
            "derived",
            "2024-05-23 +1 days; the customer says “the day after”",
        )
        assert [source.trust for source in argument.sources] == ["tool", "customer"]

    def test_follows_from_nothing_else(self) -> None:
        assert self.TRACE.verdicts({"id": "R55ABC", "date": "2024-05-22"})["date"] == "unsupported"
        assert self.TRACE.verdicts({"id": "other1", "date": "2024-05-24"})["date"] == "unsupported"

    def test_does_not_go_on_from_an_echo(self) -> None:
        searched = self.TRACE.called(
            "search", {"date": "2024-05-24"}, [{"id": "R55ABC", "date": "2024-05-24"}]
        )
        assert searched.verdicts({"id": "R55ABC", "date": "2024-05-25"})["date"] == "unsupported"
