"""Runners in processes of their own: several at once, and killed in the middle."""

import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.domain.ports import EventStore

from .conftest import OpenReadSide
from .stories import Undisclosed, contents, counted, fill

_TIMEOUT_S = 60


def runner(url: str, verb: str, batch_size: int) -> subprocess.Popen[str]:
    """Start a runner."""
    command = [sys.executable, str(Path(__file__).with_name("runner_process.py")), url, verb, str(batch_size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> list[str]:
    """Wait for a runner's end and return its lines."""
    output, errors = process.communicate(timeout=_TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    return output.splitlines()


def kill_after(process: subprocess.Popen[str], lines: int) -> None:
    """Kill a runner, without any warning, once it has come so far."""
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.kill()
    process.communicate(timeout=_TIMEOUT_S)


def test_runners_at_once_apply_each_event_once(
    database: EventStore, database_url: str, opened: OpenReadSide
) -> None:
    fill(database, 100)
    processes = [runner(database_url, "catch-up", 20) for _ in range(3)]
    applied = [int(said(process)[-1].split()[1]) for process in processes]
    assert sum(applied) == 600
    side = opened(database)
    assert side.catch_up() == 0
    assert list(side.steps()) == counted(database)
    assert {(row["steps"], row["tool_calls"], row["version"]) for row in side.runs()} == {(2, 1, 6)}
    assert [status.generation for status in side.status()] == [1] * 6


@pytest.mark.parametrize("batches", [0, 1, 5, 11])
def test_a_runner_killed_in_the_middle_leaves_whole_batches(
    database: EventStore, database_url: str, opened: OpenReadSide, batches: int
) -> None:
    fill(database, 60)
    kill_after(runner(database_url, "catch-up", 20), batches)
    side = opened(database)
    side.catch_up()
    in_memory = opened(Undisclosed(database))
    in_memory.catch_up()
    assert contents(side) == contents(in_memory)
    assert list(side.steps()) == counted(database)


def test_a_rebuild_killed_in_the_middle_leaves_the_view_as_it_was(
    database: EventStore, database_url: str, opened: OpenReadSide
) -> None:
    fill(database, 60)
    side = opened(database)
    side.catch_up()
    expected = contents(side)
    kill_after(runner(database_url, "rebuild", 10), 5)
    assert contents(side) == expected
    assert [status.generation for status in side.status()] == [1] * 6
    assert said(runner(database_url, "rebuild", 500))[-1] == "applied 360"
    assert contents(side) == expected
    assert [status.generation for status in side.status()] == [3] * 6
