"""What a worker does with a run that the queue gives out."""

from datetime import timedelta

import pytest

from tachograph.domain.events import Event, RunStarted
from tachograph.domain.origins import ASIDE, QUEUE, Queued
from tachograph.domain.queueing import (
    LOOK_AGAIN,
    PAUSE_MAX,
    Decision,
    Leave,
    LookAgain,
    SetAside,
    Take,
    decide,
    pause_after,
    tries,
)

from .story import MAIL, NOON, READ, begun, ended, failure, folded, numbered, result, resumed, started, turn

TRIED_TWICE = "tried 2 times, and it came no further"


def submitted() -> RunStarted:
    return started().model_copy(update={"owner": QUEUE, "queued": Queued()})


def decided(*events: Event, given_up: bool = False, tries_max: int = 2) -> Decision:
    history = (submitted(), *events)
    return decide(folded(*history), numbered(history), NOON, tries_max, given_up=given_up)


class TestDecision:
    def test_a_run_that_waits_is_taken(self) -> None:
        assert decided() == Take("taken from the queue", 1)

    def test_a_run_that_has_ended_is_left(self) -> None:
        assert decided(resumed(), ended()) == Leave()

    def test_a_run_that_somebody_has_is_looked_at_later(self) -> None:
        assert decided(resumed()) == LookAgain(NOON + LOOK_AGAIN)

    def test_a_run_that_was_given_up_is_taken_again(self) -> None:
        assert decided(resumed(), given_up=True) == Take("its process ended, or failed", 2)

    def test_a_run_that_waits_for_a_person_is_looked_at_later(self) -> None:
        history = (resumed(), turn(1, MAIL), begun("1.1"), resumed(), failure("1.1", "outcome_unknown"))
        assert decided(*history, given_up=True) == LookAgain(NOON + LOOK_AGAIN)

    def test_a_run_that_has_had_its_tries_is_set_aside(self) -> None:
        assert decided(resumed(), resumed(), given_up=True) == SetAside(TRIED_TWICE)

    def test_a_run_that_was_set_aside_is_left(self) -> None:
        assert decided(resumed(), resumed(ASIDE), given_up=True) == Leave()

    def test_a_run_that_was_put_back_has_all_its_tries_again(self) -> None:
        history = (resumed(), resumed(), resumed(ASIDE), resumed(QUEUE))
        assert decided(*history) == Take("taken from the queue", 1)


class TestTries:
    @pytest.mark.parametrize(
        ("events", "count"),
        [
            ((), 0),
            ((resumed(),), 1),
            ((resumed(), resumed()), 2),
            ((resumed(), turn(1, READ)), 1),
            ((resumed(), turn(1, READ), resumed(), resumed()), 3),
            ((resumed(), turn(1, READ), result("1.1"), resumed()), 2),
            (
                (resumed(), turn(1, MAIL), begun("1.1", "idempotent"), resumed(), begun("1.1", "idempotent")),
                2,
            ),
            ((resumed(), resumed(QUEUE)), 0),
        ],
    )
    def test_what_counts_is_who_took_it_and_came_no_further(
        self, events: tuple[Event, ...], count: int
    ) -> None:
        assert tries(numbered((submitted(), *events))) == count

    def test_pauses_grow_and_end(self) -> None:
        pauses = [pause_after(tried).total_seconds() for tried in (1, 2, 3, 4)]
        assert pauses == [5, 10, 20, 40]
        assert pause_after(10**6) == PAUSE_MAX


class TestWallTime:
    def test_what_a_run_waits_in_the_queue_is_not_counted(self) -> None:
        run = folded(submitted(), resumed(at=3600), turn(1, READ, at=3607))
        assert run.wall_s == 7

    def test_a_run_that_nobody_has_taken_has_used_no_time(self) -> None:
        assert folded(submitted(), resumed(QUEUE, at=60)).wall_s == 0

    def test_a_run_that_was_not_submitted_counts_from_its_start(self) -> None:
        run = folded(started(), resumed(at=3600))
        assert run.wall_s == timedelta(hours=1).total_seconds()
