"""What `submit`, `requeue` and `worker` do."""

import asyncio
import getpass
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from tachograph.adapters.limiting import Gate, read_limits
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, opened
from tachograph.adapters.screen.agents import load_agent, model_of_trace, named_model, on_model
from tachograph.adapters.screen.commands import FINE, Settings, one_line, tell
from tachograph.adapters.screen.output import LiveScreen, text
from tachograph.adapters.screen.scheduled_reports import in_a_database, report_told
from tachograph.adapters.workers.crew import Crew, Worked
from tachograph.adapters.workers.queues import Pace
from tachograph.adapters.workers.report_rounds import Rounds
from tachograph.adapters.workers.report_schedules import read_reports
from tachograph.adapters.workers.schedules import read_schedules
from tachograph.adapters.workers.stopping import Stop, stopped_by_signals
from tachograph.adapters.workers.submitting import requeue as put_back
from tachograph.adapters.workers.submitting import submit as put_in
from tachograph.adapters.workers.worker import work
from tachograph.domain.agent import Agent
from tachograph.domain.context import TrustedContext, check_request_id
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import RunStarted
from tachograph.domain.ports import Model


def submit(
    settings: Settings,
    agent_name: str,
    model_name: str | None,
    said: str,
    context: TrustedContext,
    request_id: str | None,
    priority: int,
    at: str | None,
) -> int:
    """Put a run into the queue and print its id."""
    if not said.strip():
        raise click.UsageError("The input is empty: say with --input what the customer says.")
    if settings.store in ("memory:", "memory://"):
        raise click.UsageError("Nothing in memory: waits for a worker; name another store with --store.")
    if request_id is not None:
        check_request_id(request_id)
    not_before = _moment(at)
    agent = named_model(load_agent(agent_name), model_name)
    with opened(settings.store, create=True) as store:
        submitted = asyncio.run(
            put_in(
                agent,
                said,
                context,
                store=store,
                request_id=request_id,
                priority=priority,
                not_before=not_before,
                model_name=model_name,
            )
        )
    screen = LiveScreen()
    if settings.as_json:
        line = {"run_id": submitted.run_id, "trace_id": submitted.trace_id, "agent": agent.name}
        screen.lines([machine.line(line | {"already": submitted.already})])
    else:
        screen.lines([str(submitted.run_id)])
        if submitted.already:
            tell("This request was submitted before; it is that run.")
    return FINE


def requeue(settings: Settings, run: str, reason: str, actor: str | None) -> int:
    """Put an open run back into the queue."""
    if not reason.strip():
        raise click.UsageError("Say with --reason why; it is recorded.")
    with opened(settings.store) as store:
        state = asyncio.run(
            put_back(find_run(store, run), reason, store=store, actor=actor or getpass.getuser())
        )
    screen = LiveScreen()
    if settings.as_json:
        screen.lines([machine.line({"run_id": state.run_id, "version": state.version + 1})])
    else:
        screen.print(text(f"Run {state.run_id} is in the queue again."))
    return FINE


def worker(
    settings: Settings,
    agent_names: Sequence[str],
    at_once: int,
    tries_max: int,
    schedules: str | None,
    limits: str | None,
    grace_s: float,
    dead_after_s: float,
    until_empty: bool,
) -> int:
    """Work on runs of the queue until told to stop."""
    pace = Pace(at_once, grace_s, dead_after_s, until_empty)
    agents = _by_name([load_agent(name) for name in agent_names] or [refund_agent])
    read = read_schedules(Path(schedules), agents) if schedules is not None else ()
    reports = read_reports(Path(schedules)) if schedules is not None else ()
    if reports:
        in_a_database(settings.store)
    timed = [(schedule, named_model(agents[schedule.agent], schedule.model)) for schedule in read]
    gate = Gate(read_limits(Path(limits))) if limits is not None else None
    screen = LiveScreen()
    models: dict[tuple[str, str | None], tuple[Agent, Model]] = {}

    def model_of(agent: Agent, started: RunStarted) -> tuple[Agent, Model]:
        name = started.queued.model if started.queued is not None else None
        name = name or model_of_trace(started.context.trace_id)
        if (agent.name, name) not in models:
            models[agent.name, name] = on_model(agent, name)
        return models[agent.name, name]

    def told(worked: Worked) -> None:
        if settings.as_json:
            screen.lines([machine.line(asdict(worked))])
        else:
            screen.lines([one_line(_sentence(worked))])

    async def until_stopped() -> None:
        stop = Stop()
        with stopped_by_signals(stop):
            await work(crew, pace, stop, timed, rounds)

    with opened(settings.store, create=True) as store:
        crew = Crew(store, agents, told, model_of, tries_max, gate)
        rounds = Rounds(reports, store, report_told(settings, screen), crew.clock) if reports else None
        place = f"{socket.gethostname()}:{os.getpid()}"
        tell(f"Worker {place} runs {', '.join(agents)}, {pace.at_once} at once. Ctrl-C or SIGTERM stops it.")
        asyncio.run(until_stopped())
    tell(f"Worker {place} has stopped.")
    return FINE


def _by_name(agents: Sequence[Agent]) -> dict[str, Agent]:
    found: dict[str, Agent] = {}
    for agent in agents:
        if agent.name in found:
            raise InvalidAgent(f"two of the worker's agents are named {agent.name}")
        found[agent.name] = agent
    return found


def _sentence(worked: Worked) -> str:
    about = "" if worked.what == "run" else "effect of approval "
    result = "" if worked.result == "ended" else worked.result.replace("_", " ")
    parts = [part for part in (result, worked.outcome, worked.reason) if part]
    again = f"; again at {worked.again_at:%H:%M:%S} UTC" if worked.again_at else ""
    return f"{about}{worked.id} {': '.join(parts)}{again}"


def _moment(said: str | None) -> datetime | None:
    if said is None:
        return None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError as exc:
        raise click.UsageError("--at takes a time, such as 2026-12-01T12:00Z.") from exc
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
