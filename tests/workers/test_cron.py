"""When something is due by the clocks of a zone, and which period was over then."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.adapters.reports.periods import Period, last_whole
from tachograph.adapters.workers.cron import check_cron, due_before

VIENNA = ZoneInfo("Europe/Vienna")
ZONES = [
    "UTC",
    "Europe/Vienna",
    "Australia/Lord_Howe",
    "America/Asuncion",
    "Asia/Kathmandu",
    "Africa/Casablanca",
]
CRONS = ["30 2 * * *", "*/7 * * * *", "0 0 * * *", "15 1-3 * * *", "0 6 1 * *", "30 5 * * mon-fri"]
PERIODS: list[Period] = ["last day", "last week", "last month", "last quarter", "last year"]
PAUSES = st.timedeltas(timedelta(), timedelta(days=2))
TIMES = st.datetimes(datetime(2001, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}Z")


class TestDue:
    @pytest.mark.parametrize(
        ("now", "due"),
        [
            ("2026-03-28T12:00", "2026-03-28T01:30"),
            ("2026-03-29T01:29", "2026-03-28T01:30"),  # Clocks went from 02:00 to 03:00 at 01:00 UTC.
            ("2026-03-29T01:30", "2026-03-29T01:30"),
            ("2026-03-30T00:30", "2026-03-30T00:30"),
            ("2026-10-25T00:29", "2026-10-24T00:30"),
            ("2026-10-25T00:30", "2026-10-25T00:30"),
            ("2026-10-25T01:10", "2026-10-25T00:30"),  # Clocks went back from 03:00 to 02:00 at 01:00 UTC.
            ("2026-10-25T01:40", "2026-10-25T00:30"),
            ("2026-10-26T01:30", "2026-10-26T01:30"),
        ],
    )
    def test_a_day_on_which_clocks_are_changed_has_it_once(self, now: str, due: str) -> None:
        assert due_before("30 2 * * *", VIENNA, utc(now)) == utc(due)

    @given(
        st.sampled_from(CRONS), st.sampled_from(ZONES), TIMES, st.timedeltas(timedelta(), timedelta(days=2))
    )
    def test_it_never_lies_ahead_and_never_goes_back(
        self, cron: str, zone: str, now: datetime, later: timedelta
    ) -> None:
        due = due_before(cron, ZoneInfo(zone), now)
        assert due <= now
        assert due_before(cron, ZoneInfo(zone), due) == due
        assert due_before(cron, ZoneInfo(zone), now + later) >= due

    @given(st.sampled_from(ZONES), TIMES)
    def test_each_day_has_it_once(self, zone: str, now: datetime) -> None:
        times, at = [], now
        for _ in range(10):
            times.append(due_before("30 2 * * *", ZoneInfo(zone), at))
            at = times[-1] - timedelta(microseconds=1)
        days = [due.astimezone(ZoneInfo(zone)).date() for due in times]
        assert [earlier - later for earlier, later in pairwise(days)] == [timedelta(days=1)] * 9

    @pytest.mark.parametrize(
        "cron",
        [
            "",
            "* * * *",
            "* * * * * *",
            "@daily",
            "60 0 * * *",
            "0 6 31 2 *",
            "R R * * *",
            "R(0-30) 6 * * *",
            "H 6 * * *",
        ],
    )
    def test_what_names_no_times_that_come_is_refused(self, cron: str) -> None:
        with pytest.raises(ValueError, match=r"not the five fields|no such time"):
            check_cron(cron)

    @given(st.text(alphabet="0123456789*/,-LW#?RHmonjan ()", max_size=40))
    def test_any_text_is_taken_or_refused(self, cron: str) -> None:
        try:
            check_cron(cron)
        except ValueError:
            return
        assert due_before(cron, VIENNA, utc("2026-12-01T12:00")) <= utc("2026-12-01T12:00")


class TestPeriods:
    @pytest.mark.parametrize(
        ("period", "since", "until"),
        [
            ("last day", "2026-10-25", "2026-10-26"),
            ("last week", "2026-10-19", "2026-10-26"),
            ("last month", "2026-09-01", "2026-10-01"),
            ("last quarter", "2026-07-01", "2026-10-01"),
            ("last year", "2025-01-01", "2026-01-01"),
        ],
    )
    def test_it_is_of_the_zone_s_calendar(self, period: Period, since: str, until: str) -> None:
        monday = datetime(2026, 10, 26, 0, 30, tzinfo=VIENNA)
        found = last_whole(period, monday.astimezone(UTC), VIENNA)
        assert [f"{at.astimezone(VIENNA):%Y-%m-%d %H:%M}" for at in found] == [
            f"{since} 00:00",
            f"{until} 00:00",
        ]

    def test_a_day_on_which_clocks_are_changed_is_longer_or_shorter(self) -> None:
        lengths = [
            until - since
            for day in (utc("2026-03-30T12:00"), utc("2026-10-26T12:00"), utc("2026-11-01T12:00"))
            for since, until in [last_whole("last day", day, VIENNA)]
        ]
        assert [length / timedelta(hours=1) for length in lengths] == [23, 25, 24]

    @given(st.sampled_from(PERIODS), st.sampled_from(ZONES), TIMES)
    def test_periods_follow_each_other_without_gap_or_overlap(
        self, period: Period, zone: str, at: datetime
    ) -> None:
        since, until = last_whole(period, at, ZoneInfo(zone))
        assert since < until <= at
        assert last_whole(period, since, ZoneInfo(zone))[1] == since
        assert last_whole(period, until, ZoneInfo(zone)) == (since, until)
