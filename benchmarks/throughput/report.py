"""Medians, ratios and the tables that show them."""

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from contestants import ENTRIES, installed_version
from measure import Measurement
from workload import STEPS_PER_RUN

PACKAGES = (
    "tachograph",
    "psycopg",
    "dbos",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "apache-burr",
    "pydantic-ai-slim",
    "openai-agents",
)
BARE = ("bare-grouped", "bare")
PEERS = ("dbos", "langgraph", "burr", "pydantic-ai-dbos", "agents-sdk")
PER_TURN = {entry.name for entry in ENTRIES if entry.remark}
COLUMNS: tuple[tuple[str, Callable[[Measurement], float], int], ...] = (
    ("runs/s", lambda found: found.runs_per_s, 1),
    ("step p50 ms", lambda found: found.step_ms_p50, 2),
    ("step p99 ms", lambda found: found.step_ms_p99, 2),
    ("CPU ms/step", lambda found: found.cpu_ms_per_run / STEPS_PER_RUN, 2),
    ("KB memory/open run", lambda found: found.kb_per_open_run, 0),
    ("KB disk/run", lambda found: found.bytes_per_run / 1000, 1),
)


class Findings:
    """All measurements; those of one contestant, concurrency and delay in order of repetition."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, float], list[Measurement]] = {}
        self.notes: list[str] = []

    def add(self, found: Measurement) -> None:
        """Take a measurement in."""
        self._found.setdefault((found.contestant, found.concurrency, found.delay_ms), []).append(found)

    def of(self, contestant: str, concurrency: int, delay_ms: float) -> list[Measurement]:
        """Return the repetitions of one measurement; none if it was left out."""
        return self._found.get((contestant, concurrency, delay_ms), [])

    def delays(self) -> list[float]:
        """Return the delays of the model, ascending."""
        return sorted({delay_ms for _, _, delay_ms in self._found})

    def concurrencies(self, contestant: str, delay_ms: float) -> list[int]:
        """Return the numbers of runs at once a contestant was measured with, ascending."""
        return sorted(
            concurrency for name, concurrency, delay in self._found if (name, delay) == (contestant, delay_ms)
        )

    def range_of(self, value: Callable[[Measurement], float]) -> str:
        """Return the median, lowest and highest value over all measurements."""
        values = [value(one) for repetitions in self._found.values() for one in repetitions]
        return _spread(values, 2) if values else "not measured"


def render(findings: Findings) -> str:
    """Return the whole report as Markdown."""
    parts = ["# Throughput of the refund run", _machine(findings)]
    remark = (
        "Median of the repetitions (lowest - highest). CPU is the client's, without a server's. Memory is "
        "the growth of the client's resident set while the runs are open."
    )
    for delay_ms in findings.delays():
        delay = f"takes {delay_ms:g} ms, which no step's time includes" if delay_ms else "answers at once"
        parts += [f"## The model {delay}", remark, _figures(findings, delay_ms)]
        ratios = _ratios(findings, delay_ms)
        if ratios:
            parts += ["Tachograph against the others: ratios within a repetition, then their median.", ratios]
    remarks = {f"{entry.name}: {entry.remark}." for entry in ENTRIES if entry.remark}
    notes = [*sorted(remarks), *findings.notes]
    parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts) + "\n"


def _figures(findings: Findings, delay_ms: float) -> str:
    header = ["contestant", "runs at once", *(name for name, _, _ in COLUMNS), "durability"]
    rows = []
    for entry in ENTRIES:
        for concurrency in findings.concurrencies(entry.name, delay_ms):
            found = findings.of(entry.name, concurrency, delay_ms)
            values = [_spread([value(one) for one in found], digits) for _, value, digits in COLUMNS]
            rows.append([entry.name, str(concurrency), *values, found[0].durability])
    return _table(header, rows)


def _ratios(findings: Findings, delay_ms: float) -> str:
    rows = []
    for store in ("sqlite", "postgres"):
        for concurrency in findings.concurrencies(f"tachograph-{store}", delay_ms):
            ours = findings.of(f"tachograph-{store}", concurrency, delay_ms)
            best = _best_durable(findings, store, concurrency, delay_ms)
            for peer in (*BARE, *PEERS):
                theirs = findings.of(f"{peer}-{store}", concurrency, delay_ms)
                name = f"{peer}-{store}"
                rows += _ratio_row(ours, theirs, f"{name}, the best durable peer" if name == best else name)
    return _table(["contestant", "runs at once", "against", "runs/s", "disk/run"], rows) if rows else ""


def _best_durable(findings: Findings, store: str, concurrency: int, delay_ms: float) -> str | None:
    """Return the fastest of the others that make each step durable."""
    medians = {
        f"{peer}-{store}": statistics.median(found.runs_per_s for found in measured)
        for peer in PEERS
        if (measured := findings.of(f"{peer}-{store}", concurrency, delay_ms))
        and f"{peer}-{store}" not in PER_TURN
    }
    return max(medians, key=medians.__getitem__, default=None)


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
