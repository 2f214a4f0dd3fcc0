"""What each report finds in a record that has it, and that it finds nothing where there is nothing."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.reports.asking import InvalidPeriod
from tachograph.adapters.reports.catalogue import NAMES
from tachograph.adapters.reports.making import UnknownReport, make_report
from tachograph.adapters.reports.separation import exceptions
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalExecuted,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.budget import Totals
from tachograph.domain.errors import InvalidId
from tachograph.domain.events import Event
from tachograph.domain.origins import Source
from tachograph.domain.ports import EventStore
from tachograph.domain.recorded_event import Settlement
from tachograph.tests.read_side.stories import (
    NOON,
    append,
    append_foreign,
    begun,
    ended,
    failure,
    result,
    resumed,
    run_id,
    started,
    turn,
)

from .generated import refund_run

ONE, TWO, THREE = run_id(1), run_id(2), run_id(3)
Lines = list[tuple[Any, ...]]


def rows(store: EventStore, report: str, section: str, **options: Any) -> Lines:
    return list(make_report(store, report, **options).section(section).rows)


def figure(store: EventStore, report: str, name: str, **options: Any) -> str | None:
    found = {row[0]: row[1] for row in rows(store, report, "figures", **options)}
    value: str | None = found[name]
    return value


def later(**time: float) -> Any:
    return NOON + timedelta(**time)


class TestCompleteness:
    def found(self, store: EventStore) -> set[tuple[str, str]]:
        return {(line[0], line[1]) for line in rows(store, "completeness", "findings")}

    def test_a_whole_record_has_no_findings(self, store: EventStore) -> None:
        whole = ended(totals=Totals(steps=1, tool_calls=1))
        append(store, ONE, [started(), turn(1), result("1.1"), whole])
        assert self.found(store) == set()

    def test_an_open_run_is_unfinished_since_its_last_event(self, store: EventStore) -> None:
        append(store, ONE, [started(), turn(1)])
        append(store, TWO, [started(recorded_at=later(hours=2)), ended(at=later(hours=2))])
        [line] = rows(store, "completeness", "findings")
        assert line[:2] == ("unfinished", str(ONE))
        assert line[3] == 7_200_000

    def test_it_is_unfinished_too_where_it_began_before_the_period(self, store: EventStore) -> None:
        append(store, ONE, [started(), turn(1)])
        [line] = rows(store, "completeness", "findings", since="2026-12-24")
        assert line[:2] == ("unfinished", str(ONE))

    def test_what_cannot_be_read_is_counted(self, store: EventStore, store_url: str) -> None:
        append(store, ONE, [started(), turn(1, calls=0)])
        append_foreign(store, store_url, ONE, 3, "run_paused", b'{"v":1}')
        assert ("unreadable", str(ONE)) in self.found(store)
        assert figure(store, "completeness", "unreadable") == "1"

    def test_a_takeover_says_how_long_nothing_was_recorded(self, store: EventStore) -> None:
        append(store, ONE, [started(), turn(1, calls=0), resumed(at=later(minutes=40))])
        found = {line[0]: line[3] for line in rows(store, "completeness", "findings")}
        assert found["takeover"] == 2_400_000

    @pytest.mark.parametrize(("minutes", "pauses"), [(14, 0), (15, 1), (600, 1)])
    def test_a_pause_within_a_run_is_one_from_15_minutes_on(
        self, minutes: int, pauses: int, store: EventStore
    ) -> None:
        append(store, ONE, [started(), turn(1, calls=0, at=later(minutes=minutes))])
        assert figure(store, "completeness", "pauses") == str(pauses)

    def test_a_clock_that_stepped_back_shows(self, store: EventStore) -> None:
        append(store, ONE, [started(), turn(1), result("1.1", at=later(seconds=-5)), ended()])
        assert ("clock stepped back", str(ONE)) in self.found(store)

    def test_totals_that_the_events_contradict_show(self, store: EventStore) -> None:
        append(store, ONE, [started(), turn(1, calls=0), ended(totals=Totals(steps=2))])
        [line] = rows(store, "completeness", "findings")
        assert (line[0], line[4]) == (
            "totals differ",
            "turns, calls, errors: its end says 2, 0, 0; there are 1, 0, 0",
        )

    def test_events_after_the_end_show(self, store: EventStore) -> None:
        append(store, ONE, [started(), ended(), turn(1, calls=0)])
        assert ("after the end", str(ONE)) in self.found(store)


class TestGap:
    def test_a_version_that_somebody_deleted_shows(self, sqlite_url: str) -> None:
        import sqlite3

        from tachograph import open_store

        store = open_store(sqlite_url)
        append(store, ONE, [started(), turn(1), result("1.1"), ended(totals=Totals(steps=1, tool_calls=1))])
        store.close()
        with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("DELETE FROM stored_events WHERE originator_version = 3")
        connection.close()
        store = open_store(sqlite_url)
        found = {line[0]: line[4] for line in rows(store, "completeness", "findings")}
        store.close()
        assert found["gap"] == "versions 1 to 4, but 3 events"
        assert "totals differ" in found


def approval(**fields: Any) -> ApprovalRequested:
    asked = refund_run(3)[1].events[0]
    assert isinstance(asked, ApprovalRequested)
    return asked.model_copy(update={"requested_for": ("cara", "dan")} | fields)


def granted(by: str) -> ApprovalGranted:
    return ApprovalGranted(recorded_at=NOON, by=by, reason="fine", arguments_digest="0", shown_digest="0")


EFFECT = ApprovalStarted(
    recorded_at=NOON, tool="refund_execute", effect="once", idempotency_key="k", owner="host:1:a"
)


class TestSeparation:
    @pytest.mark.parametrize(
        ("events", "findings"),
        [
            ([approval(), granted("ann"), EFFECT], []),
            ([approval(), granted("dan")], [("not separate: own request", "dan")]),
            (
                [approval(), ApprovalDenied(recorded_at=NOON, by="cara", reason="no")],
                [("not separate: own request", "cara")],
            ),
            ([approval(needed=2), granted("ann"), granted("ann")], [("not separate: two votes", "ann")]),
            ([approval(needed=2), granted("ann"), EFFECT], [("not separate: effect", "")]),
            (
                [
                    approval(),
                    granted("ann"),
                    EFFECT,
                    ApprovalExecuted(
                        recorded_at=NOON,
                        output="{}",
                        settled=Settlement(actor="ann", reason="the bank says so"),
                    ),
                ],
                [("not separate: settled", "ann")],
            ),
            (
                [
                    approval(),
                    ApprovalRefused(
                        recorded_at=NOON, by="cara", answer="grant", code="own_request", message="no"
                    ),
                ],
                [("refused attempt", "cara")],
            ),
            (
                [
                    approval(),
                    ApprovalRefused(
                        recorded_at=NOON, by="bo", answer="grant", code="expired", message="late"
                    ),
                ],
                [],
            ),
            ([approval(requested_for=("anonymous",)), granted("ann")], [("requester unknown", "ann")]),
            ([approval(requested_for=()), granted("ann")], [("requester unknown", "ann")]),
        ],
    )
    def test_finds_what_the_rules_forbid(self, events: list[Event], findings: list[tuple[str, str]]) -> None:
        assert [(finding, person) for _, finding, person, _ in exceptions(events)] == findings

    def test_a_forged_decision_shows_in_the_report(self, store: EventStore) -> None:
        append(store, ONE, [approval(), granted("dan"), EFFECT])
        [line] = rows(store, "separation", "exceptions")
        assert line[3:5] == ("not separate: own request", "dan")
        assert figure(store, "separation", "not separate") == "1"

    def test_only_what_happened_in_the_period_counts(self, store: EventStore) -> None:
        append(store, ONE, [approval(), granted("dan")])
        assert rows(store, "separation", "exceptions", since="2027-01-01") == []
        assert rows(store, "separation", "exceptions", until="2026-11-30") == []


class TestAutomatic:
    def test_changes_count_and_reading_does_not(self, store: EventStore) -> None:
        append(store, ONE, [started(), turn(1, calls=2), begun("1.1"), result("1.1"), result("1.2"), ended()])
        [line] = rows(store, "automatic", "changes")
        assert (line[4], line[6], line[7]) == ("1.1", "once", "done")
        assert figure(store, "automatic", "without a person") == "1"

    def test_a_run_that_a_person_ended_is_not_without_one(self, store: EventStore) -> None:
        append(store, ONE, [started(), ended("blocked", reason="cancelled", actor="ann")])
        append(store, TWO, [started(), ended("handed_off")])
        assert figure(store, "automatic", "without a person") == "0"
        assert figure(store, "automatic", "share without a person") == "0.0 %"

    def test_of_imported_calls_it_says_that_their_effect_is_unknown(self, store: EventStore) -> None:
        source = Source(format="tau2", digest="0", conversation=0, stretch=0, first_message=0, last_message=1)
        append(store, ONE, [started(source=source), turn(1), result("1.1"), ended()])
        assert figure(store, "automatic", "calls of imported runs") == "1"


class TestAccess:
    def test_lists_people_and_not_workers(self, store: EventStore) -> None:
        by_worker = resumed().model_copy(update={"actor": "worker"})
        settled = Settlement(actor="bo", reason="the bank says so")
        append(
            store,
            ONE,
            [
                started(),
                resumed().model_copy(update={"actor": "ann"}),
                by_worker,
                turn(1),
                failure("1.1", code="outcome_unknown"),
                result("1.1").model_copy(update={"settled": settled}),
                ended("blocked", reason="cancelled", actor="cy"),
            ],
        )
        append(store, TWO, [approval(), granted("di")])
        assert {line[1:3] for line in rows(store, "access", "acts")} == {
            ("ann", "took a run over"),
            ("bo", "settled a call"),
            ("cy", "ended a run"),
            ("di", "granted"),
        }

    def test_it_says_that_reading_is_not_covered(self, store: EventStore) -> None:
        assert "NOT COVERED: who read the record" in make_report(store, "access").section("acts").note


class TestIncidents:
    def test_failed_calls_are_counted_and_serious_ones_listed(self, store: EventStore) -> None:
        append(
            store,
            ONE,
            [started(), turn(1, calls=2), failure("1.1"), failure("1.2", code="outcome_unknown")],
        )
        assert [line[1] for line in rows(store, "incidents", "incidents")] == ["outcome_unknown"]
        assert figure(store, "incidents", "error rate") == "100.0 %"


class TestRetention:
    def test_what_was_imported_does_not_make_the_record_older(self, store: EventStore) -> None:
        source = Source(format="tau2", digest="0", conversation=0, stretch=0, first_message=0, last_message=1)
        long_ago = NOON - timedelta(days=4000)
        append(store, ONE, [started(source=source, recorded_at=long_ago), ended(at=long_ago)])
        append(store, TWO, [started(), ended(at=later(days=200))])
        assert figure(store, "retention", "days kept so far") == "200"
        assert figure(store, "retention", "imported events") == "2"
        assert [row[4] for row in rows(store, "retention", "rules")] == [
            "200 days: as far",
            "200 days: as far",
            "200 days: not yet as far",
            "200 days: not yet as far",
        ]

    def test_the_period_does_not_make_it_younger(self, store: EventStore) -> None:
        append(store, ONE, [started(), ended(at=later(days=200))])
        assert figure(store, "retention", "days kept so far", since="2027-03-01") == "200"


class TestApprovals:
    def test_grounds_are_shown_without_digests_and_amounts(self, store: EventStore) -> None:
        [run, asked] = refund_run(3)
        append(store, run.run_id, run.events)
        append(store, asked.run_id, asked.events)
        [line] = rows(store, "approvals", "approvals")
        assert line[9] == (
            "order_id: #LL-00003; reason_code: changed_mind; "
            "explanation: The customer returns order #LL-00003; the policy allows it."
        )
        assert line[10] == "none of 5 in doubt"

    def test_arguments_without_an_amount_have_a_line_of_their_own(self, store: EventStore) -> None:
        append(store, ONE, [approval(arguments='{"door":"7"}')])
        assert rows(store, "approvals", "sums")[0][1:4] == ("(no amount)", 1, None)

    def test_a_damaged_record_is_no_obstacle(self, store: EventStore, store_url: str) -> None:
        append(store, ONE, [approval()])
        append_foreign(store, store_url, ONE, 2, "approval_paused", b'{"v":1}')
        [line] = rows(store, "approvals", "approvals")
        assert line[12] == "pending"


class TestAsking:
    @pytest.mark.parametrize("name", NAMES)
    def test_an_empty_store_gives_an_empty_report(self, name: str, store: EventStore) -> None:
        report = make_report(store, name)
        assert report.head.position == 0
        assert report.head.recorded_at is None

    def test_a_tenant_sees_its_own_runs_alone(self, store: EventStore) -> None:
        append(store, ONE, [started(tenant="shop"), ended()])
        append(store, TWO, [started(tenant="bank"), ended()])
        assert figure(store, "versions", "runs") == "2"
        assert figure(store, "versions", "runs", tenant="bank") == "1"
        assert figure(store, "versions", "runs", tenant="nobody' OR '1' = '1") == "0"

    def test_days_are_those_of_the_zone(self, store: EventStore) -> None:
        append(store, ONE, [started(recorded_at=NOON.replace(hour=23)), ended()])
        assert figure(store, "versions", "runs", until="2026-12-01") == "1"
        assert figure(store, "versions", "runs", until="2026-12-01", zone="Europe/Vienna") == "0"
        assert figure(store, "versions", "runs", since="2026-12-02", zone="Europe/Vienna") == "1"

    @pytest.mark.parametrize(
        "asked",
        [
            {"since": "yesterday"},
            {"since": "2026-13-01"},
            {"until": "9999-12-31"},
            {"since": "2026-12-02", "until": "2026-12-01"},
            {"zone": "Middle/Earth"},
            {"zone": "../../etc/passwd"},
            {"position": 99},
        ],
    )
    def test_what_makes_no_sense_is_refused(self, asked: dict[str, Any], store: EventStore) -> None:
        with pytest.raises(InvalidPeriod):
            make_report(store, "oversight", **asked)

    def test_an_unknown_report_is_refused_with_the_names(self, store: EventStore) -> None:
        with pytest.raises(UnknownReport, match="approvals, oversight"):
            make_report(store, "taxes")
        with pytest.raises(InvalidId):
            make_report(store, "oversight", tenant="a\nb")

    def test_the_views_are_brought_up_to_date_first(self, store: EventStore) -> None:
        side = open_read_side(store)
        side.catch_up()
        append(store, UUID(int=7), [started(), ended()])
        assert figure(store, "versions", "runs") == "1"
