"""What the runtime does next: one pure function of the recorded run. The rules of the loop."""

from dataclasses import dataclass
from typing import Final

from tachograph.domain.agent import Agent
from tachograph.domain.arguments import ArgumentsRefused, canonical_arguments, parse_arguments
from tachograph.domain.budget import call_limit_reached, turn_limit_reached
from tachograph.domain.calls import ReadyCall, RefusedCall, check_call
from tachograph.domain.events import CallRequest, ErrorCode, Outcome
from tachograph.domain.messages import NO_HISTORY, History, ModelRequest, request
from tachograph.domain.provenance import Provenance
from tachograph.domain.run import RunState, Step
from tachograph.domain.why.annotations import stated_sources
from tachograph.domain.why.declared import declared_of
from tachograph.domain.why.gate import refusal
from tachograph.domain.why.judging import JUDGED_BY, judge

IN_DOUBT: Final = (
    "The process that ran this call died before it could record the result. It may have taken "
    "effect; it is not run again."
)
_TRUNCATED: Final = "The answer was cut off by its length limit, so this call was not executed."
_REJECTED: Final = "The provider marked this call as faulty, so it was not executed."


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model for the next turn."""

    request: ModelRequest


@dataclass(frozen=True, slots=True)
class ExecuteCalls:
    """Execute or refuse these calls, in this order, recording each."""

    calls: tuple[ReadyCall | RefusedCall, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """
    End the run.

    Args:
        arguments: Canonical JSON text of the terminal call, if one ends it.
        provenance: The verdicts on them, where the agent has the gate or the tool declares a source.
    """

    outcome: Outcome
    reason: str | None = None
    call: CallRequest | None = None
    arguments: str | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing: a person has to find out what these calls did, by their keys."""

    calls: tuple[str, ...]


Action = AskModel | ExecuteCalls | Finish | Wait


def next_action(agent: Agent, run: RunState, history: History = NO_HISTORY) -> Action:
    """
    Choose the next step of an open run from its recorded history alone.

    Args:
        history: The runs that this one continues.
    """
    assert run.terminal is None, "an ended run has no next action"
    if run.steps:
        decided = _after_step(agent, run, run.steps[-1], history)
        if decided is not None:
            return decided
    limit = turn_limit_reached(run.started.budget, len(run.steps), lambda: run.totals, run.wall_s)
    if limit is not None:
        return Finish("blocked", limit)
    return AskModel(request(agent, run, history))


def _after_step(agent: Agent, run: RunState, step: Step, history: History) -> Action | None:
    """Classify the last turn whole, before any of its calls runs. None: the model goes on."""
    turn = step.turn
    if run.unknown:
        return Wait(run.unknown)
    if turn.finish_reason == "content_filter":
        return Finish("blocked", "content_filtered")
    if turn.finish_reason == "refusal" or (turn.refusal and not turn.calls):
        return Finish("blocked", "refused")
    if not turn.calls:
        goes_on = turn.finish_reason == "pause" or turn.error is not None
        return None if goes_on else Finish("blocked", "terminal_tool_missing")
    pending = run.pending
    if not pending:
        return None
    if turn.finish_reason == "length":
        return _refuse_all(pending, "truncated_turn", _TRUNCATED)
    if turn.finish_reason == "rejected":
        return _refuse_all(pending, "rejected_turn", _REJECTED)
    terminals = [call for call in turn.calls if call.name in agent.terminals_by_name]
    if terminals and len(turn.calls) > 1:
        return Finish("blocked", "ambiguous_terminal_calls")
    if terminals:
        return _terminal(agent, run, history, terminals[0])
    return _work(agent, run, pending)


def _refuse_all(pending: tuple[CallRequest, ...], code: ErrorCode, message: str) -> ExecuteCalls:
    return ExecuteCalls(tuple(RefusedCall(call, code, message) for call in pending))


def _terminal(agent: Agent, run: RunState, history: History, call: CallRequest) -> Finish | ExecuteCalls:
    terminal = agent.terminals_by_name[call.name]
    try:
        arguments = parse_arguments(call.arguments, terminal.arguments)
        canonical = canonical_arguments(arguments)
    except ArgumentsRefused as refused:
        return ExecuteCalls((RefusedCall(call, refused.code, str(refused)),))
    if not (agent.evidence_gate or stated_sources(terminal.arguments)):
        return Finish(terminal.outcome, None, call, canonical)
    declared = declared_of(arguments, canonical)
    judged = judge((*history.runs, run), canonical, declared)
    refused_for = refusal(judged) if agent.evidence_gate else None
    if refused_for is not None:
        return ExecuteCalls((RefusedCall(call, "unsupported_argument", refused_for),))
    verdicts: dict[str, str] = {argument.pointer: argument.verdict for argument in judged}
    provenance = Provenance(version=JUDGED_BY, declared=declared, verdicts=verdicts)
    return Finish(terminal.outcome, None, call, canonical, provenance)


def _work(agent: Agent, run: RunState, pending: tuple[CallRequest, ...]) -> Action:
    calls: list[ReadyCall | RefusedCall] = []
    waiting = {call.call_key for call in pending}
    before = [call for step in run.steps for call in step.turn.calls if call.call_key not in waiting]
    for call in pending:
        limit = call_limit_reached(
            run.started.budget,
            calls=len(before),
            of_this_tool=sum(other.name == call.name for other in before),
            identical_in_a_row=_identical_in_a_row(before, call),
        )
        if limit is not None:
            return ExecuteCalls(tuple(calls)) if calls else Finish("blocked", limit)
        checked = _check(agent, run, call)
        calls.append(checked)
        if isinstance(checked, RefusedCall) and checked.code == "outcome_unknown":
            break  # A person settles it before anything after it is executed.
        before.append(call)
    return ExecuteCalls(tuple(calls))


def _check(agent: Agent, run: RunState, call: CallRequest) -> ReadyCall | RefusedCall:
    trusted = run.started.context
    checked = check_call(agent, trusted, call, rehearsal=run.is_rehearsal)
    if call.call_key in run.in_doubt:
        effects = {start.effect for start in run.steps[-1].started if start.call_key == call.call_key}
        today = checked.tool.effect if isinstance(checked, ReadyCall) else "once"
        if "once" in effects or today == "once":
            return RefusedCall(call, "outcome_unknown", IN_DOUBT)
    return checked


def _identical_in_a_row(before: list[CallRequest], call: CallRequest) -> int:
    count = 0
    for other in reversed(before):
        if (other.name, other.arguments) != (call.name, call.arguments):
            break
        count += 1
    return count
