"""
Do to Tachograph and to others what goes wrong in earnest, and print what became of it as a Markdown table.

    python benchmarks/safety/run.py

A process is killed (SIGKILL) after a side effect and before its record, and another one goes on; the model
asks for two ends in one answer; the amount is edited in the database. Each probe is a process of its own,
which this file starts as `run.py MODULE PROBE FOLDER FLAG...` and which prints one line of JSON.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common import AMOUNT, FORGED, READ, SEND, database, effects, forge

PROBE_MAX_S = 120
COULD_NOT_BE_DONE = 3
HEADER = (
    "",
    "effects of a killed tool",
    "the same, marked",
    "two ends in one answer: how many ran",
    "forged amount noticed",
)


@dataclass(frozen=True)
class Contestant:
    """A row: the module to load, the packages it needs, and what it can do."""

    name: str
    module: str
    packages: tuple[str, ...]
    mark: str | None = None  # what keeps a tool from being repeated
    has_loop: bool = True  # executes the calls of a model
    forgeries: tuple[tuple[str, int | None], ...] = (("all places", None),)  # one after the other
    checks: tuple[tuple[str, ...], ...] = ()  # the flags of each check; no check: loading alone


CONTESTANTS = (
    Contestant(
        "Tachograph",
        "tachograph_contestant",
        ("tachograph",),
        mark="`once`",
        forgeries=(("`terminal` alone", 1), ("with the answer before it", 1), ("all places", None)),
        checks=((), ("undeclared",)),
    ),
    Contestant("DBOS", "dbos_contestant", ("dbos",), mark="workflow never recovered", has_loop=False),
    Contestant("LangGraph", "langgraph_contestant", ("langgraph", "langgraph-checkpoint-sqlite")),
    Contestant("Burr", "burr_contestant", ("apache-burr",), has_loop=False),
    Contestant("OpenAI Agents SDK", "agents_sdk_contestant", ("openai-agents",)),
)


class ProbeFailed(Exception):
    """A probe did not do what it was meant to; its last words say why."""


def main() -> int:
    """Print the table; return 3 if a probe failed."""
    failed = False
    print(_line(*HEADER))
    print(_line(*["---"] * len(HEADER)))
    for contestant in CONTESTANTS:
        try:
            named = f"{contestant.name} {version(contestant.packages[0])}"
            [version(package) for package in contestant.packages]
        except PackageNotFoundError as exc:
            print(_line(contestant.name, f"not installed: `pip install {exc.name}`", "", "", ""), flush=True)
            continue
        cells = []
        for cell in (_killed, _killed_marked, _two_ends, _forged):
            said = _in_folder(cell, contestant)
            failed |= said.startswith("FAILED")
            cells.append(said)
        print(_line(named, *cells), flush=True)
    return COULD_NOT_BE_DONE if failed else 0


def _in_folder(cell: Callable[[Contestant, Path], str], contestant: Contestant) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return cell(contestant, Path(folder))
        except ProbeFailed as failure:
            return f"FAILED: {failure}"


def _killed(contestant: Contestant, folder: Path, *flags: str) -> str:
    code, last = _probe(contestant, "begin", folder, "dies", *flags)
    if code != -signal.SIGKILL or effects(folder).count(SEND) != 1:
        raise ProbeFailed(f"not killed after one effect: exit code {code}, {effects(folder)} {last[:120]}")
    ended = _said(contestant, "go_on", folder, *flags)
    restarted = ", from the start again" if effects(folder).count(READ) > 1 else ""
    return f"{effects(folder).count(SEND)}: {ended}{restarted}"


def _killed_marked(contestant: Contestant, folder: Path) -> str:
    if contestant.mark is None:
        return "no such mark"
    return f"{_killed(contestant, folder, 'once')} ({contestant.mark})"


def _two_ends(contestant: Contestant, folder: Path) -> str:
    return str(_said(contestant, "two_ends", folder)) if contestant.has_loop else "no loop of its own"


def _forged(contestant: Contestant, folder: Path) -> str:
    cells = []
    for number, flags in enumerate(contestant.checks or ((),)):
        place = folder / str(number)
        place.mkdir()
        found = "; ".join(_forgeries_noticed(contestant, place, *flags))
        cells.append(f"({', '.join(flags)}) {found}" if flags else found)
    return "; ".join(cells)


def _forgeries_noticed(contestant: Contestant, folder: Path, *flags: str) -> Iterator[str]:
    """Run to the end, then forge more and more of the record."""
    _said(contestant, "begin", folder, *flags)
    if (before := _noticed(contestant, folder, AMOUNT, *flags)) is not None:
        raise ProbeFailed(f"{before} before anything was forged")
    for where, last in contestant.forgeries:
        if not forge(database(folder), last):
            raise ProbeFailed("no amount to forge")
        found = _noticed(contestant, folder, FORGED, *flags)
        yield f"{where}: {f'**no**, gives {FORGED}' if found is None else f'yes, {found}'}"


def _noticed(contestant: Contestant, folder: Path, amount: str, *flags: str) -> str | None:
    """Load the run, and check it where that can be done; return what was noticed."""
    try:
        loaded = _said(contestant, "read", folder)
    except ProbeFailed as failure:
        return f"not loaded: {failure}"
    if loaded != amount:
        raise ProbeFailed(f"loads {loaded}, not {amount}")
    return _said(contestant, "check", folder, *flags) if contestant.checks else None


def _said(contestant: Contestant, probe: str, folder: Path, *flags: str) -> str | None:
    """Run a probe that has to end well, and return what it found."""
    code, last = _probe(contestant, probe, folder, *flags)
    if code != 0:
        raise ProbeFailed(f"{probe}: exit code {code}: {last[:120]}")
    found: str | None = json.loads(last)
    return found


def _probe(contestant: Contestant, probe: str, folder: Path, *flags: str) -> tuple[int, str]:
    """Run a probe in a process of its own; return its exit code and its last line."""
    command = [sys.executable, "-W", "ignore", __file__, contestant.module, probe, str(folder), *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_MAX_S, check=False)
    except subprocess.TimeoutExpired as exc:
        raise ProbeFailed(f"{probe}: not done within {PROBE_MAX_S} s") from exc
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _in_this_process(module: str, probe: str, folder: Path, flags: list[str]) -> None:
    """Do one probe and print what it found."""
    found = getattr(importlib.import_module(module), probe)(folder, **dict.fromkeys(flags, True))
    print(json.dumps(found), flush=True)
    os._exit(0)  # Some leave threads behind that would wait for ever.


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _in_this_process(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    sys.exit(main())
