"""Facts as auditors query them: in SQL, on both databases."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.adapters.read_side import open_read_side
from tachograph.domain.approvals.approval import fold_approval
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.approvals.events import ApprovalDenied, ApprovalGranted
from tachograph.domain.budget import Usage
from tachograph.domain.events import Event
from tachograph.domain.origins import Fork
from tachograph.domain.ports import EventStore
from tachograph.domain.provenance import Provenance
from tachograph.domain.recorded_event import Settlement
from tachograph.projections.amounts import Amount, amount_of
from tachograph.projections.fact_views import VIEWS
from tachograph.tests.read_side.stories import (
    NOON,
    append,
    begun,
    ended,
    failure,
    query,
    result,
    resumed,
    run_id,
    started,
    turn,
)
from tachograph.tests.test_readme import ROOT

from .generated import refund_run

ONE, TWO = run_id(1), run_id(2)


@pytest.fixture
def url(database: EventStore, database_url: str) -> str:
    append(
        database,
        ONE,
        [
            started(),
            turn(1, calls=2, usage=Usage(tokens_in=10, tokens_out=2), cost_usd="0.0025"),
            begun("1.1"),
            result("1.1").model_copy(update={"settled": Settlement(actor="ann", reason="seen")}),
            failure("1.2"),
            resumed(),
            turn(2, calls=0, usage=Usage(tokens_in=20, tokens_out=3)),
            ended(
                "blocked",
                reason="max_steps_exceeded",
                tool="answer_user",
                provenance=Provenance(
                    version=1, declared={}, verdicts={"/a": "unsupported", "/b": "unsupported", "/c": "new"}
                ),
            ),
        ],
    )
    side = open_read_side(database)
    side.catch_up()
    side.close()
    return database_url


def row(url: str, view: str, columns: str) -> list[tuple[Any, ...]]:
    return query(url, f"SELECT {columns} FROM {view} ORDER BY 1")


class TestViews:
    def test_a_run_is_one_row_with_what_it_used(self, url: str) -> None:
        said = "run_id, outcome, budget_hit, turns, tool_calls, tool_errors, tokens_in, tokens_out, "
        said += "cost_nano_usd, takeovers, judged_by, unsupported"
        assert row(url, "v_runs", said) == [
            (str(ONE), "blocked", 1, 2, 1, 1, 30, 5, 2_500_000, 1, 1, 2),
        ]

    def test_a_call_has_its_effect_and_error(self, url: str) -> None:
        assert row(url, "v_tool_calls", "call_key, tool, code, effect, settled") == [
            ("1.1", "order_read", None, "once", 1),
            ("1.2", "order_read", "timed_out", None, 0),
        ]

    def test_a_turn_has_tokens_and_cost(self, url: str) -> None:
        assert row(url, "v_turns", "step, model_asked, calls, tokens_in, cost_nano_usd, shared") == [
            (1, "scripted", 2, 10, 2_500_000, 0),
            (2, "scripted", 0, 20, None, 0),
        ]

    def test_findings_are_what_an_auditor_asks_about(self, url: str) -> None:
        assert row(url, "v_findings", "finding, version, tool, code") == [
            ("run_blocked", 8, "answer_user", "max_steps_exceeded"),
            ("taken_over", 6, None, None),
            ("tool_error", 5, "order_read", "timed_out"),
            ("unsupported_value", 8, "answer_user", None),
        ]

    def test_verdicts_that_this_release_does_not_know_are_counted_as_other(self, url: str) -> None:
        assert row(url, "fact_verdicts", "verdict, arguments") == [("other", 1), ("unsupported", 2)]

    def test_a_calls_effect_is_not_doubled_when_it_began_twice(
        self, database: EventStore, database_url: str
    ) -> None:
        append(database, TWO, [started(), turn(1), begun("1.1"), resumed(), begun("1.1"), result("1.1")])
        side = open_read_side(database)
        side.catch_up()
        assert len(row(database_url, "v_tool_calls", "call_key")) == 1

    def test_what_a_fork_shares_is_counted_once(self, database: EventStore, database_url: str) -> None:
        story: list[Event] = [started(), turn(1), result("1.1"), turn(2, calls=0)]
        append(database, ONE, [*story, ended()])
        append(database, TWO, [started(fork=Fork(version=3), forked_from=ONE), *story[1:]])
        side = open_read_side(database)
        side.catch_up()
        assert row(database_url, "v_runs", "run_id, turns, tool_calls, forked_from") == [
            (str(ONE), 2, 1, None),
            (str(TWO), 1, 0, str(ONE)),
        ]

    def test_each_view_has_the_columns_that_the_docs_say(self, url: str) -> None:
        page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
        for view in VIEWS:
            [section] = re.findall(rf"^### `{view.name}`\n\n(.*?)(?=\n\n|\Z)", page, flags=re.M | re.S)
            said = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", section, flags=re.M))
            assert said == dict(view.columns)
            assert query(url, f"SELECT {', '.join(view.columns)} FROM {view.name} WHERE 1 = 0") == []

    def test_they_are_there_again_after_a_rebuild(self, database: EventStore, url: str) -> None:
        before = {view.name: row(url, view.name, "*") for view in VIEWS}
        side = open_read_side(database)
        side.rebuild(["facts"])
        assert {view.name: row(url, view.name, "*") for view in VIEWS} == before
        assert row(url, "projection_generations", "name, generation")[1] == ("facts", 2)


class TestApprovals:
    @pytest.mark.parametrize("number", [3, 4, 5, 11, 29])
    def test_the_row_is_what_the_events_say(
        self, number: int, database: EventStore, database_url: str
    ) -> None:
        [run, approval] = refund_run(number)
        append(database, run.run_id, run.events)
        append(database, approval.run_id, approval.events)
        side = open_read_side(database)
        side.catch_up()
        state = fold_approval(approval.run_id, database.read(approval.run_id))
        [found] = row(
            database_url,
            "v_approvals",
            "approval_id, run_id, amount, currency, status, votes, refused_answers, execution, "
            "policy_version",
        )
        asked = json.loads(state.requested.arguments)
        assert found == (
            str(approval_id_of(run.run_id)),
            str(run.run_id),
            asked["amount"],
            asked["currency"],
            state.status,
            len(state.votes),
            len(state.refused),
            state.execution,
            state.requested.policy_version,
        )

    def test_the_last_of_the_votes_that_were_needed_decides(
        self, database: EventStore, database_url: str
    ) -> None:
        [_, approval] = refund_run(3)
        asked = approval.events[0].model_copy(update={"needed": 2})
        vote = next(event for event in approval.events if isinstance(event, ApprovalGranted))
        later = vote.model_copy(
            update={"by": "second", "recorded_at": asked.recorded_at + timedelta(hours=3)}
        )
        first = vote.model_copy(update={"recorded_at": asked.recorded_at + timedelta(seconds=90)})
        append(database, approval.run_id, [asked, first])
        side = open_read_side(database)
        side.catch_up()
        columns = "status, votes, decided_after_ms"
        assert row(database_url, "v_approvals", columns) == [("pending", 1, None)]
        append(database, approval.run_id, [later], expected_version=2)
        side.catch_up()
        assert row(database_url, "v_approvals", columns) == [("granted", 2, 3 * 3_600_000)]

    def test_a_clock_that_stepped_back_gives_no_negative_time(
        self, database: EventStore, database_url: str
    ) -> None:
        [_, approval] = refund_run(3)
        asked = approval.events[0]
        denied = ApprovalDenied(recorded_at=NOON - timedelta(days=900), by="ann", reason="no")
        append(database, approval.run_id, [asked, denied])
        side = open_read_side(database)
        side.catch_up()
        assert row(database_url, "v_approvals", "status, decided_after_ms") == [("denied", 0)]


class TestAmounts:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ('{"amount":"49.90","currency":"EUR"}', Amount("49.90", "EUR", 4990)),
            ('{"amount":49.90,"currency":"EUR"}', Amount("49.90", "EUR", 4990)),
            ('{"amount":1499,"currency":"JPY"}', Amount("1499", "JPY", 1499)),
            ('{"amount":"1.234","currency":"KWD"}', Amount("1.234", "KWD", 1234)),
            ('{"amount":"1.2345","currency":"EUR"}', Amount("1.2345", "EUR", None)),
            ('{"amount":"5","currency":"XXX"}', Amount("5", None, None)),
            ('{"amount":"5"}', Amount("5", None, None)),
            ('{"amount":"1e3","currency":"EUR"}', Amount("1000", "EUR", 100_000)),
            ('{"amount":"-5","currency":"EUR"}', Amount("-5", "EUR", -500)),
            ('{"amount":"NaN","currency":"EUR"}', Amount()),
            ('{"amount":NaN,"currency":"EUR"}', Amount()),
            ('{"amount":"1e999999999","currency":"EUR"}', Amount()),
            ('{"amount":"1e-999999999","currency":"EUR"}', Amount()),
            ('{"amount":true,"currency":"EUR"}', Amount()),
            ('{"amount":{"a":1}}', Amount()),
            ('{"currency":["EUR"],"amount":"5"}', Amount("5", None, None)),
            ("[" * 100_000, Amount()),
            ("no json", Amount()),
            ("[]", Amount()),
        ],
    )
    def test_are_read_from_the_digits(self, arguments: str, expected: Amount) -> None:
        assert amount_of(arguments) == expected

    @given(st.text())
    def test_no_text_makes_it_raise(self, text: str) -> None:
        amount_of(text)
        amount_of(json.dumps({"amount": text, "currency": text}))
