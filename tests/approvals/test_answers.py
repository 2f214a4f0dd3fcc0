"""People's answers, on every store: one decision for ever, by somebody who may, on what was asked for."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from tachograph import open_store
from tachograph.adapters import deciding
from tachograph.adapters.approving import every_approval, load_approval, shown_to_approver
from tachograph.adapters.read_side import open_read_side
from tachograph.domain.approvals.answering import Answer, Approver
from tachograph.domain.approvals.definition import Approval, approval_id_of, digest_of
from tachograph.domain.approvals.events import ApprovalGranted, ApprovalRefused, ApprovalRequested
from tachograph.domain.errors import AnswerRefused, ApprovalNotFound, InvalidAgent, InvalidId, VersionConflict
from tachograph.domain.events import Terminal
from tachograph.domain.ports import EventStore

from .desk import ANN, BOB, CONTEXT, Desk, paying


def refused(desk: Desk, approval_id: Any, by: Approver = BOB, said: Answer = "grant", **more: Any) -> str:
    """The answer is refused with this code, which is recorded."""
    with pytest.raises(AnswerRefused) as caught:
        desk.answers(approval_id, by, said, **more)
    recorded = desk.history(approval_id)[-1]
    assert isinstance(recorded, ApprovalRefused)
    assert (recorded.by, recorded.answer, recorded.code) == (by.actor, said, caught.value.code)
    return caught.value.code


class TestAsking:
    def test_it_is_asked_in_the_transaction_of_the_terminal_and_bound_to_all_it_rests_on(
        self, store: EventStore
    ) -> None:
        desk = Desk(store)
        head = store.head()
        approval_id = desk.asks()
        terminal, asked = (entry for entry in store.read_log(after=head)[-2:])
        assert isinstance(asked.event, ApprovalRequested)  # type: ignore[union-attr]  # it is readable
        assert isinstance(terminal.event, Terminal)  # type: ignore[union-attr]  # it is readable
        request = asked.event  # type: ignore[union-attr]  # the same
        assert asked.run_id == approval_id == approval_id_of(terminal.run_id)
        assert (request.run_id, request.run_version) == (terminal.run_id, terminal.version)
        assert request.arguments == terminal.event.arguments  # type: ignore[union-attr]  # the same
        assert request.arguments_digest == digest_of("request_refund", request.arguments)
        assert request.shown_digest == shown_to_approver(store, terminal.run_id).digest
        assert (request.requested_for, request.tenant, request.subject, request.then) == (
            ("clerk", "customer-7"),
            "shop",
            "#W1",
            "execute",
        )

    def test_what_was_shown_stays_the_same_when_the_trace_goes_on(self, store: EventStore) -> None:
        desk = Desk(store)
        first = desk.asks()
        shown = desk.state(first).requested.shown_digest
        desk.asks(order="#W2")
        assert shown_to_approver(store, desk.state(first).requested.run_id).digest == shown

    @pytest.mark.case("C068")
    def test_C068_two_requests_in_one_turn_ask_nobody(self, store: EventStore, case: Any) -> None:
        import json

        from tachograph.adapters.models.scripted import ScriptedModel
        from tachograph.adapters.running import run
        from tachograph.domain.ports import AskedCall, ModelReply

        twice = case("C068")["parallel_identical_side_effect"]
        calls = tuple(AskedCall("request_refund", json.dumps(one["arguments"])) for one in twice)
        model = ScriptedModel([ModelReply(calls=calls, finish_reason="tool_calls")])
        outcome = asyncio.run(run(Desk(store).agent, "Money back.", CONTEXT, model=model, store=store))
        assert (outcome.outcome, outcome.reason) == ("blocked", "ambiguous_terminal_calls")
        assert store.read(approval_id_of(outcome.run_id)) == []


class TestDeciding:
    def test_a_grant_runs_the_effect_once_with_exactly_what_was_asked_for(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks("49.90")
        state = desk.answers(approval_id)
        assert (state.status, state.execution) == ("granted", "done")
        assert state == desk.state(approval_id)
        assert desk.kinds(approval_id) == ["requested", "granted", "started", "executed"]
        assert [paid.rpartition(" ")[0] for paid in desk.done] == ["#W1 49.90"]
        assert state.started is not None
        assert desk.done[0].endswith(state.started.idempotency_key)

    def test_the_grant_and_the_start_are_one_append(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        desk.only_answers(approval_id)
        granted, started = store.read(approval_id)[1:]
        assert (granted.kind, started.kind) == ("approval_granted", "approval_started")

    def test_a_denial_decides(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        assert desk.answers(approval_id, ANN, "deny").status == "denied"
        assert desk.done == []

    @pytest.mark.parametrize("first", ["grant", "deny"])
    @pytest.mark.parametrize("second", ["grant", "deny"])
    def test_a_second_answer_is_refused(self, store: EventStore, first: Answer, second: Answer) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        before = desk.answers(approval_id, ANN, first)
        assert refused(desk, approval_id, BOB, second) == "already_decided"
        after = desk.state(approval_id)
        assert (after.status, after.execution) == (before.status, before.execution)
        assert len(desk.done) == (1 if first == "grant" else 0)

    @pytest.mark.parametrize("name", ["clerk", "customer-7"])
    def test_whom_the_run_acted_for_can_not_decide(self, store: EventStore, name: str) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        assert refused(desk, approval_id, Approver(name)) == "own_request"
        assert desk.answers(approval_id, BOB).status == "granted"

    def test_it_takes_the_permission_that_is_asked_for(self, store: EventStore) -> None:
        desk = Desk(store, Approval(group="finance"))
        approval_id = desk.asks()
        assert refused(desk, approval_id, ANN) == "not_allowed"
        assert desk.answers(approval_id, Approver("ann", ("finance",))).status == "granted"

    def test_two_people_have_to_grant_it_and_one_can_not_do_it_twice(self, store: EventStore) -> None:
        done: list[str] = []
        desk = Desk(store, Approval(effect=paying(done), needed=2))
        approval_id = desk.asks()
        assert desk.answers(approval_id, ANN).status == "pending"
        assert refused(desk, approval_id, ANN) == "voted_already"
        assert done == []
        assert desk.answers(approval_id, BOB).execution == "done"
        assert len(done) == 1

    def test_one_of_two_can_still_deny(self, store: EventStore) -> None:
        desk = Desk(store, Approval(needed=2))
        approval_id = desk.asks()
        desk.answers(approval_id, ANN)
        assert desk.answers(approval_id, BOB, "deny").status == "denied"

    def test_an_answer_after_expiry_is_refused_and_both_are_recorded(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        desk.clock.pass_(days=3)
        assert refused(desk, approval_id) == "expired"
        assert desk.kinds(approval_id) == ["requested", "expired", "refused"]
        assert refused(desk, approval_id) == "expired"
        assert desk.done == []

    def test_a_moment_before_expiry_is_in_time(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        desk.clock.pass_(days=3, microseconds=-1)
        assert desk.answers(approval_id).status == "granted"

    @pytest.mark.case("C128")
    def test_C128_an_answer_to_other_arguments_is_refused(self, store: EventStore, case: Any) -> None:
        given = case("C128")
        desk = Desk(store)
        approval_id = desk.asks(given["approved_args"]["amount"])
        other = digest_of("request_refund", '{"order_id":"#W1","amount":999.00}')
        assert refused(desk, approval_id, seen=other) == "arguments_changed"
        asked = desk.state(approval_id).requested
        assert desk.answers(approval_id, seen=asked.arguments_digest).execution == "done"
        assert [paid.split()[1] for paid in desk.done] == [given["approved_args"]["amount"]]

    def test_another_tenant_sees_no_such_approval(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        with pytest.raises(ApprovalNotFound):
            desk.answers(approval_id, tenant="other")
        assert desk.answers(approval_id, tenant="shop").status == "granted"

    def test_another_agent_can_not_decide_on_it(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        stranger = replace(desk.agent, name="stranger")
        with pytest.raises(InvalidAgent):
            asyncio.run(deciding.answer(desk.office, stranger, approval_id, ANN, "grant", "Yes."))
        assert desk.kinds(approval_id) == ["requested"]

    def test_neither_can_an_agent_that_no_longer_asks_for_that(self, store: EventStore) -> None:
        desk = Desk(store)
        approval_id = desk.asks()
        desk.approval = Approval(continues=True)
        with pytest.raises(InvalidAgent):
            desk.answers(approval_id)
        assert desk.kinds(approval_id) == ["requested"]
        assert desk.answers(approval_id, ANN, "deny").status == "denied"

    def test_a_run_that_stands_where_the_decision_would_go_on_is_no_endless_race(
        self, store: EventStore
    ) -> None:
        desk = Desk(store, Approval(continues=True))
        first, second = desk.asks(), desk.asks()
        start = desk.history(desk.state(first).requested.run_id)[0]
        asyncio.run(store.append(deciding.following_run(second), [start], expected_version=0))
        with pytest.raises(VersionConflict):
            desk.answers(second)
        assert desk.answers(first).status == "granted"

    def test_there_is_no_such_approval(self, store: EventStore) -> None:
        with pytest.raises(ApprovalNotFound):
            load_approval(store, uuid4())

    def test_a_name_that_hides_something_is_refused(self, store: EventStore) -> None:
        desk = Desk(store)
        with pytest.raises(InvalidId):
            desk.answers(desk.asks(), Approver("ann\u202e"))


class TestReminding:
    def test_it_expires_once_and_escalates_once(self, store: EventStore) -> None:
        from datetime import timedelta

        desk = Desk(store, Approval(escalates_after=timedelta(hours=4)))
        approval_id = desk.asks()
        for hours in (3, 1, 1, 70, 1):
            desk.clock.pass_(hours=hours)
            asyncio.run(deciding.remind(desk.office, desk.agent, approval_id))
        assert desk.kinds(approval_id) == ["requested", "escalated", "expired"]


class TestLimits:
    @pytest.mark.case("C129")
    def test_C129_the_same_refund_twice_is_refused(self, store: EventStore, case: Any) -> None:
        amounts = [call.split()[-1] for call in case("C129")["calls"]]
        desk = Desk(store)
        first, second = (desk.asks(amount) for amount in amounts)
        assert desk.answers(first).execution == "done"
        assert refused(desk, second) == "limit"
        assert len(desk.done) == 1

    @pytest.mark.case("C130")
    def test_C130_what_is_pending_counts(self, store: EventStore, case: Any) -> None:
        """Of 100.00: 60.00 was asked for first, so of the second 60.00 there are 40.00 left."""
        assert case("C130")["pending"]
        desk = Desk(store)
        first, second, small = desk.asks("60.00"), desk.asks("60.00"), desk.asks("40.00")
        assert refused(desk, second) == "limit"
        assert refused(desk, small) == "limit"
        assert desk.answers(first).status == "granted"
        desk.answers(second, BOB, "deny")
        assert desk.answers(small).execution == "done"

    def test_what_was_denied_or_expired_counts_no_more(self, store: EventStore) -> None:
        desk = Desk(store)
        first = desk.asks("60.00")
        desk.clock.pass_(days=1)
        second = desk.asks("60.00")
        desk.clock.pass_(days=2)
        assert refused(desk, first) == "expired"
        assert desk.answers(second).execution == "done"

    def test_orders_and_tenants_have_limits_of_their_own(self, store: EventStore) -> None:
        desk = Desk(store)
        for order in ("#W1", "#W2"):
            assert desk.answers(desk.asks("90.00", order)).execution == "done"


class TestContinuing:
    def test_a_decision_starts_a_run_that_has_it_as_its_input(self, store: EventStore) -> None:
        desk = Desk(store, Approval(continues=True))
        for said in ("grant", "deny"):
            approval_id = desk.asks()
            desk.answers(approval_id, ANN, said)
            [started] = desk.history(deciding.following_run(approval_id))
            assert started.kind == "run_started"
            assert started.continues == desk.state(approval_id).requested.run_id  # type: ignore[union-attr]
            assert started.context == CONTEXT  # type: ignore[union-attr]
            [message] = started.input  # type: ignore[union-attr]
            assert message.role == "tool"
            assert (
                f'"decision":"{"granted" if said == "grant" else "denied"}","by":["ann"]' in message.content
            )

    def test_the_decision_and_the_start_are_one_transaction(self, store: EventStore) -> None:
        desk = Desk(store, Approval(continues=True))
        approval_id = desk.asks()
        head = store.head()
        desk.answers(approval_id)
        assert [entry.kind for entry in store.read_log(after=head)] == ["approval_granted", "run_started"]

    @pytest.mark.case("C133")
    def test_C133_a_decision_is_read_from_its_events_and_nothing_is_asked_again(
        self, store: EventStore, case: Any
    ) -> None:
        assert case("C133")
        asked: list[str] = []

        def counted(one: Any, others: Any) -> None:
            asked.append("limit")

        desk = Desk(store, Approval(effect=paying([]), subject=lambda one: one.order_id, limit=counted))
        approval_id = desk.asks()
        desk.only_answers(approval_id)
        assert asked == ["limit"]
        assert desk.picks_up(approval_id).execution == "done"
        vote = desk.history(approval_id)[1]
        assert isinstance(vote, ApprovalGranted)
        assert asked == ["limit"]


class TestTheView:
    def test_it_lists_who_waits_and_what_was_decided(self, store: EventStore) -> None:
        desk = Desk(store)
        waiting, granted, denied = desk.asks("10.00"), desk.asks("10.00"), desk.asks("10.00")
        desk.answers(granted)
        desk.answers(denied, BOB, "deny")
        refused(desk, denied)
        assert [state.approval_id for state in every_approval(store, pending=True)] == [waiting]
        side = open_read_side(store)
        side.catch_up()
        rows = {row["approval_id"]: row for row in side.approvals(tenant="shop", subject="#W1")}
        side.close()
        assert [(row["status"], row["execution"], row["refusals"]) for row in rows.values()] == [
            ("pending", None, 0),
            ("granted", "done", 0),
            ("denied", None, 1),
        ]
        assert {row["trace_id"] for row in rows.values()} == {"trace-1"}

    def test_an_approval_that_can_not_be_read_lets_no_other_on_its_subject_be_granted(
        self, sqlite_url: str
    ) -> None:
        store = open_store(sqlite_url)
        desk = Desk(store)
        first, second = desk.asks("10.00"), desk.asks("10.00")
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as database, database:
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                database.execute(f"DROP TRIGGER {name}")
            database.execute(
                "UPDATE stored_events SET topic = 'approval_vetoed' WHERE originator_id = ?", (first.hex,)
            )
        assert refused(desk, second) == "limit"
        store.close()
