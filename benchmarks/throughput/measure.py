"""One measurement: a contestant, a number of runs at once, a fresh store. Prints one JSON object."""

import argparse
import json
import os
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from contestants import ENTRIES, Contestant, Entry, Place
from postgres import fresh_database, table_bytes
from workload import STEPS_PER_RUN, IncompleteRun, Workload

WARM_UP_MIN = 10
WARM_UP_MAX = 64
FSYNCS = 50
WATCH_S = 0.02


@dataclass(frozen=True)
class Measurement:
    """
    What one measurement found.

    Args:
        kb_per_open_run: Growth of the resident set while the runs were open, for each that was open at once.
    """

    contestant: str
    concurrency: int
    delay_ms: float
    runs: int
    runs_per_s: float
    steps_per_s: float
    step_ms_p50: float
    step_ms_p99: float
    cpu_ms_per_run: float
    kb_per_open_run: float
    bytes_per_run: float
    durability: str
    load_average: float
    fsync_ms: float


def measure(
    entry: Entry, concurrency: int, runs: int, delay_s: float, directory: Path, server_url: str
) -> Measurement:
    """
    Warm a contestant up, time its runs, and weigh what it wrote.

    CPU is that of this process, without a database server's. Bytes are those of the compacted
    tables and indexes, less the empty schema.
    """
    workload = Workload(delay_s)
    run_ids = [f"run-{uuid4().hex[:16]}" for _ in range(runs)]
    warm_up_ids = [f"run-{uuid4().hex[:16]}" for _ in range(max(WARM_UP_MIN, min(concurrency, WARM_UP_MAX)))]
    load_average, fsync_ms = os.getloadavg()[0], _fsync_ms(directory)
    with _place(entry, directory, server_url) as place:
        contestant = entry.load()(workload, place, concurrency)
        contestant.open()
        bytes_empty = _bytes(entry, place, compact=False)
        contestant.execute(warm_up_ids)
        with _watched_memory() as memory:
            cpu_start, start = time.process_time(), time.perf_counter()
            contestant.execute(run_ids)
            elapsed_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
        durations_ms = workload.step_durations_ms(run_ids)
        _check_stored(contestant, run_ids)
        durability = _durability(entry, contestant)
        contestant.close()
        bytes_full = _bytes(entry, place, compact=True)
    return Measurement(
        contestant=entry.name,
        concurrency=concurrency,
        delay_ms=delay_s * 1000,
        runs=runs,
        runs_per_s=runs / elapsed_s,
        steps_per_s=runs * STEPS_PER_RUN / elapsed_s,
        step_ms_p50=durations_ms[len(durations_ms) // 2],
        step_ms_p99=durations_ms[len(durations_ms) * 99 // 100],
        cpu_ms_per_run=cpu_s * 1000 / runs,
        kb_per_open_run=(memory.most - memory.before) / concurrency / 1000,
        bytes_per_run=(bytes_full - bytes_empty) / (runs + len(warm_up_ids)),
        durability=durability,
        load_average=load_average,
        fsync_ms=fsync_ms,
    )


@contextmanager
def _place(entry: Entry, directory: Path, server_url: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(dir=directory) as temporary:
        sqlite_path = Path(temporary, "store.db")
        if entry.on_postgres:
            with fresh_database(server_url) as url:
                yield Place(sqlite_path, url)
        else:
            yield Place(sqlite_path, "")


def _bytes(entry: Entry, place: Place, *, compact: bool) -> int:
    if entry.on_postgres:
        return table_bytes(place.postgres_url, compact=compact)
    with closing(sqlite3.connect(place.sqlite_path, isolation_level=None)) as connection:
        if compact:
            connection.execute("vacuum")
        connection.execute("pragma wal_checkpoint(truncate)")
    return place.sqlite_path.stat().st_size


def _check_stored(contestant: Contestant, run_ids: list[str]) -> None:
    for run_id in (run_ids[0], run_ids[-1]):
        stored = contestant.steps_stored(run_id)
        if stored != STEPS_PER_RUN:
            raise IncompleteRun(f"{run_id} has {stored} steps in the store instead of {STEPS_PER_RUN}")


def _durability(entry: Entry, contestant: Contestant) -> str:
    if entry.on_postgres:
        names = ("server_version", "fsync", "synchronous_commit")
        version, fsync, synchronous_commit = (contestant.ask(f"show {name}") for name in names)
        return f"PostgreSQL {version}, fsync={fsync}, synchronous_commit={synchronous_commit}"
    journal_mode, synchronous = contestant.ask("pragma journal_mode"), contestant.ask("pragma synchronous")
    level = ("OFF", "NORMAL", "FULL", "EXTRA")[int(synchronous)]
    return f"SQLite {sqlite3.sqlite_version}, journal_mode={journal_mode}, synchronous={level}"


class _Memory:
    """The resident set of this process, in bytes."""

    def __init__(self) -> None:
        self.before = self.most = self.now()

    @staticmethod
    def now() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _watched_memory() -> Iterator[_Memory]:
    """Look every so often, from a thread of its own."""
    memory, over = _Memory(), threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_S):
            memory.most = max(memory.most, memory.now())

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield memory
    finally:
        over.set()
        watching.join()


def _fsync_ms(directory: Path) -> float:
    """Return the median time of a durable append; near zero means that the disk is not a disk."""
    durations_ms = []
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        for _ in range(FSYNCS):
            start = time.perf_counter()
            file.write(b"\0" * 4096)
            os.fsync(file.fileno())
            durations_ms.append((time.perf_counter() - start) * 1000)
    return statistics.median(durations_ms)


def main() -> None:
    """Read the command line that run.py wrote."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contestant", choices=[entry.name for entry in ENTRIES])
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--server-url", default="")
    options = parser.parse_args()
    (entry,) = (entry for entry in ENTRIES if entry.name == options.contestant)
    found = measure(
        entry,
        options.concurrency,
        options.runs,
        options.delay_ms / 1000,
        options.directory,
        options.server_url,
    )
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
