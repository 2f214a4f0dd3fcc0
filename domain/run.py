"""The run: the state that its recorded events fold to, and nothing else."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Context
from functools import reduce
from typing import Final, assert_never
from uuid import UUID

from pydantic import TypeAdapter

from tachograph.domain.approvals.events import ApprovalEvent
from tachograph.domain.budget import Totals
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import (
    CallRequest,
    Entry,
    Event,
    ModelTurn,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
    Unreadable,
)
from tachograph.domain.origins import ASIDE, QUEUE


@dataclass(frozen=True, slots=True)
class Step:
    """One model turn, the results of its calls, and the calls that were started."""

    turn: ModelTurn
    results: tuple[ToolCall | ToolError, ...] = ()
    started: tuple[ToolStarted, ...] = ()


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its events tell it. `in_doubt`: keys of calls started before a takeover."""

    run_id: UUID
    version: int
    started: RunStarted
    owner: str
    last_recorded_at: datetime
    steps: tuple[Step, ...] = ()
    in_doubt: tuple[str, ...] = ()
    resumed: tuple[RunResumed, ...] = ()
    terminal: Terminal | None = None

    @property
    def ended(self) -> bool:
        """Whether the run has its terminal event."""
        return self.terminal is not None

    @property
    def is_rehearsal(self) -> bool:
        """Whether it is a fork that may not change the world."""
        return self.started.fork is not None and not self.started.fork.live

    @property
    def pending(self) -> tuple[CallRequest, ...]:
        """The last turn's calls that have no result, in the order asked for."""
        if not self.steps:
            return ()
        done = {result.call_key for result in self.steps[-1].results}
        return tuple(call for call in self.steps[-1].turn.calls if call.call_key not in done)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the last turn's calls whose outcome a person has to find out."""
        results = self.steps[-1].results if self.steps else ()
        return tuple(result.call_key for result in results if is_unknown(result))

    @property
    def waits_for_settlement(self) -> tuple[str, ...]:
        """Keys of the calls that `reconcile` may settle: of unknown outcome, or under way and unfinished."""
        begun = {start.call_key for start in self.steps[-1].started} if self.steps else set()
        return (*self.unknown, *(call.call_key for call in self.pending if call.call_key in begun))

    @property
    def totals(self) -> Totals:
        """What the run has used up so far."""
        costs = [step.turn.cost_usd for step in self.steps if step.turn.cost_usd is not None]
        results = [result for step in self.steps for result in step.results]
        return Totals(
            steps=len(self.steps),
            tool_calls=sum(isinstance(result, ToolCall) for result in results),
            tool_errors=sum(isinstance(result, ToolError) for result in results),
            tokens_in=sum(step.turn.usage.tokens_in for step in self.steps),
            tokens_out=sum(step.turn.usage.tokens_out for step in self.steps),
            cost_usd=reduce(_EXACT.add, costs) if costs else None,
        )

    @property
    def wall_s(self) -> float:
        """Seconds from the first event, or from the first worker's, to the last one; never negative."""
        began = self.started.recorded_at
        if self.started.queued is not None:
            taken = (event.recorded_at for event in self.resumed if event.owner not in (QUEUE, ASIDE))
            began = next(taken, self.last_recorded_at)
        return max(0.0, (self.last_recorded_at - began).total_seconds())


def is_unknown(result: ToolCall | ToolError) -> bool:
    """Tell whether nobody knows what a call did."""
    return isinstance(result, ToolError) and result.code == "outcome_unknown"


def fold(run_id: UUID, recorded: Iterable[Entry], state: RunState | None = None) -> RunState:
    """
    Rebuild a run's state from its events, in order.

    Args:
        state: What the events before these folded to; None for a run's first event.
    Raises:
        CorruptRun: A version is missing, doubled or unreadable, or the events contradict each other.
    """
    for entry in recorded:
        expected = state.version + 1 if state else 1
        if entry.version != expected:
            raise CorruptRun(run_id, expected, f"found version {entry.version} in its place")
        if isinstance(entry, Unreadable):
            raise CorruptRun(run_id, expected, entry.why)
        state = evolve(run_id, state, entry.event)
    if state is None:
        raise CorruptRun(run_id, 0, "it has no events")
    return state


def evolve(run_id: UUID, state: RunState | None, event: Event) -> RunState:
    """Return the state after one more event. Raises CorruptRun when the event can't follow."""
    if state is None:
        if not isinstance(event, RunStarted):
            raise CorruptRun(run_id, 1, f"it begins with {event.kind}")
        return RunState(run_id, 1, event, event.owner, event.recorded_at)
    if state.terminal is not None:
        raise CorruptRun(run_id, state.version + 1, f"{event.kind} after the terminal")
    match event:
        case ModelTurn():
            return _after_turn(state, event)
        case ToolStarted():
            return _after_start(state, event)
        case ToolCall() | ToolError():
            return _after_result(state, event)
        case RunResumed():
            return _after_resume(state, event)
        case Terminal():
            return replace(
                state,
                version=state.version + 1,
                last_recorded_at=event.recorded_at,
                terminal=event,
            )
        case RunStarted():
            raise CorruptRun(run_id, state.version + 1, "a second run_started")
        case ApprovalEvent() | AgentDefined():
            raise CorruptRun(run_id, state.version + 1, f"{event.kind} in the record of a run")
        case _:
            assert_never(event)


def state_json(state: RunState) -> str:
    """Return the state as JSON text: one form, the same for the same events everywhere."""
    return _STATE.dump_json(state, exclude_none=True).decode()


def state_digest(state: RunState) -> str:
    """Return the SHA-256 of `state_json`, in hexadecimal."""
    return hashlib.sha256(state_json(state).encode()).hexdigest()


_STATE: Final = TypeAdapter(RunState)

# Totals are recorded, so the digits kept are not those of whatever context the process has.
_EXACT: Final = Context(prec=100)


def _after_turn(state: RunState, turn: ModelTurn) -> RunState:
    if turn.step != len(state.steps) + 1:
        raise CorruptRun(state.run_id, state.version + 1, f"step {turn.step} after step {len(state.steps)}")
    for index, call in enumerate(turn.calls, start=1):
        if call.call_key != f"{turn.step}.{index}":
            raise CorruptRun(state.run_id, state.version + 1, "call keys out of order")
    return _moved(state, turn, (*state.steps, Step(turn)), state.in_doubt)


def _after_start(state: RunState, event: ToolStarted) -> RunState:
    step = _step_of(state, event)
    step = Step(step.turn, step.results, (*step.started, event))
    return _moved(state, event, (*state.steps[:-1], step), _without(state.in_doubt, event.call_key))


def _after_result(state: RunState, event: ToolCall | ToolError) -> RunState:
    if event.settled is not None and event.call_key in state.unknown:
        step = state.steps[-1]
        results = tuple(event if known.call_key == event.call_key else known for known in step.results)
    else:
        step = _step_of(state, event)
        results = (*step.results, event)
    step = Step(step.turn, results, step.started)
    return _moved(state, event, (*state.steps[:-1], step), _without(state.in_doubt, event.call_key))


def _after_resume(state: RunState, event: RunResumed) -> RunState:
    in_doubt: tuple[str, ...] = ()
    if state.steps:
        begun = {start.call_key for start in state.steps[-1].started}
        in_doubt = tuple(call.call_key for call in state.pending if call.call_key in begun)
    moved = _moved(state, event, state.steps, in_doubt)
    return replace(moved, owner=event.owner, resumed=(*state.resumed, event))


def _moved(state: RunState, event: Event, steps: tuple[Step, ...], in_doubt: tuple[str, ...]) -> RunState:
    # Spelt out, since `replace` takes three times as long and this is done for every event.
    return RunState(
        state.run_id,
        state.version + 1,
        state.started,
        state.owner,
        event.recorded_at,
        steps,
        in_doubt,
        state.resumed,
    )


def _without(keys: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(other for other in keys if other != key) if keys else keys


def _step_of(state: RunState, event: ToolStarted | ToolCall | ToolError) -> Step:
    if state.steps:
        step = state.steps[-1]
        asked = any(call.call_key == event.call_key for call in step.turn.calls)
        if asked and all(result.call_key != event.call_key for result in step.results):
            return step
    raise CorruptRun(
        state.run_id,
        state.version + 1,
        f"{event.kind} for call {event.call_key}, which is not waiting for one",
    )
