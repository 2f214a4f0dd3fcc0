"""Medians, ratios and the tables that show them."""

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from contestants import ENTRIES, installed_version
from measure import Measurement

PACKAGES = (
    "tachograph",
    "psycopg",
    "dbos",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "apache-burr",
)
PEERS = ("bare-grouped", "bare", "dbos", "langgraph", "burr")
COLUMNS: tuple[tuple[str, Callable[[Measurement], float], int], ...] = (
    ("runs/s", lambda found: found.runs_per_s, 1),
    ("steps/s", lambda found: found.steps_per_s, 0),
    ("step p50 ms", lambda found: found.step_ms_p50, 2),
    ("step p99 ms", lambda found: found.step_ms_p99, 2),
    ("CPU ms/run", lambda found: found.cpu_ms_per_run, 2),
    ("KB/run", lambda found: found.bytes_per_run / 1000, 1),
)


class Findings:
    """All measurements of a benchmark; those of one contestant and concurrency are in order of repetition."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], list[Measurement]] = {}
        self.notes: list[str] = []

    def add(self, found: Measurement) -> None:
        """Take a measurement in."""
        self._found.setdefault((found.contestant, found.concurrency), []).append(found)

    def of(self, contestant: str, concurrency: int) -> list[Measurement]:
        """Return the repetitions of one measurement; none if it was left out."""
        return self._found.get((contestant, concurrency), [])

    def concurrencies(self, contestant: str) -> list[int]:
        """Return the numbers of runs at once a contestant was measured with, ascending."""
        return sorted(concurrency for name, concurrency in self._found if name == contestant)

    def range_of(self, value: Callable[[Measurement], float]) -> str:
        """Return the median, lowest and highest value over all measurements."""
        values = [value(one) for repetitions in self._found.values() for one in repetitions]
        return _spread(values, 2) if values else "not measured"

    def best(self, contestant: str) -> int | None:
        """Return the number of runs at once with the highest median of runs a second."""
        medians = {
            concurrency: statistics.median(found.runs_per_s for found in self.of(contestant, concurrency))
            for concurrency in self.concurrencies(contestant)
        }
        return max(medians, key=medians.__getitem__, default=None)


def render(findings: Findings) -> str:
    """Return the whole report as Markdown."""
    parts = ["# Throughput of the refund run", _machine(findings), _figures(findings)]
    ratios = _ratios(findings)
    if ratios:
        parts.append(
            "## Tachograph against the others\n\nRatios within a repetition, then their median.\n\n" + ratios
        )
    if findings.notes:
        parts.append("\n".join(f"- {note}" for note in findings.notes))
    return "\n\n".join(parts) + "\n"


def _figures(findings: Findings) -> str:
    header = ["contestant", "runs at once", *(name for name, _, _ in COLUMNS), "durability"]
    rows = []
    for entry in ENTRIES:
        for concurrency in findings.concurrencies(entry.name):
            found = findings.of(entry.name, concurrency)
            values = [_spread([value(one) for one in found], digits) for _, value, digits in COLUMNS]
            rows.append([entry.name, str(concurrency), *values, found[0].durability])
    best = findings.best("bare-postgres")
    remark = "Median of the repetitions (lowest - highest). CPU is the client's, without a server's."
    if best is not None:
        remark += f" Bare psycopg was at its best with {best} connections."
    return f"{remark}\n\n{_table(header, rows)}"


def _ratios(findings: Findings) -> str:
    rows = []
    for store in ("sqlite", "postgres"):
        for concurrency in findings.concurrencies(f"tachograph-{store}"):
            ours = findings.of(f"tachograph-{store}", concurrency)
            for peer in PEERS:
                theirs = findings.of(f"{peer}-{store}", concurrency)
                rows += _ratio_row(ours, theirs, f"{peer}-{store}")
            best = findings.best("bare-postgres") if store == "postgres" else None
            if best is not None:
                theirs = findings.of("bare-postgres", best)
                rows += _ratio_row(ours, theirs, f"bare-postgres at its best ({best} connections)")
    return _table(["contestant", "runs at once", "against", "runs/s", "bytes/run"], rows) if rows else ""


def _ratio_row(ours: Sequence[Measurement], theirs: Sequence[Measurement], name: str) -> list[list[str]]:
    # A failed measurement would shift the repetitions against each other.
    if not theirs or len(ours) != len(theirs):
        return []
    pairs = list(zip(ours, theirs, strict=True))
    speed = _spread([our.runs_per_s / their.runs_per_s for our, their in pairs], 2)
    size = _spread([our.bytes_per_run / their.bytes_per_run for our, their in pairs], 2)
    return [[ours[0].contestant, str(ours[0].concurrency), name, speed, size]]


def _spread(values: Sequence[float], digits: int) -> str:
    median = f"{statistics.median(values):.{digits}f}"
    if len(values) == 1:
        return median
    return f"{median} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def _machine(findings: Findings) -> str:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    versions = [f"{name} {found}" for name in PACKAGES if (found := installed_version(name))]
    lines = [
        f"Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"Machine: {os.cpu_count()} cores, {memory_gb:.0f} GB, {platform.system()} {platform.machine()}",
        f"Before each measurement, one write and fsync of 4 KB in ms: "
        f"{findings.range_of(lambda one: one.fsync_ms)}; load average: "
        f"{findings.range_of(lambda one: one.load_average)}",
        f"Versions: {', '.join([f'Python {platform.python_version()}', *versions])}",
    ]
    return "\n".join(f"- {line}" for line in lines)
