"""An answer in one sentence."""

from typing import Final

from tachograph.domain.events import ToolCall, ToolError
from tachograph.domain.run import RunState, Step

_ENDED: Final = {
    "answered": "answered the customer",
    "needs_clarification": "asked the customer a question",
    "approval_requested": "asked a person for approval",
    "handed_off": "handed the conversation to a person",
    "blocked": "was blocked",
}


def of_run(run: RunState) -> str:
    """Say how a run ended, or that it hasn't."""
    turns = _count(len(run.steps), "turn")
    if run.terminal is None:
        return f"{run.started.agent} has not ended yet, after {turns}."
    ended = _ENDED[run.terminal.outcome]
    why = f" ({run.terminal.reason})" if run.terminal.reason else ""
    by = f" by calling {run.terminal.tool}" if run.terminal.tool and run.terminal.call_key else ""
    return f"{run.started.agent} {ended}{why}{by}, after {turns} and {_calls(run)}."


def of_call(run: RunState, step: Step, call_key: str, tool: str) -> str:
    """Say that a call was made, and what came of it."""
    result = next((result for result in step.results if result.call_key == call_key), None)
    if isinstance(result, ToolCall):
        became = "it succeeded"
    elif isinstance(result, ToolError):
        became = f"it failed ({result.code})"
    elif run.terminal is not None and run.terminal.call_key == call_key:
        became = "it ended the run"
    else:
        became = "it was not executed"
    return f"{run.started.agent} called {tool} in turn {step.turn.step}; {became}."


def of_absence(run: RunState, tool: str, times_asked: int, executed: bool) -> str:
    """Say whether a tool was executed, and what stood before it."""
    if executed:
        return f"{tool} was executed in this run."
    if times_asked:
        return f"{tool} was asked for {_times(times_asked)} and never executed."
    return f"{tool} was never asked for; {ending(run) or 'the run is still open'}."


def ending(run: RunState) -> str | None:
    """Say how a run ended; None while it is open."""
    if run.terminal is None:
        return None
    why = f": {run.terminal.reason}" if run.terminal.reason else ""
    return f"the run ended as {run.terminal.outcome}{why}"


def _calls(run: RunState) -> str:
    totals = run.totals
    failed = f", {totals.tool_errors} of them in vain" if totals.tool_errors else ""
    return f"{_count(totals.tool_calls + totals.tool_errors, 'tool call')}{failed}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
