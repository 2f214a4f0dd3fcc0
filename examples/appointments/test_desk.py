"""The appointment desk on a scripted model: no network, no key."""

import json
from typing import Any

from desk import agent

from tachograph import RunOutcome, ScriptedModel, TrustedContext, run_sync
from tachograph.domain.ports import AskedCall, ModelReply


def calls(name: str, **arguments: Any) -> ModelReply:
    """Let the model call one tool."""
    return ModelReply(calls=(AskedCall(name, json.dumps(arguments)),))


def played(said: str, *replies: ModelReply) -> RunOutcome:
    """Let the patient say something, and the model answer with these replies in turn."""
    context = TrustedContext(trace_id="test", tenant="practice", actor="desk", customer="Ana Ruiz")
    return run_sync(agent, said, context, model=ScriptedModel(replies), store="memory:")


FIND = calls("slots_find", day="2026-06-01")
BOOK = calls("slot_book", slot_id="S-0601")


def test_it_books_what_the_patient_chose() -> None:
    outcome = played(
        "Is 9:30 free on June 1, 2026? Then book it.",
        FIND,
        BOOK,
        calls("confirm_booking", slot_id="S-0601", time="09:30", text="Booked."),
    )
    assert outcome.outcome == "answered"


def test_a_time_that_was_not_booked_is_never_confirmed() -> None:
    outcome = played(
        "Is 9:30 free on June 1, 2026? Then book it.",
        FIND,
        calls("confirm_booking", slot_id="S-0601", time="09:30", text="Booked."),  # It didn't book: refused.
        BOOK,
        calls("confirm_booking", slot_id="S-0601", time="10:30", text="Booked."),  # Another time: refused.
        calls("confirm_booking", slot_id="S-0601", time="09:30", text="Booked."),
    )
    assert (outcome.outcome, outcome.steps) == ("answered", 5)


def test_a_time_that_is_taken_is_an_error_that_the_model_sees() -> None:
    outcome = played(
        "Book 2 pm on June 1, 2026.",
        FIND,
        calls("slot_book", slot_id="S-0602"),
        calls("ask_patient", text="That is taken; would 9:30 do?"),
    )
    assert outcome.outcome == "needs_clarification"


def test_a_name_that_nobody_said_is_not_handed_over() -> None:
    outcome = played(
        "I am Ana Ruiz, my tooth broke!",
        calls("hand_over", patient="Anna Ruis", urgency="today", text="A broken tooth."),
        calls("hand_over", patient="Ana Ruiz", urgency="today", text="A broken tooth."),
    )
    assert (outcome.outcome, outcome.steps) == ("handed_off", 2)


def test_a_model_that_goes_round_in_circles_is_stopped() -> None:
    outcome = played("When is somebody free?", *[FIND] * 8)
    assert (outcome.outcome, outcome.reason) == ("blocked", "calls_per_tool_exceeded")
