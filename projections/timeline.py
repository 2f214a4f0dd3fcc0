"""
The audit timeline: every recorded row of every run, in order, in a sentence each.

The summaries say what happened and how much, never what was said: no field that can hold personal data
is copied here, so an erasure doesn't have to follow. What can't be read is shown as such.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.events import (
    ModelTurn,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.projections.plain import plain
from tachograph.projections.projection import Changes, Column, Placed, Projection, Table, Value

TABLE: Final = Table(
    name="timeline",
    columns=(
        Column("position", "INTEGER", required=True),
        Column("run_id", "TEXT", required=True),
        Column("version", "INTEGER", required=True),
        Column("trace_id", "TEXT"),
        Column("tenant", "TEXT"),
        Column("recorded_at", "TEXT"),
        Column("kind", "TEXT", required=True),
        Column("step", "INTEGER"),
        Column("call_key", "TEXT"),
        Column("name", "TEXT"),
        Column("summary", "TEXT", required=True),
        Column("code", "TEXT"),
        Column("outcome", "TEXT"),
    ),
    primary_key=("run_id", "version"),
)

_NAMES_SHOWN_MAX: Final = 5
_STEP_DIGITS_MAX: Final = 9

_Cells = dict[str, Value]


def changes(batch: Sequence[Placed]) -> Changes:
    """Add a row for each entry."""
    return {"timeline": map(_row, batch)}


def _row(placed: Placed) -> _Cells:
    row: _Cells = {
        "position": placed.position,
        "run_id": placed.run_id,
        "version": placed.version,
        "trace_id": placed.trace_id,
        "tenant": placed.tenant,
        "recorded_at": placed.recorded_at,
        "kind": placed.kind,
        "step": None,
        "call_key": None,
        "name": None,
        "summary": "",
        "code": None,
        "outcome": None,
    }
    if placed.event is None:
        row.update(kind=plain(placed.kind), summary=plain(f"unreadable: {placed.why}"))
    else:
        row.update(_DESCRIPTIONS[placed.kind](placed.event))
    return row


def _started(event: RunStarted) -> _Cells:
    after = f", continues {event.continues}" if event.continues else ""
    after += f", forked from {event.forked_from}" if event.forked_from else ""
    after += f", imported from {event.source.format}" if event.source else ""
    messages = _count(len(event.input), "message")
    summary = f"version {event.agent_version}, {messages}, at most {event.budget.max_steps} turns{after}"
    return {"name": plain(event.agent), "summary": plain(summary)}


def _turn(event: ModelTurn) -> _Cells:
    if event.calls:
        names = ", ".join(call.name for call in event.calls[:_NAMES_SHOWN_MAX])
        more = len(event.calls) - _NAMES_SHOWN_MAX
        said = f"asks for {names} and {more} more" if more > 0 else f"asks for {names}"
    elif event.text:
        said = f"writes {_count(len(event.text), 'character')}"
    else:
        said = "says nothing"
    if event.finish_reason not in ("stop", "tool_calls"):
        said = f"{said} ({event.finish_reason})"
    model = event.model_answered or event.model_asked
    return {"step": event.step, "name": plain(model), "summary": plain(said)}


def _tool_started(event: ToolStarted) -> _Cells:
    return _of_call(event, f"is about to run ({event.effect})")


def _tool_call(event: ToolCall) -> _Cells:
    return _of_call(event, f"returns {_count(len(event.output), 'character')}")


def _tool_error(event: ToolError) -> _Cells:
    return _of_call(event, f"fails: {event.code}", event.code)


def _resumed(event: RunResumed) -> _Cells:
    return {"summary": plain(f"taken over by {event.owner}: {event.reason}")}


def _terminal(event: Terminal) -> _Cells:
    why = f": {event.reason}" if event.reason else ""
    return {
        "step": _step_of(event.call_key) if event.call_key else None,
        "call_key": event.call_key,
        "name": plain(event.tool) if event.tool else None,
        "summary": plain(f"ends as {event.outcome}{why}"),
        "code": event.reason,
        "outcome": event.outcome,
    }


def _asked(event: ApprovalRequested) -> _Cells:
    people = _count(event.needed, "person") if event.needed == 1 else f"{event.needed} people"
    summary = f"asks {people} for what run {event.run_id} wants"
    return {"call_key": event.call_key, "name": plain(event.tool), "summary": summary}


def _decided(event: ApprovalGranted | ApprovalDenied) -> _Cells:
    return {"summary": event.kind.removeprefix("approval_")}


def _refused(event: ApprovalRefused) -> _Cells:
    return {"summary": f"an answer is refused: {event.code}", "code": event.code}


def _effect_started(event: ApprovalStarted) -> _Cells:
    return {"name": plain(event.tool), "summary": f"its effect is about to run ({event.effect})"}


def _effect_executed(event: ApprovalExecuted) -> _Cells:
    failed = f"its effect fails: {event.code}" if event.code else "its effect is done"
    return {"summary": plain(failed), "code": event.code}


_DESCRIPTIONS: Final[Mapping[str, Callable[[Any], _Cells]]] = {
    RunStarted.kind: _started,
    ModelTurn.kind: _turn,
    ToolStarted.kind: _tool_started,
    ToolCall.kind: _tool_call,
    ToolError.kind: _tool_error,
    RunResumed.kind: _resumed,
    Terminal.kind: _terminal,
    AgentDefined.kind: lambda event: {"name": plain(event.agent), "summary": "an agent is defined"},
    ApprovalRequested.kind: _asked,
    ApprovalGranted.kind: _decided,
    ApprovalDenied.kind: _decided,
    ApprovalExpired.kind: lambda _: {"summary": "expired: nobody decided in time"},
    ApprovalEscalated.kind: lambda _: {"summary": "escalated: nobody decided for long"},
    ApprovalRefused.kind: _refused,
    ApprovalStarted.kind: _effect_started,
    ApprovalExecuted.kind: _effect_executed,
}


def _of_call(event: ToolStarted | ToolCall | ToolError, summary: str, code: str | None = None) -> _Cells:
    return {
        "step": _step_of(event.call_key),
        "call_key": event.call_key,
        "name": plain(event.name),
        "summary": summary,
        "code": code,
    }


def _step_of(call_key: str) -> int | None:
    """Return 3 for "3.1", and None for what is no call key of ours."""
    step, _, _ = call_key.partition(".")
    return int(step) if step.isascii() and step.isdecimal() and len(step) <= _STEP_DIGITS_MAX else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


TIMELINE: Final = Projection(
    name="timeline", version=1, tables=(TABLE,), changes=changes, shows_unreadable=True
)
