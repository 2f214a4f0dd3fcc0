"""Processes that make reports at the same time, and that are killed while they do."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.tests.cli.program import PROGRAM

from .processes import Processes, processes

pytestmark = pytest.mark.slow

TABLE = """
[[report]]
name = "monthly"
report = "completeness"
cron = "0 6 1 * *"
period = "last month"
formats = ["html", "csv"]
directory = "reports"
command = {command}
"""
COUNTS = "import sys; open('called', 'a').write('x')"
KILLS_THE_FIRST = (
    "import os, signal, sys\n"
    "there = os.path.exists('called')\n"
    "open('called', 'a').write('x')\n"
    "there or os.kill(os.getppid(), signal.SIGKILL)\n"
)


@pytest.fixture
def desk(database_url: str, tmp_path: Path) -> Iterator[Processes]:
    (tmp_path / "reports").mkdir()
    with processes(tmp_path, database_url) as started:
        started.submit("charges")
        started.go()
        yield started


def schedule(desk: Processes, program: str) -> None:
    command = json.dumps([sys.executable, "-c", program, "{file}"])
    (desk.folder / "s.toml").write_text(TABLE.format(command=command))


def contents(desk: Processes) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (desk.folder / "reports").iterdir()}


def test_of_many_at_once_one_makes_it(desk: Processes) -> None:
    schedule(desk, COUNTS)
    words = [*PROGRAM, "report", "run", "--schedule", "s.toml"]
    environment = desk._environment
    started = [
        subprocess.Popen(words, cwd=desk.folder, env=environment, stdout=-1, stderr=-1, text=True)
        for _ in range(6)
    ]
    told = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * 6, told
    assert sum("done: " in out for out, _ in told) == 1
    assert (desk.folder / "called").read_text() == "x"
    assert len(contents(desk)) == 2


def test_a_worker_that_is_killed_in_the_command_is_followed_by_the_next_with_the_same_files(
    desk: Processes,
) -> None:
    schedule(desk, KILLS_THE_FIRST)
    killed = desk.worker("--schedules", "s.toml", "--json")
    killed.wait(60)
    assert killed.returncode == -9
    before = contents(desk)
    desk.submit("charges")
    [line] = desk.call("report", "run", "--schedule", "s.toml", "--json").splitlines()
    assert json.loads(line)["result"] == "done"
    assert contents(desk) == before
    [run] = [json.loads(line) for line in desk.call("report", "runs", "--json").splitlines()]
    assert (run["status"], run["tried"], run["exit_code"]) == ("done", 2, 0)
    assert (desk.folder / "called").read_text() == "xx"


def test_a_worker_makes_them_beside_its_runs_and_stops_when_told_to(desk: Processes) -> None:
    schedule(desk, COUNTS)
    worker = desk.worker("--schedules", "s.toml")
    assert desk.line_of(worker)
    desk.until(lambda: (desk.folder / "called").exists())
    worker.terminate()
    worker.communicate(timeout=60)
    assert worker.returncode == 0
