"""
The queue of a store without PostgreSQL: the record itself, given out by a loop in the worker's process.

A run waits as long as its owner is the queue. Whoever takes it over first has it: the other's append
conflicts. Nothing is stored beside the record, so nothing can be lost beside it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.workers.crew import Crew
from tachograph.adapters.workers.leftovers import Leftovers
from tachograph.adapters.workers.queues import Pace
from tachograph.adapters.workers.stopping import Stop
from tachograph.adapters.workers.tickets import Ticket
from tachograph.domain.ports import Append, EventStore

LOOK_EVERY_S: Final = 0.5


class RecordQueue:
    """See the port."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def put(self, appends: Sequence[Append], ticket: Ticket) -> None:
        """Record events; the run's owner says that it waits."""
        await self._store.append_together(appends)

    async def serve(self, crew: Crew, pace: Pace, stop: Stop) -> None:
        """Give out what is due; see the port."""
        side = await asyncio.to_thread(open_read_side, self._store)
        try:
            await _Round(crew, Leftovers(self._store, side, crew.agents), pace, stop).go()
        finally:
            side.close()


class _Round:
    """One worker's turn at the queue, from its start to its stop."""

    def __init__(self, crew: Crew, leftovers: Leftovers, pace: Pace, stop: Stop) -> None:
        self._crew = crew
        self._leftovers = leftovers
        self._pace = pace
        self._stop = stop
        self._due: list[Ticket] = []
        self._looked = -LOOK_EVERY_S
        self._under_way: dict[asyncio.Task[None], Ticket] = {}
        self._later: dict[UUID, tuple[datetime, Ticket]] = {}

    async def go(self) -> None:
        over = asyncio.create_task(self._stop.grace_over(self._pace.grace_s))
        asked = asyncio.create_task(self._stop.asked.wait())
        try:
            while not asked.done():
                await self._look()
                while self._due and len(self._under_way) < self._pace.at_once:
                    self._begin(self._due.pop(0))
                if self._pace.until_empty and not self._under_way:
                    return
                await asyncio.wait(
                    [asked, *self._under_way], timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                )
                self._clear_away()
            while self._under_way and not over.done():
                await asyncio.wait([over, *self._under_way], return_when=asyncio.FIRST_COMPLETED)
                self._clear_away()
        finally:
            over.cancel()
            asked.cancel()
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _look(self) -> None:
        """See what is due, unless there is enough to do and the last look was a moment ago."""
        clock = self._crew.clock
        if not self._due or clock.monotonic() - self._looked > LOOK_EVERY_S:
            self._due = await asyncio.to_thread(self._found, clock.now())
            self._looked = clock.monotonic()

    def _found(self, now: datetime) -> list[Ticket]:
        waiting = self._leftovers.queued()
        busy = {ticket.id for ticket in self._under_way.values()}
        again = [ticket for at, ticket in self._later.values() if at <= now]
        found = [*waiting, *self._leftovers.abandoned(now), *again]
        due = {ticket.id: ticket for ticket in found if ticket.is_due(now)}
        resting = {id for id, (at, _) in self._later.items() if at > now}
        free = [ticket for id, ticket in due.items() if id not in busy and id not in resting]
        return sorted(free, key=lambda ticket: -ticket.priority)

    def _begin(self, ticket: Ticket) -> None:
        self._under_way[asyncio.create_task(self._work_on(ticket))] = ticket

    async def _work_on(self, ticket: Ticket) -> None:
        if ticket.what == "effect":
            again_at = await self._crew.carry_out(ticket.id)
        else:
            again_at = await self._crew.go_on(ticket.id, worker_gone=False)
        if again_at is None:
            self._later.pop(ticket.id, None)
        else:
            self._later[ticket.id] = (again_at, replace(ticket, not_before=None))

    def _clear_away(self) -> None:
        """Forget what has come to an end. Raises StoreError: One of them could not be recorded."""
        for task in [task for task in self._under_way if task.done()]:
            del self._under_way[task]
            task.result()
