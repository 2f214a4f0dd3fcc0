"""Periodic runs: what is submitted when, from a file that each worker reads."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import Field

from tachograph.adapters.workers.cron import due_before
from tachograph.adapters.workers.queues import Queue
from tachograph.adapters.workers.schedule_file import InvalidSchedule, Periodic, read_tables
from tachograph.adapters.workers.submitting import submit
from tachograph.adapters.world import SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.context import Party, TrustedContext
from tachograph.domain.ports import Clock, EventStore

LATE_MAX: Final = timedelta(minutes=10)
_LOOK_EVERY_S: Final = 0.5
_UTC: Final = ZoneInfo("UTC")


class Schedule(Periodic):
    """
    A run that is submitted again and again.

    Args:
        cron: Five fields, in UTC.
        agent: Name of an agent that the worker runs.
        model: Answers in place of the agent's own.
    """

    agent: str
    input: str = Field(min_length=1)
    tenant: Party = "default"
    actor: Party = "schedule"
    customer: Party | None = None
    permissions: tuple[Party, ...] = ()
    priority: int = 0
    model: str | None = None

    def due_before(self, now: datetime) -> datetime:
        """Return the last time at or before `now` that it was due."""
        return due_before(self.cron, _UTC, now)


def read_schedules(path: Path, agents: Mapping[str, Agent]) -> tuple[Schedule, ...]:
    """
    Read the `[[schedule]]` tables of a file.

    Raises:
        InvalidSchedule: It can't be read, or one of them is wrong, doubled, or of an agent that isn't there.
        ExtraMissing: croniter isn't installed.
    """
    found = read_tables(path, "schedule", Schedule)
    for schedule in found:
        if schedule.agent not in agents:
            raise InvalidSchedule(f"{path}: no agent of this worker is named {schedule.agent[:80]!r}")
    return found


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
