"""What each worker on PostgreSQL does for all: it puts back what dead workers left, and what nobody has."""

import asyncio
from contextlib import suppress
from typing import Final

import psycopg
from eventsourcing.domain import EventSourcingError
from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job

from tachograph.adapters.stores.postgres_server import Datastore
from tachograph.adapters.workers.jobs import TASKS, defer_anew, replace_job
from tachograph.adapters.workers.leftovers import Leftovers
from tachograph.domain.errors import StoreError
from tachograph.domain.ports import Clock

LOOK_THROUGH_EVERY_S: Final = 60


class Keeper:
    """
    Keeps the queue.

    Args:
        dead_after_s: Seconds without a heartbeat after which a worker counts as dead.
    """

    def __init__(
        self, app: App, datastore: Datastore, leftovers: Leftovers, clock: Clock, dead_after_s: float
    ) -> None:
        self._app = app
        self._datastore = datastore
        self._leftovers = leftovers
        self._clock = clock
        self._dead_after_s = dead_after_s
        self.worker_id: int | None = None  # Of this worker, once it is known by a job.

    async def once(self) -> None:
        """Put back all that can be put back now."""
        await self._put_back_of_the_dead()
        await self._put_in_leftovers()

    async def keep(self, every_s: float) -> None:
        """Go on for ever: heartbeats, jobs of dead workers, and now and then all that is open."""
        looked = self._clock.monotonic()
        while True:
            await asyncio.sleep(every_s)
            if self.worker_id is not None:  # procrastinate's own heartbeats end when the worker is to stop.
                await self._app.job_manager.update_heartbeat(self.worker_id)
            await self._put_back_of_the_dead()
            if self._clock.monotonic() - looked > LOOK_THROUGH_EVERY_S:
                await self._put_in_leftovers()
                looked = self._clock.monotonic()

    async def _put_back_of_the_dead(self) -> None:
        jobs = await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=self._dead_after_s)
        for job in jobs:
            if job.task_name in TASKS.values():
                await asyncio.to_thread(self._replace, job)

    def _replace(self, job: Job) -> None:
        with (
            suppress(psycopg.Error, EventSourcingError, ConnectorException, AlreadyEnqueued),
            self._datastore.get_connection() as connection,
            connection.transaction(),
        ):
            replace_job(connection, job)

    async def _put_in_leftovers(self) -> None:
        try:
            found = await asyncio.to_thread(self._leftovers.abandoned, self._clock.now())
        except (
            StoreError
        ):  # A view that is held or rebuilt; a database that is gone is noticed by heartbeats.
            return
        if not found:
            return
        busy = {job.lock for job in await self._app.job_manager.list_jobs_async(status="doing")}
        for ticket in found:
            if str(ticket.id) not in busy:
                with suppress(AlreadyEnqueued):
                    await defer_anew(self._app, ticket)
