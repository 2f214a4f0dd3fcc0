"""
The queue of a PostgreSQL store: procrastinate's jobs, in the store's own database.

A job holds the id of a run and nothing else. It is put in with the events that begin the run, in one
transaction. What is to be done is read from the record, so a job that is given out twice does no harm.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.adapters.workers.crew import Crew
from tachograph.adapters.workers.leftovers import Leftovers
from tachograph.adapters.workers.queues import Pace
from tachograph.adapters.workers.stopping import Stop
from tachograph.adapters.workers.tickets import Ticket
from tachograph.domain.errors import ExtraMissing, StoreError
from tachograph.domain.ports import Append

try:
    from procrastinate import App, JobContext
    from procrastinate.exceptions import AlreadyEnqueued, ProcrastinateException

    from tachograph.adapters.workers import jobs
    from tachograph.adapters.workers.keeping import Keeper
except ImportError as exc:
    raise ExtraMissing("workers") from exc

POLL_S: Final = 1.0
_SIGNS_OF_LIFE: Final = 6  # Before a worker counts as dead.


class PostgresQueue:
    """
    See the port.

    Args:
        url: Of the store.
    Raises:
        StoreError: Its tables can't be created.
    """

    def __init__(self, store: RecordedEventStore) -> None:
        self._store = store
        jobs.create_tables(store.datastore)

    async def put(self, appends: Sequence[Append], ticket: Ticket) -> None:
        """Record events and put a job in, in one transaction; see the port."""
        beside = partial(jobs.defer, ticket=ticket)
        try:
            await asyncio.to_thread(self._store.append_beside, appends, beside)
        except AlreadyEnqueued as exc:
            raise StoreError(f"{ticket.what} {ticket.id} is in the queue already") from exc
        except ProcrastinateException as exc:
            raise StoreError(f"the queue could not take it: {exc.__cause__ or exc}") from exc

    async def serve(self, crew: Crew, pace: Pace, stop: Stop) -> None:
        """Run a worker of procrastinate; see the port."""
        side = await asyncio.to_thread(open_read_side, self._store)
        try:
            app = jobs.new_app(self._store.datastore)
            async with app.open_async():
                leftovers = Leftovers(self._store, side, crew.agents)
                await _Shift(app, self._store, leftovers, crew, pace, stop).go()
        except ProcrastinateException as exc:
            raise StoreError(f"the queue failed: {exc.__cause__ or exc}") from exc
        finally:
            side.close()


class _Shift:
    """One worker, from its start to its stop."""

    def __init__(
        self,
        app: App,
        store: RecordedEventStore,
        leftovers: Leftovers,
        crew: Crew,
        pace: Pace,
        stop: Stop,
    ) -> None:
        self._app = app
        self._crew = crew
        self._pace = pace
        self._stop = stop
        self._pooled = bool(store.datastore.options)
        self._keeper = Keeper(app, store.datastore, leftovers, crew.clock, pace.dead_after_s)
        self._under_way: set[asyncio.Task[Any]] = set()
        app.task(name=jobs.TASKS["run"], retry=jobs.KEEP_UNTIL_DONE, pass_context=True)(self._run)
        app.task(name=jobs.TASKS["effect"], retry=jobs.KEEP_UNTIL_DONE, pass_context=True)(self._effect)

    async def go(self) -> None:
        every_s = self._pace.dead_after_s / _SIGNS_OF_LIFE
        await self._keeper.once()
        worker = asyncio.create_task(
            self._app.run_worker_async(
                queues=[jobs.queue_name(name) for name in self._crew.agents],
                concurrency=self._pace.at_once,
                wait=not self._pace.until_empty,
                fetch_job_polling_interval=POLL_S,
                listen_notify=not self._pooled,  # Behind a transaction pooler nobody can listen.
                update_heartbeat_interval=every_s,
                stalled_worker_timeout=self._pace.dead_after_s,
                delete_jobs="successful",
                install_signal_handlers=False,
            )
        )
        keeping = asyncio.create_task(self._keeper.keep(every_s))
        asked = asyncio.create_task(self._stop.asked.wait())
        try:
            await asyncio.wait([worker, keeping, asked], return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                await self._end(worker, at_once=False)
            elif keeping.done():
                keeping.result()
            else:
                worker.result()
                if not self._pace.until_empty:
                    raise StoreError("the queue's database went away")
        finally:
            asked.cancel()
            await self._end(worker, at_once=True)
            keeping.cancel()

    async def _end(self, worker: "asyncio.Task[None]", *, at_once: bool) -> None:
        """Let the worker take nothing more, and hand over what hasn't ended when its grace is over."""
        if worker.done():
            return
        worker.cancel()
        if not at_once:
            over = asyncio.create_task(self._stop.grace_over(self._pace.grace_s))
            await asyncio.wait([worker, over], return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
        for task in self._under_way:
            task.cancel()
        with suppress(asyncio.CancelledError, ProcrastinateException):
            await worker

    @contextmanager
    def _counted(self, context: JobContext) -> Iterator[None]:
        self._keeper.worker_id = context.job.worker_id
        task = asyncio.current_task()
        assert task is not None, "procrastinate gives each job a task"
        task.add_done_callback(_take_note)
        self._under_way.add(task)
        try:
            yield
        finally:
            self._under_way.discard(task)

    async def _run(self, context: JobContext, id: str) -> None:
        with self._counted(context):
            self._put_back(await self._crew.go_on(UUID(id), worker_gone=True))

    async def _effect(self, context: JobContext, id: str) -> None:
        with self._counted(context):
            self._put_back(await self._crew.carry_out(UUID(id)))

    @staticmethod
    def _put_back(again_at: datetime | None) -> None:
        if again_at is not None:
            raise jobs.PutBack(again_at)


def _take_note(job: "asyncio.Task[Any]") -> None:
    """
    Let asyncio not print that a job's end could not be stored.

    That is so when the database is gone, which ends the worker, and when the job is another worker's by now.
    """
    if not job.cancelled():
        job.exception()
