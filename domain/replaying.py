"""
Drive the loop again with what was recorded, and compare every event that it would record with the one
that stands there.

The answers of the model, of the tools, the clock and the ids come from the record, decisions from today's
code: `next_action` is the one of a live run. No model and no tool is called; there is none to call.

    record       the events don't fold, or an event is not what it itself rests on
    request      the model would be asked something else: instructions, tools, form of the messages
    validation   a call would be refused, or no longer, or be executed with other arguments
    outcome      the run would go on, end, or end otherwise
    definition   nothing of that, but the run would begin with another budget, version or definition

Each event is compared as its stored bytes, with what the world answered taken from the record. A copied
event of a fork, a takeover, a settlement and a cancellation come from outside of the loop: they are taken
as they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from tachograph.domain.agent import Agent
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.codec import encode
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import (
    Entry,
    ErrorCode,
    Event,
    ModelTurn,
    Recorded,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
    Unreadable,
)
from tachograph.domain.messages import NO_HISTORY, History
from tachograph.domain.next_action import Action, AskModel, ExecuteCalls, Finish, next_action
from tachograph.domain.recording import (
    context_of,
    refusal_of,
    run_start,
    start_of,
    success_of,
    terminal_of,
)
from tachograph.domain.run import RunState, evolve

Kind = Literal["record", "request", "validation", "outcome", "definition"]

_OF_HANDLERS: Final[frozenset[ErrorCode]] = frozenset(
    {"tool_execution_failed", "timed_out", "interrupted", "unserializable_output", "output_too_large"}
)


@dataclass(frozen=True, slots=True)
class Drift:
    """
    Where today's code would record something else.

    Args:
        version: Of the first event that differs.
        expected: What would be recorded, as stored JSON text; a sentence where that is no event.
        actual: What stands there.
        why: In a sentence.
    """

    kind: Kind
    version: int
    expected: str
    actual: str
    why: str


def replay(agent: Agent, entries: Sequence[Entry], history: History = NO_HISTORY) -> tuple[Drift, ...]:
    """
    Return where a run would differ today: the first divergence of each kind, in the order of the record.

    Args:
        entries: All events of a run, from its first.
        history: The runs that it continues, as a live run would get them.
    """
    found: dict[Kind, Drift] = {}
    for drift in _drifts(agent, entries, history):
        found.setdefault(drift.kind, drift)
    drifts = sorted(found.values(), key=lambda drift: drift.version)
    told = [drift for drift in drifts if drift.kind != "definition"]
    return tuple(told or drifts)


def _drifts(agent: Agent, entries: Sequence[Entry], history: History) -> Iterator[Drift]:
    state: RunState | None = None
    today: RunStarted | None = None  # The beginning, with today's budget.
    waiting: list[ReadyCall | RefusedCall] = []
    for entry in entries:
        if isinstance(entry, Unreadable):
            yield Drift("record", entry.version, "an event", entry.kind, entry.why)
            return
        event = entry.event
        try:
            after = evolve(entry.run_id, state, event)
        except CorruptRun as exc:
            yield Drift("record", entry.version, "an event that can follow", event.kind, exc.why)
            return
        if state is not None and today is not None and not _from_outside(entry, state):
            if not waiting:
                begun_today = state if today is state.started else replace(state, started=today)
                action = next_action(agent, begun_today, history)
                waiting = list(action.calls) if isinstance(action, ExecuteCalls) else []
            drift = _compared(agent, waiting[0] if waiting else action, state, entry)
            if drift is not None:
                yield drift
                if drift.kind == "outcome":
                    return
            if waiting and isinstance(event, ToolCall | ToolError):
                waiting.pop(0)
        elif isinstance(event, RunStarted) and state is None:
            same = event.budget == agent.budget
            today = event if same else event.model_copy(update={"budget": agent.budget})
            drift = _of_start(agent, entry, event)
            if drift is not None:
                yield drift
        else:
            waiting = []
        state = after


def _from_outside(entry: Recorded, state: RunState) -> bool:
    event, fork = entry.event, state.started.fork
    copied = fork is not None and entry.version <= fork.version
    cancelled = isinstance(event, Terminal) and event.actor is not None
    settled = isinstance(event, ToolCall | ToolError) and event.settled is not None
    return copied or cancelled or settled or isinstance(event, RunResumed)


def _of_start(agent: Agent, entry: Recorded, event: RunStarted) -> Drift | None:
    today = run_start(
        agent,
        event.context,
        event.input,
        event.recorded_at,
        event.owner,
        request_id=event.request_id,
        continues=event.continues,
        forked_from=event.forked_from,
        fork=event.fork,
        source=event.source,
        altered=event.altered,
        queued=event.queued,
    )
    changed = [name for name in type(event).model_fields if getattr(event, name) != getattr(today, name)]
    return _difference("definition", entry, today, f"another {', '.join(changed)}")


def _compared(
    agent: Agent, decided: Action | ReadyCall | RefusedCall, state: RunState, entry: Recorded
) -> Drift | None:
    """Compare an event with what today's code decides after those before it."""
    event = entry.event
    match decided:
        case AskModel(request):
            if not isinstance(event, ModelTurn):
                return _other("outcome", entry, "the model is asked for another turn")
            asked = {"step": request.step, "model_asked": request.model, "request_digest": request.digest}
            if all(getattr(event, name) == value for name, value in asked.items()):
                return None  # The rest of a turn is the model's answer, which is taken from the record.
            expected = event.model_copy(update=asked)
            return _difference("request", entry, expected, _why_request(agent, state, request.model, event))
        case Finish() as finish:
            if isinstance(event, ToolError):
                return _other("validation", entry, f"the run ends: {finish.outcome}")
            if not isinstance(event, Terminal):
                reason = f" ({finish.reason})" if finish.reason else ""
                return _other("outcome", entry, f"the run ends: {finish.outcome}{reason}")
            terminal = terminal_of(finish, state, event.recorded_at)
            same_end = (terminal.outcome, terminal.reason, terminal.arguments) == (
                event.outcome,
                event.reason,
                event.arguments,
            )
            kind: Kind = "validation" if same_end else "outcome"
            return _difference(kind, entry, terminal, "the run ends otherwise")
        case RefusedCall() as refused:
            if isinstance(event, ToolError) and event.code not in _OF_HANDLERS:
                expected_error = refusal_of(refused, event.recorded_at)
                return _difference("validation", entry, expected_error, "the call is refused otherwise")
            return _other("validation", entry, f"call {refused.request.call_key} is refused: {refused.code}")
        case ReadyCall() as call:
            return _of_call(call, state, entry)
        case _:
            return _other("outcome", entry, "the run waits for a person to settle a call")


def _of_call(call: ReadyCall, state: RunState, entry: Recorded) -> Drift | None:
    event, key = entry.event, call.request.call_key
    begun = any(start.call_key == key for start in state.steps[-1].started) and key not in state.in_doubt
    if isinstance(event, ToolStarted):
        start = start_of(call, context_of(call, state), event.recorded_at)
        if start is None:
            return _other("validation", entry, f"call {key} only reads, so nothing is recorded before it")
        return _difference("validation", entry, start, "the call is started otherwise")
    if call.tool.effect != "read" and not begun:
        return _other("validation", entry, f"the start of call {key} is recorded first")
    if isinstance(event, ToolCall):
        recorded = (event.call_key, event.name, event.arguments, event.declared or {})
        if recorded == (key, call.request.name, call.canonical, call.declared):
            return None  # The output is the tool's answer, and what the handler took is the record's.
        done = success_of(call, event.output, event.recorded_at, event.duration_ms)
        return _difference("validation", entry, done, "the call is executed with other arguments")
    if isinstance(event, ToolError) and event.code in _OF_HANDLERS and event.call_key == key:
        return None
    if isinstance(event, Terminal):
        return _other("outcome", entry, f"call {key} is executed")
    return _other("validation", entry, f"call {key} is executed")


def _why_request(agent: Agent, state: RunState, model: str, event: ModelTurn) -> str:
    started = state.started
    if event.model_asked != model:
        return "another model is asked"
    if started.catalogue_digest != agent.catalogue_digest:
        return "the tools that are offered differ"
    if started.definition_digest != agent.definition_digest:
        return "the instructions, or a setting of the agent, differ"
    return "the messages differ in their form, or in what the record says"


def _difference(kind: Kind, entry: Recorded, expected: Event, why: str) -> Drift | None:
    one, other = encode(expected), encode(entry.event)
    if expected.kind == entry.kind and one == other:
        return None
    return Drift(kind, entry.version, one.decode(), other.decode(), why)


def _other(kind: Kind, entry: Recorded, expected: str) -> Drift:
    return Drift(kind, entry.version, expected, encode(entry.event).decode(), f"today {expected}")
