"""
A fork: a new run that shares the recorded beginning of another one, for what would have happened if.

The beginning is copied, not asked for again, so the fork stands by itself. Unless it is live, it reaches no
tool that changes anything, and asks nobody for an approval.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from tachograph.domain.agent import Agent
from tachograph.domain.errors import CallNotFound, StepNotFound
from tachograph.domain.events import Event, ModelTurn, Recorded, RunStarted, Terminal, ToolCall, ToolError
from tachograph.domain.origins import Fork
from tachograph.domain.ports import Clock, Ids
from tachograph.domain.recording import run_start

TRACE: Final = "fork-{run_id}"


def fork_of(
    agent: Agent,
    original: Sequence[Recorded],
    step: int,
    edits: Mapping[str, str],
    *,
    live: bool,
    run_id: UUID,
    clock: Clock,
    ids: Ids,
) -> list[Event]:
    """
    Return the events that a fork begins with: its own start, then those of the original up to a step.

    It has a trace of its own: nothing of it is evidence for the original's runs, or counts among them.

    Args:
        original: All events of the run.
        step: The last one that is shared; 0: the input alone.
        edits: Outputs that take the place of the recorded ones, as JSON text, by call key.
    Raises:
        StepNotFound: The run has no such step.
        CallNotFound: An edited call has no result in what is shared.
    """
    started = original[0].event
    assert isinstance(started, RunStarted), "a run begins with its start"
    shared = _shared(original, step)
    results = {entry.event.call_key for entry in shared if isinstance(entry.event, ToolCall | ToolError)}
    for key in edits.keys() - results:
        raise CallNotFound(original[0].run_id, key, sorted(results))
    trusted = started.context.model_copy(update={"trace_id": TRACE.format(run_id=run_id)})
    start = run_start(
        agent,
        trusted,
        started.input,
        clock.now(),
        ids.owner(),
        continues=started.continues,
        forked_from=original[0].run_id,
        fork=Fork(version=shared[-1].version if shared else 1, edited=tuple(sorted(edits)), live=live),
        altered=started.altered,
    )
    return [start, *(_edited(entry.event, edits) for entry in shared)]


def _shared(original: Sequence[Recorded], step: int) -> list[Recorded]:
    shared: list[Recorded] = []
    reached = 0
    for entry in original[1:]:
        if isinstance(entry.event, ModelTurn):
            if entry.event.step > step:
                break
            reached = entry.event.step
        if isinstance(entry.event, Terminal):
            break
        shared.append(entry)
    if reached < step:
        raise StepNotFound(original[0].run_id, step, reached)
    while shared and step == 0:
        shared.pop()
    return shared


def _edited(event: Event, edits: Mapping[str, str]) -> Event:
    if not isinstance(event, ToolCall | ToolError) or event.call_key not in edits:
        return event
    output = edits[event.call_key]
    json.loads(output)
    if isinstance(event, ToolCall):
        return event.model_copy(update={"output": output})
    return ToolCall(
        recorded_at=event.recorded_at,
        call_key=event.call_key,
        name=event.name,
        arguments="{}",
        output=output,
        duration_ms=event.duration_ms,
    )
