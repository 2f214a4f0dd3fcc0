"""The appointment desk of a practice: finds free times, books one, and says so, or hands over to a person."""

from typing import Annotated, Literal

from pydantic import BaseModel

from tachograph import Agent, Budget, Evidence, From, TerminalTool, ToolContext, tool

DIARY = {
    "S-0601": {"slot_id": "S-0601", "day": "2026-06-01", "time": "09:30", "with": "Dr. Osei", "free": True},
    "S-0602": {"slot_id": "S-0602", "day": "2026-06-01", "time": "14:00", "with": "Dr. Osei", "free": False},
    "S-0603": {"slot_id": "S-0603", "day": "2026-06-02", "time": "09:30", "with": "Dr. Lind", "free": True},
}


class Day(BaseModel):
    """The day that the patient asks for."""

    day: str


class Booking(BaseModel):
    """Which free time is booked."""

    slot_id: str


class Confirmation(BaseModel):
    """What the patient is told; `slot_id` and `time` are what was booked, or the call is refused."""

    slot_id: Annotated[str, From("slot_book", "/slot_id")]
    time: Annotated[str, From("slot_book", "/time")]
    text: str


class Question(BaseModel):
    """What the patient has to say first."""

    text: str


class HandOver(BaseModel):
    """What the person at the desk takes over."""

    patient: Annotated[str, Evidence()]
    urgency: Literal["today", "this week", "whenever"]
    text: str


@tool(effect="read")  # A crash may run it again.
def slots_find(wanted: Day) -> dict[str, object]:
    """Find the free times of a day, given as YYYY-MM-DD."""
    return {"day": wanted.day, "slots": [slot for slot in DIARY.values() if slot["day"] == wanted.day]}


@tool(effect="once", timeout_s=20)  # Recorded before it runs; after a crash in it, a person has to look.
def slot_book(booking: Booking, call: ToolContext) -> dict[str, object]:
    """Book a free time for the patient of this conversation."""
    slot = DIARY.get(booking.slot_id)
    if slot is None or not slot["free"]:
        raise ValueError(f"{booking.slot_id} is not free")
    return {**slot, "patient": call.trusted.customer, "booked_under": call.idempotency_key}


agent = Agent(
    name="appointments",
    version="1",
    instructions=(
        "You are the appointment desk of a practice. Find free times before you name any, book one only "
        "if the patient chose it, and hand over what is urgent or no matter of appointments."
    ),
    tools=(slots_find, slot_book),
    terminals=(
        TerminalTool("confirm_booking", "Confirm what was booked; ends the run.", Confirmation, "answered"),
        TerminalTool("ask_patient", "Ask the patient; ends the run.", Question, "needs_clarification"),
        TerminalTool("hand_over", "Hand over to a person; ends the run.", HandOver, "handed_off"),
    ),
    budget=Budget(max_steps=8, max_tool_calls=6, max_calls_per_tool=3),
    evidence_gate=True,
)
