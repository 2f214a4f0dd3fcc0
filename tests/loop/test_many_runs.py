"""What one process needs for thousands of runs that wait for their model, as the benchmark measures it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "many_runs" / "run.py"


@pytest.mark.slow
def test_five_thousand_runs_wait_in_one_process(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(BENCHMARK),
        "--url",
        f"sqlite:///{tmp_path / 'store.db'}",
        "--runs",
        "5000",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kb_per_waiting_run"] < 50
    assert found["peak_mb"] < 500
