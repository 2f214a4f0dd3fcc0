"""The effect of a granted approval: once, whatever process dies when."""

import asyncio
from typing import Any

import pytest

from tachograph.adapters import effecting
from tachograph.adapters.reconciling import reconcile_effect
from tachograph.domain.approvals.definition import Approval
from tachograph.domain.errors import AnswerRefused, InvalidAgent, NothingToSettle
from tachograph.domain.events import Effect
from tachograph.domain.ports import EventStore
from tachograph.domain.tools import TerminalTool

from .desk import Desk, Refund, limit, paying


def desk_of(store: EventStore, effect: Effect, fails: bool = False) -> Desk:
    desk = Desk(store)
    desk.approval = Approval(
        effect=paying(desk.done, effect, fails), subject=lambda one: one.order_id, limit=limit
    )
    return desk


class TestPickingUp:
    def test_an_idempotent_effect_runs_under_the_recorded_key(self, store: EventStore) -> None:
        desk = desk_of(store, "idempotent")
        approval_id = desk.asks()
        started = desk.only_answers(approval_id).started
        state = desk.picks_up(approval_id)
        assert state.execution == "done"
        assert [paid.split()[-1] for paid in desk.done] == [started.idempotency_key]  # type: ignore[union-attr]

    def test_a_once_effect_is_not_run_again_and_waits_for_a_person(self, store: EventStore) -> None:
        desk = desk_of(store, "once")
        approval_id = desk.asks()
        desk.only_answers(approval_id)
        assert desk.picks_up(approval_id).execution == "unknown"
        assert desk.picks_up(approval_id).execution == "unknown"
        assert desk.done == []

    @pytest.mark.case("C131")
    def test_C131_what_is_in_doubt_still_counts_until_somebody_has_found_out(
        self, store: EventStore, case: Any
    ) -> None:
        assert case("C131")["local_write"] == "failed"
        desk = desk_of(store, "once")
        first, second = desk.asks("80.00"), desk.asks("80.00")
        desk.only_answers(first)
        desk.picks_up(first)
        with pytest.raises(AnswerRefused):
            desk.answers(second)
        found = {"output": None, "failure": "The bank has nothing of it.", "reason": "asked the bank"}
        state = asyncio.run(reconcile_effect(first, store=store, actor="ops", **found))  # type: ignore[arg-type]
        assert (state.execution, state.holds) == ("failed", False)
        assert desk.answers(second).execution == "done"

    def test_a_settled_success_is_done(self, store: EventStore) -> None:
        desk = desk_of(store, "once")
        approval_id = desk.asks()
        desk.only_answers(approval_id)
        state = asyncio.run(
            reconcile_effect(
                approval_id, output='{"paid":"49.90"}', reason="the bank's list", store=store, actor="ops"
            )
        )
        assert (state.execution, state.is_settled) == ("done", True)
        assert desk.kinds(approval_id)[-2:] == ["executed", "executed"]
        with pytest.raises(NothingToSettle):
            asyncio.run(reconcile_effect(approval_id, output="1", reason="again", store=store, actor="ops"))

    def test_who_finishes_late_is_heard(self, store: EventStore) -> None:
        """Somebody called it unknown while the process that ran it was only slow."""
        desk = desk_of(store, "once")
        approval_id = desk.asks()
        started = desk.only_answers(approval_id)
        desk.picks_up(approval_id)
        state = asyncio.run(effecting.carry_out(desk.office, desk.agent, started))
        assert (state.execution, len(desk.done)) == ("done", 1)

    @pytest.mark.case("C132")
    def test_C132_it_asks_no_model(self, store: EventStore, case: Any) -> None:
        """There is none in the office: the recorded call is what runs."""
        assert case("C132")["resume"] == "re-asks the model"
        desk = desk_of(store, "idempotent")
        approval_id = desk.asks()
        desk.only_answers(approval_id)
        assert desk.picks_up(approval_id).execution == "done"


class TestFailing:
    def test_a_failure_is_recorded_and_still_counts(self, store: EventStore) -> None:
        desk = desk_of(store, "once", fails=True)
        approval_id = desk.asks("80.00")
        state = desk.answers(approval_id)
        assert state.executed is not None
        assert (state.execution, state.executed.code) == ("failed", "tool_execution_failed")
        with pytest.raises(AnswerRefused):
            desk.answers(desk.asks("80.00"))

    def test_an_idempotent_one_can_be_tried_again_under_the_same_key(self, store: EventStore) -> None:
        desk = desk_of(store, "idempotent", fails=True)
        approval_id = desk.asks()
        desk.answers(approval_id)
        desk.approval = Approval(effect=paying(desk.done), subject=lambda one: one.order_id, limit=limit)
        assert desk.picks_up(approval_id).execution == "done"
        assert len(desk.done) == 2
        assert len({paid.split()[-1] for paid in desk.done}) == 1

    def test_a_once_effect_is_never_tried_again(self, store: EventStore) -> None:
        desk = desk_of(store, "once", fails=True)
        approval_id = desk.asks()
        desk.answers(approval_id)
        assert desk.picks_up(approval_id).execution == "failed"
        assert len(desk.done) == 1


class TestDefinition:
    @pytest.mark.parametrize(
        "approval",
        [
            Approval(effect=paying([]), continues=True),
            Approval(needed=0),
            Approval(subject=lambda one: "x"),
            Approval(limit=limit),
        ],
    )
    def test_what_contradicts_itself_is_refused(self, approval: Approval) -> None:
        with pytest.raises(InvalidAgent):
            TerminalTool("request_refund", "Ask.", Refund, "approval_requested", approval)
