"""Run, resume and cancel from the command line, and say what became of the run whatever happens."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import click
from pydantic import ValidationError

from tachograph.adapters import cancelling, running
from tachograph.adapters.explaining import explain_run
from tachograph.adapters.loading import load
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import load_scenario
from tachograph.adapters.running import RunOutcome
from tachograph.adapters.screen import approvals
from tachograph.adapters.screen.access import find_run, is_approval, opened
from tachograph.adapters.screen.agents import load_agent, load_model, model_of_trace, on_model
from tachograph.adapters.screen.commands import FINE, INTERRUPTED, NO, NOT_DONE, Settings, tell
from tachograph.adapters.screen.epilogue import counted, outcome_json, print_epilogue
from tachograph.adapters.screen.failures import explain
from tachograph.adapters.screen.open_runs import Resumption, WatchedStore, left
from tachograph.adapters.screen.output import LiveScreen, text
from tachograph.adapters.screen.story import Story
from tachograph.adapters.screen.streaming import Heard
from tachograph.adapters.screen.why_text import print_grounds
from tachograph.adapters.world import SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.context import PARTY_RULE, TrustedContext, check_request_id, check_trace_id
from tachograph.domain.errors import ModelError, RunClosed, StoreError
from tachograph.domain.events import Event
from tachograph.domain.ports import EventStore
from tachograph.domain.run import RunState

Work = Callable[[EventStore], Coroutine[Any, Any, RunOutcome]]


def demo(settings: Settings, name: str) -> int:
    """Run a scenario and tell its story. NO if it doesn't end as the scenario says."""
    scenario = load_scenario(name)
    screen = LiveScreen()

    async def work(watched: EventStore) -> RunOutcome:
        model = load_model(f"scripted:{name}")
        return await running.run(refund_agent, scenario.input, scenario.context, model=model, store=watched)

    with opened(settings.store, create=True) as store:
        if not settings.as_json:
            screen.print(text(scenario.title, "bold"), text(scenario.shows, "dim"), "")
        outcome = carried_out(settings, store, refund_agent, work, Resumption(None, None), screen)
        if isinstance(outcome, RunOutcome) and not settings.as_json:
            print_grounds(screen, explain_run(store, outcome.run_id))
    if isinstance(outcome, int):
        return outcome
    if (outcome.outcome, outcome.reason) == (scenario.expected_outcome, scenario.expected_reason):
        return FINE
    tell(f"The scenario should end as {scenario.expected_outcome}, {scenario.expected_reason}.")
    return NO


def run(
    settings: Settings,
    agent_name: str,
    model_name: str | None,
    said: str,
    context: TrustedContext,
    request_id: str | None,
    base_url: str | None = None,
    *,
    stream: bool = False,
) -> int:
    """Run an agent once and tell its story. NO if the run was blocked."""
    if not said.strip():
        raise click.UsageError("The input is empty: say with --input what the customer says.")
    if request_id is not None:
        check_request_id(request_id)
    heard = Heard() if stream else None
    agent, model = on_model(load_agent(agent_name), model_name, base_url, heard)

    async def work(watched: EventStore) -> RunOutcome:
        return await running.run(agent, said, context, model=model, store=watched, request_id=request_id)

    resumption = Resumption(agent_name, model_name)
    with opened(settings.store, create=True) as store:
        return verdict_of(carried_out(settings, store, agent, work, resumption, LiveScreen(), heard))


def resume(
    settings: Settings,
    run: str,
    agent_name: str | None,
    model_name: str | None,
    actor: str,
    base_url: str | None = None,
) -> int:
    """Take an open run over and tell how it goes on. NO if the run was blocked."""
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        if is_approval(store, run_id):
            return approvals.pick_up(settings, store, run_id, agent_name)
        state = load(store, run_id)
        if state.terminal is not None:
            raise RunClosed(run_id, state.terminal.outcome)
        named = model_name or model_of_trace(state.started.context.trace_id)
        agent, model = on_model(agent_of(state, agent_name), named, base_url)
        if agent.definition_digest != state.started.definition_digest:
            tell("Note: the agent's definition has changed since this run began.")

        async def work(watched: EventStore) -> RunOutcome:
            return await running.resume(agent, run_id, model=model, store=watched, actor=actor)

        resumption = Resumption(agent_name, model_name)
        return verdict_of(carried_out(settings, store, agent, work, resumption, LiveScreen()))


def cancel(settings: Settings, run: str, actor: str) -> int:
    """End an open run as blocked."""
    with opened(settings.store) as store:
        outcome = asyncio.run(cancelling.cancel(find_run(store, run), store=store, actor=actor))
        screen = LiveScreen()
        if settings.as_json:
            screen.lines([outcome_json(outcome, load(store, outcome.run_id))])
        else:
            recorded = counted(outcome.version, "event")
            screen.print(text(f"Run {outcome.run_id} is cancelled; its record has {recorded}."))
    return FINE


def context(
    trace: str | None, tenant: str, actor: str, customer: str | None, permissions: Sequence[str]
) -> TrustedContext:
    """
    Return what the caller vouches for; without a trace, a new one.

    Raises:
        click.UsageError: One of them can't be recorded.
    """
    trace_id = check_trace_id(trace) if trace is not None else str(SystemIds().run_id())
    try:
        return TrustedContext(
            trace_id=trace_id, tenant=tenant, actor=actor, customer=customer, permissions=tuple(permissions)
        )
    except ValidationError as exc:
        field = str(exc.errors(include_url=False, include_input=False)[0]["loc"][0]).removesuffix("s")
        raise click.UsageError(f"--{field} must be {PARTY_RULE}.") from exc


def agent_of(state: RunState, name: str | None) -> Agent:
    """Return the agent that the user names, or the bundled one for its own runs."""
    if name is not None:
        return load_agent(name)
    if state.started.agent == refund_agent.name:
        return refund_agent
    raise click.UsageError(
        f"Run {state.run_id} is of the agent {state.started.agent[:80]!r}: say with --agent MODULE:AGENT "
        "where it is defined."
    )


def verdict_of(outcome: RunOutcome | int) -> int:
    """Return the exit code: NO for a run that was blocked."""
    if isinstance(outcome, int):
        return outcome
    return NO if outcome.outcome == "blocked" else FINE


def carried_out(
    settings: Settings,
    store: EventStore,
    agent: Agent,
    work: Work,
    resumption: Resumption,
    screen: LiveScreen,
    heard: Heard | None = None,
) -> RunOutcome | int:
    """Do the work while its story is told; return the outcome, or the exit code if it has none."""
    story = Story(screen, agent.terminals_by_name)

    def recorded(event: Event) -> None:
        if heard is not None:
            heard.end()
        if not settings.as_json:
            story.tell(event)

    watched = WatchedStore(store, recorded)
    try:
        outcome = asyncio.run(work(watched))
    except KeyboardInterrupt:
        tell(f"Interrupted. {left(settings, store, watched.run_id, resumption)}")
        return INTERRUPTED
    except SystemExit:
        tell("Error: a tool asked the process to exit.", left(settings, store, watched.run_id, resumption))
        return NOT_DONE
    except (ModelError, StoreError) as exc:
        if not watched.recorded:
            raise
        failure = explain(exc, settings.store)
        tell(f"Error: {failure.message}", left(settings, store, watched.run_id, resumption))
        return NOT_DONE
    if settings.as_json:
        screen.lines([outcome_json(outcome, load(store, outcome.run_id))])
    else:
        print_epilogue(screen, settings, outcome, store, fresh=watched.recorded > 0)
    return outcome
