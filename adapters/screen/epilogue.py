"""What is said of a run when it has ended."""

from typing import Final

from tachograph.adapters.loading import load
from tachograph.adapters.running import RunOutcome
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import asks_people
from tachograph.adapters.screen.commands import Settings, one_line
from tachograph.adapters.screen.failures import without_secrets
from tachograph.adapters.screen.output import LiveScreen, text
from tachograph.domain.ports import EventStore
from tachograph.domain.run import RunState

_DASHES: Final = "─"


def print_epilogue(
    screen: LiveScreen, settings: Settings, outcome: RunOutcome, store: EventStore, *, fresh: bool
) -> None:
    """Print what a run took, and where to look next. `fresh`: it was not answered before."""
    state = load(store, outcome.run_id)
    totals = state.totals
    if not fresh:
        reason = f", {outcome.reason}" if outcome.reason else ""
        screen.print(text(f"This request was answered before: {outcome.outcome}{reason}.", "bold"))
    spent = [
        counted(totals.steps, "turn"),
        counted(totals.tool_calls, "tool call"),
        counted(totals.tool_errors, "tool error"),
        f"{totals.tokens_in:,} tokens read, {totals.tokens_out:,} written",
    ]
    if totals.cost_usd is not None:
        spent.append(f"{totals.cost_usd} USD")
    where = one_line(without_secrets(settings.store, settings.store))
    screen.print(
        text(_DASHES * screen.width, "dim", characters_max=screen.width),
        text(" · ".join(spent)),
        text(f"{counted(state.version, 'event')} recorded in {where}", characters_max=500),
        "",
        text("Look closer:", "bold"),
        text(f"  tachograph why {outcome.run_id}"),
        text(f"  tachograph show {outcome.run_id}"),
        *(
            [text(f"  tachograph approvals show {outcome.run_id}")]
            if asks_people(store, outcome.run_id)
            else []
        ),
        text(f"  tachograph steps --trace {outcome.trace_id}"),
    )


def counted(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def outcome_json(outcome: RunOutcome, state: RunState) -> str:
    """Return how a run ended as a line of JSON."""
    return machine.line(
        {
            "run_id": outcome.run_id,
            "trace_id": outcome.trace_id,
            "agent": state.started.agent,
            "outcome": outcome.outcome,
            "reason": outcome.reason,
            "arguments": outcome.arguments,
            "steps": outcome.steps,
            "version": outcome.version,
            "totals": state.totals,
        }
    )
