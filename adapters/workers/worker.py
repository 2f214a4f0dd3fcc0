"""A worker: a crew at a queue, with periodic runs beside it, until it is told to stop."""

import asyncio
from collections.abc import Sequence

from tachograph.adapters.workers.crew import Crew
from tachograph.adapters.workers.queues import Pace, open_queue
from tachograph.adapters.workers.schedules import Schedule, Timetable
from tachograph.adapters.workers.stopping import Stop
from tachograph.domain.agent import Agent


async def work(crew: Crew, pace: Pace, stop: Stop, schedules: Sequence[tuple[Schedule, Agent]] = ()) -> None:
    """
    Work until told to stop, or until nothing is due.

    Args:
        schedules: Periodic runs, each with its agent as it is to be recorded.
    Raises:
        ExtraMissing: The store is PostgreSQL, and procrastinate isn't installed.
        StoreError: The database can't be reached any more. What was under way goes on with another worker.
    """
    queue = await asyncio.to_thread(open_queue, crew.store)
    timetable = Timetable(schedules, crew.store, queue, crew.clock)
    await timetable.submit_due()
    serving = asyncio.create_task(queue.serve(crew, pace, stop))
    timing = asyncio.create_task(timetable.keep())
    try:
        await asyncio.wait([serving, timing], return_when=asyncio.FIRST_COMPLETED)
        if timing.done():
            timing.result()
        await serving
    finally:
        timing.cancel()
        serving.cancel()
        await asyncio.gather(serving, timing, return_exceptions=True)
