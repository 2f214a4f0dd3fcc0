"""
How fast the record goes to files: a million events of refund runs on SQLite, each format by its own command.

    .venv-benchmarks/bin/pip install -e '.[parquet]'
    .venv-benchmarks/bin/python benchmarks/exporting.py

The rate is of the whole command, its start and the fsync of each file included. Beside it stands the peak of
its own memory, without that of the processes it starts, and its time against reading the log alone and
against `sqlite3` copying the table.
"""

import argparse
import asyncio
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from growth import grow, played

from tachograph import open_store

FORMATS = ("jsonl", "csv", "parquet", "ocsf", "prov")
PEAK = "VmHWM:"
PROGRAM = """
import atexit, sys
from tachograph.cli import main
peak = lambda: [line for line in open("/proc/self/status") if line.startswith("VmHWM:")][0]
atexit.register(lambda: print(peak(), file=sys.stderr))
main(sys.argv[1:])
"""


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--directory", type=Path, default=None, help="where the files are made")
    parser.add_argument("--formats", default=",".join(FORMATS), help="separated by commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        path = Path(folder, "store.db")
        url = f"sqlite:///{path}"
        template = asyncio.run(played(url))
        events = grow(path, template, 1, options.events // len(template)) * len(template)
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(f"{events:,} events, {path.stat().st_size / 1e6:,.0f} MB; Python {platform.python_version()},")
        print(f"{os.cpu_count()} cores, load {load}; SQLite {sqlite3.sqlite_version}, WAL; files fsynced\n")
        copied = seconds(lambda: copy(path, Path(folder, "copy.db")))
        read = seconds(lambda: read_log(url))
        print("| | events/s | MB of memory | MB of files | time to reading | time to copying the table |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        print(f"| copy the table | {events / copied:,.0f} | | | {copied / read:.2f} | 1 |")
        print(f"| read the log | {events / read:,.0f} | | | 1 | {read / copied:.2f} |")
        for form in options.formats.split(","):
            to = Path(folder, form)
            peaks: list[int] = []
            took = seconds(lambda form=form, to=to, peaks=peaks: peaks.append(export(url, form, to)))
            size = sum(file.stat().st_size for file in to.rglob("*") if file.is_file()) / 1e6
            rate = f"{events / took:,.0f} | {peaks[0] / 1e3:,.0f} | {size:,.0f}"
            print(f"| export {form} | {rate} | {took / read:.2f} | {took / copied:.2f} |", flush=True)


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def copy(path: Path, to: Path) -> None:
    """Copy the table as it is, durably."""
    with closing(sqlite3.connect(to)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("ATTACH ? AS store", (str(path),))
        connection.execute("CREATE TABLE copied AS SELECT * FROM store.stored_events")
        connection.commit()


def read_log(url: str) -> None:
    """Read and decode every event."""
    store, after = open_store(url), 0
    while entries := store.read_log(after=after, limit=1_000):
        after = entries[-1].position
    store.close()


def export(url: str, form: str, to: Path) -> int:
    """Export in a process of its own, and return the peak of its memory in kB."""
    command = [sys.executable, "-c", PROGRAM, "--store", url, "export", form, "--to", str(to)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith(PEAK))


if __name__ == "__main__":
    main()
