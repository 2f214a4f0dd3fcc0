"""Periodic runs: what is submitted when, from a TOML file that each worker reads."""

import asyncio
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tachograph.adapters.workers.queues import Queue
from tachograph.adapters.workers.submitting import submit
from tachograph.adapters.world import SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.context import Party, TrustedContext
from tachograph.domain.errors import ExtraMissing, TachographError
from tachograph.domain.ports import Clock, EventStore

LATE_MAX: Final = timedelta(minutes=10)
_LOOK_EVERY_S: Final = 0.5


class InvalidSchedule(TachographError, ValueError):
    """A file of schedules is wrong."""


class Schedule(BaseModel):
    """
    A run that is submitted again and again.

    Args:
        name: Under which it is submitted once each time, however many workers there are.
        cron: Five fields, in UTC.
        agent: Name of an agent that the worker runs.
        model: Answers in place of the agent's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Party = Field(max_length=100)
    cron: str
    agent: str
    input: str = Field(min_length=1)
    tenant: Party = "default"
    actor: Party = "schedule"
    customer: Party | None = None
    permissions: tuple[Party, ...] = ()
    priority: int = 0
    model: str | None = None

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, cron: str) -> str:
        if len(cron.split()) != 5 or not _croniter().is_valid(cron):
            raise ValueError("not the five fields of cron")
        return cron

    def due_before(self, now: datetime) -> datetime:
        """Return the last time at or before `now` that it was due."""
        moment: datetime = _croniter()(self.cron, now + timedelta(seconds=1)).get_prev(datetime)
        return moment


def read_schedules(path: Path, agents: Mapping[str, Agent]) -> tuple[Schedule, ...]:
    """
    Read the `[[schedule]]` tables of a file.

    Raises:
        InvalidSchedule: It can't be read, or one of them is wrong, doubled, or of an agent that isn't there.
        ExtraMissing: croniter isn't installed.
    """
    try:
        tables: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise InvalidSchedule(f"{path} can't be used: {exc}") from exc
    if set(tables) != {"schedule"} or not isinstance(tables["schedule"], list):
        raise InvalidSchedule(f"{path} must hold [[schedule]] tables and nothing else")
    found: dict[str, Schedule] = {}
    for table in tables["schedule"]:
        try:
            schedule = Schedule.model_validate(table)
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "it"
            raise InvalidSchedule(f"{path}: {place}: {first['msg']}") from exc
        if schedule.name in found:
            raise InvalidSchedule(f"{path}: two schedules are named {schedule.name}")
        if schedule.agent not in agents:
            raise InvalidSchedule(f"{path}: no agent of this worker is named {schedule.agent[:80]!r}")
        found[schedule.name] = schedule
    return tuple(found.values())


@dataclass(frozen=True)
class Timetable:
    """
    Submits what is due.

    A time that was missed is made up for if it is less than LATE_MAX ago; of several, the last one.

    Args:
        entries: Each schedule with its agent, as it is to be recorded.
    """

    entries: Sequence[tuple[Schedule, Agent]]
    store: EventStore
    queue: Queue
    clock: Clock
    _submitted: dict[str, datetime] = field(default_factory=dict)

    async def submit_due(self) -> None:
        """Submit what is due now and wasn't yet. Raises StoreError: The store failed."""
        now = self.clock.now()
        for schedule, agent in self.entries:
            due = schedule.due_before(now)
            if now - due < LATE_MAX and self._submitted.get(schedule.name) != due:
                await self._submit(schedule, agent, due)
                self._submitted[schedule.name] = due

    async def keep(self) -> None:
        """Do so for ever."""
        while True:
            await self.submit_due()
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _submit(self, schedule: Schedule, agent: Agent, due: datetime) -> None:
        """Submit a run for one time. The first worker does; for the others it is there already."""
        context = TrustedContext(
            trace_id=str(SystemIds().run_id()),
            tenant=schedule.tenant,
            actor=schedule.actor,
            customer=schedule.customer,
            permissions=schedule.permissions,
        )
        await submit(
            agent,
            schedule.input,
            context,
            store=self.store,
            queue=self.queue,
            request_id=f"schedule:{schedule.name}:{due:%Y-%m-%dT%H:%MZ}",
            priority=schedule.priority,
            model_name=schedule.model,
            clock=self.clock,
        )


def _croniter() -> Any:
    try:
        from croniter import croniter  # type: ignore[import-untyped]  # it has no types
    except ImportError as exc:
        raise ExtraMissing("workers") from exc
    return croniter
