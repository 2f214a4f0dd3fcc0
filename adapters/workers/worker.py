"""A worker: a crew at a queue, with periodic runs beside it, until it is told to stop."""

import asyncio
from collections.abc import Sequence

from tachograph.adapters.workers.crew import Crew
from tachograph.adapters.workers.queues import Pace, open_queue
from tachograph.adapters.workers.schedules import Schedule, keep_time
from tachograph.adapters.workers.stopping import Stop


async def work(crew: Crew, pace: Pace, stop: Stop, schedules: Sequence[Schedule] = ()) -> None:
    """
    Work until told to stop, or until nothing is due.

    Raises:
        ExtraMissing: The store is PostgreSQL, and procrastinate isn't installed.
        StoreError: The database can't be reached any more. What was under way goes on with another worker.
    """
    queue = await asyncio.to_thread(open_queue, crew.store)
    serving = asyncio.create_task(queue.serve(crew, pace, stop))
    timing = asyncio.create_task(keep_time(schedules, crew.agents, crew.store, queue, crew.clock))
    try:
        await asyncio.wait([serving, timing], return_when=asyncio.FIRST_COMPLETED)
        if timing.done():
            timing.result()
        await serving
    finally:
        timing.cancel()
        serving.cancel()
        await asyncio.gather(serving, timing, return_exceptions=True)
