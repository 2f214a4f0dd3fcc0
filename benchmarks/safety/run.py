"""
Three failures, on Tachograph and on others, each for real in processes of its own.

    python benchmarks/safety/run.py            prints the table
    python benchmarks/safety/run.py NAME PROBE FOLDER    is one probe, as this starts it

The process is killed (SIGKILL) after the side effect and before its record, and another process goes on;
the model asks for two ends in one turn; somebody edits the amount in the database after the run.
"""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from common import effects

CONTESTANTS = {
    "Tachograph": ("tachograph_contestant", "tachograph"),
    "DBOS": ("dbos_contestant", "dbos"),
    "LangGraph": ("langgraph_contestant", "langgraph"),
    "Burr": ("burr_contestant", "burr"),
    "OpenAI Agents SDK": ("agents_sdk_contestant", "openai-agents"),
}


def probe(module: str, name: str, folder: Path) -> tuple[int, str]:
    """Run one probe in a process of its own; return its exit code and what it said."""
    environment = os.environ | {"SAFETY_FOLDER": str(folder), "SAFETY_PROBE": name}
    done = subprocess.run(
        [sys.executable, __file__, module, name, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return done.returncode, said[-1][:120] if said else ""


def row(name: str) -> str:
    """Return a contestant's row."""
    module, package = CONTESTANTS[name]
    try:
        found = version(package)
    except ImportError:
        return f"| {name} | not installed | | | |"
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        folder = Path(one)
        code, said = probe(module, "crash", folder)
        assert code == -signal.SIGKILL, f"{name} was to be killed: {said}"
        _, went_on = probe(module, "after", folder)
        count = effects(folder).count("refund_send")
        _, ended = probe(module, "two_terminals", Path(two))
    with tempfile.TemporaryDirectory() as three:
        _, noticed = probe(module, "forged", Path(three))
    return f"| {name} {found} | {count} | {went_on} | {ended} | {noticed} |"


def main() -> None:
    """Print the table."""
    print("| | effects of a killed refund | how it went on | two ends at once | forged amount noticed |")
    print("| --- | ---: | --- | --- | --- |")
    for name in CONTESTANTS:
        print(row(name), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(getattr(importlib.import_module(sys.argv[1]), sys.argv[2])(Path(sys.argv[3])), flush=True)
        os._exit(0)  # Some leave threads behind that would wait for ever.
    main()
