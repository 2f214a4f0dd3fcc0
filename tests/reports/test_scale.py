"""Every report over the real trajectories and 10,000 refund runs: each in a process of its own, measured."""

import subprocess
import sys
from pathlib import Path

import pytest

from tachograph import open_store
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.reports.catalogue import NAMES
from tachograph.tests.cli.program import PROGRAM

from .generated import fill

SECONDS_MAX = 10
MEGABYTES_MAX = 300
MEASURED = """
import atexit, sys, time
from pathlib import Path

def tell():
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(time.process_time(), peak, file=sys.stderr)

atexit.register(tell)
from tachograph.cli import main
main()
"""
TRAJECTORIES = {
    "tau-bench": ("tau-bench/gpt-4o-airline.trials-0-1.json",),
    "tau2": ("tau2-toolorchestra/airline.json", "tau2-toolorchestra/retail.even-tasks.json"),
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('large') / 'store.db'}"
    store = open_store(url)
    fill(store, 10_000)
    for form, names in TRAJECTORIES.items():
        files = [str(shared_data / "trajectories" / name) for name in names]
        subprocess.run([*PROGRAM, "--store", url, "import", form, *files], check=True, capture_output=True)
    side = open_read_side(store)
    side.catch_up()
    side.close()
    store.close()
    return url


def measured(*words: str) -> tuple[float, float]:
    """
    Return the seconds of a core that a call of the program took, and its largest memory in MB.

    The memory is the program's own VmHWM: `ru_maxrss` of a child begins with that of its parent.
    """
    command = [sys.executable, "-c", MEASURED, *words]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    seconds, kilobytes = done.stderr.splitlines()[-1].split()
    return float(seconds), int(kilobytes) / 1024


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_is_done_in_time_and_memory(name: str, large: str) -> None:
    for form in ("json", "csv", "html", "pdf"):
        seconds, megabytes = measured("--store", large, "report", name, "--format", form)
        print(f"{name} {form}: {seconds:.1f} s, {megabytes:.0f} MB")
        assert seconds < SECONDS_MAX, (form, seconds)
        assert megabytes < MEGABYTES_MAX, (form, megabytes)
