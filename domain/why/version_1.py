"""The first version of the rules: put together from verdicts, chain and limits."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from tachograph.domain.events import ToolCall, ToolError
from tachograph.domain.run import RunState, Step, state_digest
from tachograph.domain.why import sentences
from tachograph.domain.why.argument import Argument
from tachograph.domain.why.chain import chain_of
from tachograph.domain.why.explanation import (
    Absence,
    AsRecorded,
    Attempt,
    Call,
    Explanation,
    Integrity,
    Limit,
    Node,
    Searched,
    WhyNot,
)
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.domain.why.limits import LIMITS_MAX, budget_limits, recorded_limits
from tachograph.domain.why.verdicts import Question, verdicts
from tachograph.domain.why.writing import with_digest

VERSION: Final = 1
ATTEMPTS_MAX: Final = 200
_MESSAGE_MAX: Final = 1_000


def explain(trace: IndexedTrace, run_id: UUID, call_key: str | None = None) -> Explanation:
    """Explain a call of a run, or how the run ended. See `explaining.explain`."""
    run = trace.runs[run_id]
    terminal = run.terminal
    whole_run = call_key is None
    key = (terminal.call_key if terminal else None) if whole_run else call_key
    step = trace.step_of(run_id, key)[0] if key else run.steps[-1] if run.steps else None
    before = trace.evidence.turns[run_id, step.turn.step] if step else 0
    if key:
        tool: str | None = trace.step_of(run_id, key)[1].name
        arguments = trace.judge(run_id, key)
    else:
        tool = terminal.tool if terminal else None
        # An ending without a call, as imported records have it, may have arguments all the same.
        ending = terminal.arguments if terminal and terminal.arguments else ""
        arguments = verdicts(Question(trace.evidence, before), ending)
    sentence = sentences.of_run(run)
    if step and call_key is not None:
        sentence = sentences.of_call(run, step, call_key, tool or "")
    decision = Node(
        id=f"{run_id}/{key or 'end'}",
        kind="decision",
        title=tool or (terminal.outcome if terminal else "open"),
        run_id=run_id,
        version=_version_of(trace, run, key),
        call_key=key,
        arguments=arguments,
    )
    return with_digest(
        Explanation(
            run_id=run_id,
            outcome=terminal.outcome if terminal else None,
            version=VERSION,
            digest="",
            reason=terminal.reason if terminal else None,
            sentence=sentence,
            trace_id=run.started.context.trace_id,
            tenant=run.started.context.tenant,
            actor=run.started.context.actor,
            agent=run.started.agent,
            agent_version=run.started.agent_version,
            model=(step.turn.model_answered or step.turn.model_asked) if step else None,
            call_key=key,
            tool=tool,
            said=step.turn.text if step and key else None,
            arguments=arguments,
            calls=tuple(_other_calls(trace, run, key)) if whole_run else (),
            chain=chain_of(trace.evidence, decision, trace.judge),
            why_not=WhyNot(
                attempts=tuple(_attempts(trace, decision.version, run_id))[-ATTEMPTS_MAX:],
                limits=_limits(trace, run, step, arguments, before),
            ),
            approval=None,
            integrity=Integrity(run_digest=state_digest(run)),
            recorded=_as_recorded(run, arguments) if whole_run else None,
            searched=_searched(trace, run, step, before),
        )
    )


def explain_absence(trace: IndexedTrace, run_id: UUID, tool: str) -> Absence:
    """Say what stood before a tool that a run didn't execute. See `explaining.explain_absence`."""
    run = trace.runs[run_id]
    asked = [call for step in run.steps for call in step.turn.calls if call.name == tool]
    done = {result.call_key for step in run.steps for result in step.results if isinstance(result, ToolCall)}
    ended_by = run.terminal.call_key if run.terminal else None
    executed = any(call.call_key in done or call.call_key == ended_by for call in asked)
    attempts = tuple(attempt for attempt in _attempts(trace, None, run_id) if attempt.run_id == run_id)
    attempts = tuple(attempt for attempt in attempts if attempt.tool == tool) or attempts
    last = run.steps[-1] if run.steps else None
    return with_digest(
        Absence(
            run_id=run_id,
            tool=tool,
            version=VERSION,
            digest="",
            executed=executed,
            sentence=sentences.of_absence(run, tool, len(asked), executed),
            times_asked=len(asked),
            attempts=attempts[-ATTEMPTS_MAX:],
            limits=_limits(trace, run, last, (), 0),
            ended=sentences.ending(run),
        )
    )


def _version_of(trace: IndexedTrace, run: RunState, call_key: str | None) -> int:
    """Return the version of the event that holds the decision: the result, the terminal, or the turn."""
    if call_key is None or (run.terminal and run.terminal.call_key == call_key):
        return run.version
    versions = [
        entry.version
        for entry in trace.recorded
        if entry.run_id == run.run_id
        and isinstance(entry.event, ToolCall | ToolError)
        and entry.event.call_key == call_key
    ]
    return versions[0] if versions else run.version


def _other_calls(trace: IndexedTrace, run: RunState, decided: str | None) -> Iterator[Call]:
    for step in run.steps:
        results = {result.call_key: result for result in step.results}
        effects = {started.call_key: started.effect for started in step.started}
        for call in step.turn.calls:
            if call.call_key != decided:
                result = results.get(call.call_key)
                yield Call(
                    call_key=call.call_key,
                    tool=call.name,
                    state="done" if isinstance(result, ToolCall) else "failed" if result else "not_executed",
                    effect=effects.get(call.call_key),
                    arguments=trace.judge(run.run_id, call.call_key),
                )


def _attempts(trace: IndexedTrace, version: int | None, run_id: UUID) -> Iterator[Attempt]:
    """Yield the calls that were denied or failed before an event of a run; all of the trace for None."""
    for entry in trace.recorded:
        if entry.run_id == run_id and version is not None and entry.version >= version:
            return
        if isinstance(entry.event, ToolError):
            error = entry.event
            yield Attempt(
                entry.run_id,
                entry.version,
                error.call_key,
                error.name,
                error.code,
                error.message[:_MESSAGE_MAX],
            )


def _limits(
    trace: IndexedTrace, run: RunState, step: Step | None, arguments: Sequence[Argument], before: int
) -> tuple[Limit, ...]:
    done = run.steps if step is None else run.steps[: step.turn.step]
    calls = [
        call.name
        for other in done
        for call in other.turn.calls
        if any(result.call_key == call.call_key for result in other.results)
    ]
    at = replace(run, steps=done, last_recorded_at=step.turn.recorded_at) if step else run
    # An imported run has a budget only because every run has one; nobody set it.
    imported = run.started.source is not None
    of_budget = () if imported else budget_limits(run.started.budget, at.totals, at.wall_s, calls)
    return (*of_budget, *list(recorded_limits(trace.evidence, arguments, before))[:LIMITS_MAX])


def _searched(trace: IndexedTrace, run: RunState, step: Step | None, before: int) -> Searched:
    """Count the evidence before the call alone: what comes later must not change an answer."""
    runs = {run.run_id}
    events = 0
    for entry in trace.recorded:
        if step and entry.event is step.turn:
            break
        runs.add(entry.run_id)
        events += 1
    index = trace.evidence.index
    return Searched(len(runs), events, index.characters_before(before), index.left_out_before(before))


def _as_recorded(run: RunState, arguments: Sequence[Argument]) -> AsRecorded | None:
    provenance = run.terminal.provenance if run.terminal else None
    if provenance is None:
        return None
    today = {argument.pointer: argument.verdict for argument in arguments}
    return AsRecorded(provenance.version, provenance.verdicts, today == provenance.verdicts)
