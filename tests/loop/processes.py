"""A process that does jobs of `victim.py`, each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Worker:
    """Jobs are done one after the other; `start` doesn't wait for the end of one, `wait` does."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, **job: Any) -> None:
        """Begin a job."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job, default=str) + "\n")
        self._process.stdin.flush()

    def wait(self) -> dict[str, Any]:
        """Say what became of the job."""
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said, "the worker itself died"
        result: dict[str, Any] = json.loads(said)
        return result

    def do(self, **job: Any) -> dict[str, Any]:
        """Do a job to its end."""
        self.start(**job)
        return self.wait()


@contextmanager
def worker() -> Iterator[Worker]:
    """Start a worker, and end it with the block."""
    command = [sys.executable, str(Path(__file__).with_name("victim.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Worker(process)
