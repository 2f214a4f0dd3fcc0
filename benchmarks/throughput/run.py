"""Measure every contestant on this machine in one run, and print the table. See benchmarks/README.md."""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import product
from pathlib import Path

import postgres
from contestants import ENTRIES, Entry
from measure import Measurement
from report import Findings, render

MEASUREMENT_MAX_S = 180
COULD_NOT_BE_DONE = 3
INSTALL = "pip install -e . -r benchmarks/throughput/requirements.txt"


class MeasurementFailed(Exception):
    """A measurement's process did not end well; the last line it wrote says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 3 if a contestant failed."""
    options = _options(arguments)
    chosen = [entry for entry in ENTRIES if not options.contestants or entry.name in options.contestants]
    findings = Findings()
    runnable = [entry for entry in chosen if _runnable(entry, findings)]
    notes_of_absence = len(findings.notes)
    # A terminated benchmark must not leave its server behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with ExitStack() as stack:
        needs_server = any(entry.on_postgres for entry in runnable)
        server_url = stack.enter_context(postgres.server()) if needs_server else ""
        _measure_all(runnable, findings, options, server_url)
    text = render(findings)
    print(text, end="")
    if options.output:
        options.output.write_text(text)
    return COULD_NOT_BE_DONE if len(findings.notes) > notes_of_absence else 0


def _measure_all(
    entries: Sequence[Entry], findings: Findings, options: argparse.Namespace, server_url: str
) -> None:
    """Measure round by round, so that a slow minute of the machine hits all contestants alike."""
    concurrencies = sorted({concurrency for entry in entries for concurrency in entry.concurrencies})
    rounds = product(range(1, options.repetitions + 1), options.delays, concurrencies)
    for repetition, delay_ms, concurrency in rounds:
        contestants = [entry for entry in entries if concurrency in entry.concurrencies]
        random.Random(repetition).shuffle(contestants)
        for entry in contestants:
            what = f"{entry.name}, {concurrency} at once, model {delay_ms:g} ms, repetition {repetition}"
            try:
                found = _measure(entry, concurrency, delay_ms, options, server_url)
            except MeasurementFailed as failure:
                findings.notes.append(f"{what}: failed: {failure}")
                print(findings.notes[-1], file=sys.stderr)
                continue
            findings.add(found)
            print(f"{what}: {found.runs_per_s:.1f} runs/s", file=sys.stderr)
            if options.json:
                with options.json.open("a") as lines:
                    print(json.dumps({"repetition": repetition, **asdict(found)}), file=lines)


def _measure(
    entry: Entry, concurrency: int, delay_ms: float, options: argparse.Namespace, server_url: str
) -> Measurement:
    runs = entry.runs_at(concurrency, delay_ms / 1000, quick=options.quick)
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("measure.py")), entry.name]
    command += ["--concurrency", str(concurrency), "--runs", str(runs), "--delay-ms", str(delay_ms)]
    command += ["--directory", str(options.directory), "--server-url", server_url]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MEASUREMENT_MAX_S, check=True)
    except subprocess.TimeoutExpired as exc:
        raise MeasurementFailed(f"not done within {MEASUREMENT_MAX_S} s") from exc
    except subprocess.CalledProcessError as exc:
        raise MeasurementFailed((exc.stderr.strip().splitlines() or ["no message"])[-1]) from exc
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def _runnable(entry: Entry, findings: Findings) -> bool:
    missing = entry.packages_missing()
    if missing:
        findings.notes.append(f"{entry.name}: not installed ({', '.join(missing)}): {INSTALL}")
        return False
    if entry.on_postgres and not postgres.available():
        findings.notes.append(f"{entry.name}: no PostgreSQL server: {INSTALL}, or set {postgres.GIVEN}")
        return False
    return True


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the runs, to see that it works")
    parser.add_argument("--repetitions", type=int, default=3, help="of every measurement (default: 3)")
    parser.add_argument(
        "--delays",
        default="0,50",
        help="milliseconds that the model takes, separated by commas (default: 0,50)",
    )
    parser.add_argument("--contestants", help="names separated by commas (default: all)")
    parser.add_argument("--json", type=Path, help="append each measurement to this file, one object a line")
    parser.add_argument("--output", type=Path, help="also write the report to this file")
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path(tempfile.gettempdir()),
        help="where the SQLite files go; must be on a real disk (default: the temporary directory)",
    )
    options = parser.parse_args(arguments)
    options.delays = [float(delay) for delay in options.delays.split(",")]
    options.contestants = options.contestants.split(",") if options.contestants else []
    unknown = set(options.contestants) - {entry.name for entry in ENTRIES}
    if unknown:
        names = ", ".join(entry.name for entry in ENTRIES)
        parser.error(f"unknown contestants {', '.join(sorted(unknown))}; choose from {names}")
    return options


if __name__ == "__main__":
    sys.exit(main())
