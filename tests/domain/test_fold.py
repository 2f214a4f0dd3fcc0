"""The fold: what a history says, and the histories that contradict themselves."""

from dataclasses import replace
from decimal import Decimal

import pytest

from tachograph.domain.budget import Totals
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import Entry, Event, Recorded, Unreadable
from tachograph.domain.run import RunState, Step, evolve, fold, state_digest, state_json

from .story import (
    MAIL,
    NOON,
    READ,
    RUN_ID,
    begun,
    ended,
    failure,
    folded,
    given,
    numbered,
    result,
    resumed,
    started,
    turn,
)


def test_a_run_is_what_its_events_say() -> None:
    events: list[Event] = [
        started(),
        turn(1, READ, MAIL, at=1),
        result("1.1", at=2),
        begun("1.2", at=3),
        resumed(at=4),
        failure("1.2", "outcome_unknown", at=5),
        ended("blocked", "outcome_unknown"),
    ]
    assert fold(RUN_ID, numbered(events)) == RunState(
        run_id=RUN_ID,
        version=7,
        started=started(),
        owner="second",
        last_recorded_at=NOON,
        steps=(
            Step(
                turn(1, READ, MAIL, at=1),
                (result("1.1", at=2), failure("1.2", "outcome_unknown", at=5)),
                (begun("1.2", at=3),),
            ),
        ),
        in_doubt=(),
        resumed=(resumed(at=4),),
        terminal=ended("blocked", "outcome_unknown"),
    )


def test_what_happens_in_a_later_turn_leaves_the_earlier_ones_as_they_were() -> None:
    first = Step(turn(1, READ), (result("1.1"),))
    second = folded(turn(1, READ), result("1.1"), turn(2, MAIL, READ), begun("2.1"), result("2.2"))
    assert second.steps == (first, Step(turn(2, MAIL, READ), (result("2.2"),), (begun("2.1"),)))


def test_pending_calls_are_those_of_the_last_turn_without_a_result() -> None:
    state = folded(turn(1, READ), result("1.1"), turn(2, READ, MAIL, READ), result("2.2"))
    assert [call.call_key for call in state.pending] == ["2.1", "2.3"]


def test_a_run_is_ended_by_its_terminal_and_by_nothing_else() -> None:
    events = (started(), turn(1, READ), result("1.1"), resumed(), ended())
    assert [folded(*events[:count]).ended for count in range(1, 6)] == [False] * 4 + [True]


def test_a_run_without_turns_has_nothing_pending() -> None:
    assert folded().pending == ()


def test_totals_are_summed_over_the_turns() -> None:
    state = folded(
        turn(1, READ, MAIL, tokens=(10, 1), cost="0.10"),
        result("1.1"),
        failure("1.2"),
        turn(2, READ, tokens=(20, 2)),
        result("2.1"),
        turn(3, tokens=(30, 3), cost="0.20"),
    )
    assert state.totals == Totals(
        steps=3, tool_calls=2, tool_errors=1, tokens_in=60, tokens_out=6, cost_usd=Decimal("0.30")
    )


def test_a_run_whose_turns_have_no_price_has_no_cost() -> None:
    assert folded(turn(1, READ)).totals == Totals(steps=1)


def test_a_sum_of_costs_keeps_every_digit() -> None:
    """Totals are part of the record, so no ambient precision may round them."""
    state = folded(turn(1, cost="1E+20", finish="pause"), turn(2, cost="1E-20"))
    assert state.totals.cost_usd == Decimal("100000000000000000000.00000000000000000001")


def test_the_same_events_give_the_same_state_and_digest() -> None:
    events = (turn(1, READ), result("1.1"), ended())
    first, second = folded(*events), folded(*events)
    assert (first, state_json(first), state_digest(first)) == (
        second,
        state_json(second),
        state_digest(second),
    )


def test_another_event_gives_another_digest() -> None:
    outputs = ["1", "2", '"1"', "1.0"]
    digests = {state_digest(folded(turn(1, READ), result("1.1", output))) for output in outputs}
    assert len(digests) == len(outputs)


@pytest.mark.parametrize("at", [-3600, 0, 12.5])
def test_seconds_used_are_never_negative(at: float) -> None:
    assert folded(turn(1, READ, at=at)).wall_s == max(0, at)


@pytest.mark.parametrize(
    "event", [turn(1), begun("1.1"), result("1.1"), failure("1.1"), resumed(), ended()], ids=lambda e: e.kind
)
def test_a_run_begins_with_run_started(event: Event) -> None:
    with pytest.raises(CorruptRun) as caught:
        fold(RUN_ID, numbered([event]))
    assert (caught.value.version, caught.value.why) == (1, f"it begins with {event.kind}")


def test_a_second_run_started_is_corrupt() -> None:
    given(started(), started()).is_corrupt(2, "a second run_started")
    given(started(), turn(1, READ), started()).is_corrupt(3, "a second run_started")


@pytest.mark.parametrize(
    "event",
    [started(), turn(2), begun("1.1"), result("1.1"), failure("1.1"), resumed(), ended()],
    ids=lambda e: e.kind,
)
def test_any_event_after_the_terminal_is_corrupt(event: Event) -> None:
    given(started(), turn(1, READ), ended(), event).is_corrupt(4, f"{event.kind} after the terminal")


@pytest.mark.parametrize(
    "event", [begun("1.3"), result("1.3"), failure("1.3"), result(""), result("2.1")], ids=repr
)
def test_a_result_for_a_call_that_nobody_asked_for_is_corrupt(event: Event) -> None:
    key = getattr(event, "call_key", None)
    given(turn(1, READ, MAIL), event).is_corrupt(
        3, f"{event.kind} for call {key}, which is not waiting for one"
    )


@pytest.mark.parametrize("event", [begun("1.1"), result("1.1"), failure("1.1")], ids=lambda e: e.kind)
def test_a_result_before_any_turn_is_corrupt(event: Event) -> None:
    given(event).is_corrupt(2, f"{event.kind} for call 1.1, which is not waiting for one")


@pytest.mark.parametrize("first", [result("1.1"), failure("1.1")], ids=lambda e: e.kind)
@pytest.mark.parametrize("second", [begun("1.1"), result("1.1"), failure("1.1")], ids=lambda e: e.kind)
def test_a_second_result_is_corrupt(first: Event, second: Event) -> None:
    given(turn(1, READ), first, second).is_corrupt(
        4, f"{second.kind} for call 1.1, which is not waiting for one"
    )


def test_a_late_result_of_an_earlier_turn_is_corrupt() -> None:
    given(turn(1, READ), result("1.1"), turn(2, READ), result("1.1")).is_corrupt(
        5, "tool_call for call 1.1, which is not waiting for one"
    )


@pytest.mark.parametrize("step", [1, 3, 7])
def test_a_turn_with_the_wrong_step_is_corrupt(step: int) -> None:
    given(turn(1, READ), result("1.1"), turn(step)).is_corrupt(4, f"step {step} after step 1")


@pytest.mark.parametrize("keys", [["1.2", "1.1"], ["1.1", "1.1"], ["1.0"], ["2.1"], ["1.01"], [""]])
def test_calls_with_wrong_keys_are_corrupt(keys: list[str]) -> None:
    calls = tuple(
        call.model_copy(update={"call_key": key})
        for key, call in zip(keys, turn(1, *[READ] * len(keys)).calls, strict=True)
    )
    given(turn(1).model_copy(update={"calls": calls})).is_corrupt(2, "call keys out of order")


@pytest.mark.parametrize(
    "versions", [[2], [0], [1, 3], [1, 1], [1, 2, 4], [1, 2, 2], [2, 1], [1, 3, 2]], ids=str
)
def test_a_missing_doubled_or_misplaced_version_is_corrupt(versions: list[int]) -> None:
    events: list[Event] = [started(), turn(1, READ), result("1.1")]
    entries = [Recorded(RUN_ID, version, event) for version, event in zip(versions, events, strict=False)]
    with pytest.raises(CorruptRun) as caught:
        fold(RUN_ID, entries)
    place = next(index for index, version in enumerate(versions, 1) if version != index)
    assert (caught.value.version, caught.value.why) == (
        place,
        f"found version {versions[place - 1]} in its place",
    )


def test_the_rest_of_a_history_must_follow_its_state() -> None:
    state = folded(turn(1, READ))
    with pytest.raises(CorruptRun, match="found version 4 in its place"):
        fold(RUN_ID, numbered([result("1.1")], first=4), state)


def test_an_unreadable_row_is_corrupt_and_says_why() -> None:
    entries: list[Entry] = [
        *numbered([started()]),
        Unreadable(RUN_ID, 2, "model_turn", "not a model_turn: cut"),
    ]
    with pytest.raises(CorruptRun) as caught:
        fold(RUN_ID, entries)
    assert (caught.value.version, caught.value.why) == (2, "not a model_turn: cut")


def test_no_events_are_no_run() -> None:
    with pytest.raises(CorruptRun) as caught:
        fold(RUN_ID, [])
    assert (caught.value.version, caught.value.why) == (0, "it has no events")


def test_no_more_events_leave_the_state_as_it_is() -> None:
    state = folded(turn(1, READ))
    assert fold(RUN_ID, [], state) == state


def test_a_refused_event_leaves_the_state_as_it_was() -> None:
    state = folded(turn(1, READ))
    before = replace(state)
    with pytest.raises(CorruptRun):
        evolve(RUN_ID, state, result("9.9"))
    assert state == before
