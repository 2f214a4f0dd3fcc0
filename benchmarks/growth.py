"""
How the cost of an append, `show`, `why` and `steps` grows with the store.

    python benchmarks/growth.py [--events 10000,1000000,10000000] [--directory DIR]

One SQLite file that grows to each of the sizes in turn: the bundled scenario `answered` is run once on the
scripted model, and its rows are stored again and again under ids of their own, each run in a trace of its own.
All views catch up, then each question is asked of runs spread over the whole file, after one that warms it up:
`show` folds the run and reads its timeline, `why` explains it, `steps` counts the steps of its trace, `append`
records the beginning of a new run, durably. Medians, and as ratios to the smallest store.
"""

import argparse
import asyncio
import os
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

from tachograph import ScriptedModel, open_store, run
from tachograph.adapters.explaining import explain_run
from tachograph.adapters.loading import load
from tachograph.adapters.read_side import ReadSide, open_read_side
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import load_scenario
from tachograph.domain.events import Recorded
from tachograph.domain.ports import EventStore

TRACE = "trace-0000000000"  # As long as those that take its place.
ASKED = 41
INSERT = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?, ?, ?, ?)"
ROWS = "SELECT originator_version, topic, state FROM stored_events WHERE originator_id = ? ORDER BY 1"

Row = tuple[int, str, bytes]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--events", default="10000,1000000,10000000", help="sizes, separated by commas")
    parser.add_argument("--directory", type=Path, default=None, help="where the SQLite file is made")
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.events.split(","))
    load_average = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load_average}")
    print(f"SQLite {sqlite3.sqlite_version}: WAL, synchronous=FULL\n")
    print("| events | runs | GB | catch up | append | show | why | steps |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        path = Path(folder, "store.db")
        template = asyncio.run(played(f"sqlite:///{path}"))
        runs = 1
        for size in sizes:
            runs = grow(path, template, runs, size // len(template))
            rate, found = measured(f"sqlite:///{path}", runs)
            first = first or found
            told = " | ".join(f"{value:.2f} ms ({value / first[name]:.2f})" for name, value in found.items())
            gigabytes = path.stat().st_size / 1e9
            events = runs * len(template)
            print(f"| {events:,} | {runs:,} | {gigabytes:.2f} | {rate:,.0f}/s | {told} |", flush=True)


async def played(url: str) -> list[Row]:
    """Run the scenario once, and return its rows."""
    scenario = load_scenario("answered")
    store = open_store(url)
    outcome = await run(
        refund_agent,
        scenario.input,
        scenario.context.model_copy(update={"trace_id": TRACE}),
        model=ScriptedModel(scenario.replies),
        store=store,
    )
    store.close()
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return list(connection.execute(ROWS, (outcome.run_id.hex,)))


def grow(path: Path, template: list[Row], runs: int, wanted: int) -> int:
    """Store the template's rows until there are so many runs; return how many there are."""
    (version, topic, state), *others = template
    assert TRACE.encode() in state, "the beginning is stored as it is"

    def rows() -> Iterator[tuple[str, int, str, bytes]]:
        for number in range(runs, wanted):
            run_id = run_id_of(number).hex
            yield run_id, version, topic, state.replace(TRACE.encode(), trace_of(number).encode())
            for row in others:
                yield run_id, *row

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA cache_size = -500000")
        with connection:
            connection.executemany(INSERT, rows())
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return max(runs, wanted)


def run_id_of(number: int) -> UUID:
    """Return the id of a stored run, in the order of time as those of version 7 are."""
    return UUID(int=(0x0190 << 112) + (number << 80) + random.Random(number).getrandbits(62))


def trace_of(number: int) -> str:
    """Return the trace of a stored run."""
    return f"trace-{number:010d}"


def measured(url: str, runs: int) -> tuple[float, dict[str, float]]:
    """Return how many events a second the views catch up, and the milliseconds of each question."""
    store = open_store(url)
    side = open_read_side(store)
    began, head = time.perf_counter(), store.head()
    before = min(status.position for status in side.status())
    side.catch_up()
    rate = (head - before) / (time.perf_counter() - began)
    chance = random.Random(runs)
    numbers = [chance.randrange(1, runs) for _ in range(ASKED)]
    found = {
        "append": asyncio.run(appended(store, load(store, run_id_of(numbers[0])).run_id)),
        "show": median_ms(lambda number: shown(store, side, run_id_of(number)), numbers),
        "why": median_ms(lambda number: explain_run(store, run_id_of(number)), numbers),
        "steps": median_ms(lambda number: list(side.steps(trace_id=trace_of(number))), numbers),
    }
    side.close()
    store.close()
    return rate, found


def shown(store: EventStore, side: ReadSide, run_id: UUID) -> None:
    """Do what `show` does."""
    assert load(store, run_id).ended
    assert list(side.timeline(run_id))


async def appended(store: EventStore, like: UUID) -> float:
    """Return the median of the milliseconds in which the beginning of a run becomes durable."""
    first = store.read(like, up_to=1)[0]
    assert isinstance(first, Recorded)
    took: list[float] = []
    for _ in range(ASKED):
        began = time.perf_counter()
        await store.append(uuid4(), [first.event], expected_version=0)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def median_ms(ask: Callable[[int], object], numbers: list[int]) -> float:
    """Return the median of the milliseconds that a question takes."""
    ask(numbers[0])
    took: list[float] = []
    for number in numbers:
        began = time.perf_counter()
        ask(number)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


if __name__ == "__main__":
    sys.exit(main())
