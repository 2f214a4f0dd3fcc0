"""A worker: a crew at a queue, with periodic runs and reports beside it, until it is told to stop."""

import asyncio
from collections.abc import Sequence

from tachograph.adapters.workers.crew import Crew
from tachograph.adapters.workers.queues import Pace, open_queue
from tachograph.adapters.workers.report_rounds import Rounds
from tachograph.adapters.workers.schedules import Schedule, Timetable
from tachograph.adapters.workers.stopping import Stop
from tachograph.domain.agent import Agent


async def work(
    crew: Crew,
    pace: Pace,
    stop: Stop,
    schedules: Sequence[tuple[Schedule, Agent]] = (),
    reports: Rounds | None = None,
) -> None:
    """
    Work until told to stop, or until nothing is due.

    Args:
        schedules: Periodic runs, each with its agent as it is to be recorded.
        reports: Periodic reports.
    Raises:
        ExtraMissing: The store is PostgreSQL, and procrastinate isn't installed.
        StoreError: The database can't be reached any more. What was under way goes on with another worker.
    """
    queue = await asyncio.to_thread(open_queue, crew.store)
    timetable = Timetable(schedules, crew.store, queue, crew.clock)
    await timetable.submit_due()
    if reports is not None and pace.until_empty:
        await reports.once()
    serving = asyncio.create_task(queue.serve(crew, pace, stop))
    beside = [asyncio.create_task(timetable.keep())]
    if reports is not None and not pace.until_empty:
        beside.append(asyncio.create_task(reports.keep()))
    try:
        await asyncio.wait([serving, *beside], return_when=asyncio.FIRST_COMPLETED)
        for task in beside:
            if task.done():
                task.result()
        await serving
    finally:
        for task in (serving, *beside):
            task.cancel()
        await asyncio.gather(serving, *beside, return_exceptions=True)
