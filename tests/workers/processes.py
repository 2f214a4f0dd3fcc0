"""Workers as processes of their own, an agent for them, and what it did to the world."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tachograph.tests.cli.program import PROGRAM, gone

WAIT_S = 30

# Tools that wait, die, or charge: the file is what they did to the world.
TILL = '''
import os, pathlib, signal, time
from pydantic import BaseModel
from tachograph import Agent, ScriptedModel, TerminalTool, ToolContext, tool
from tachograph.domain.ports import AskedCall, ModelReply

class Order(BaseModel):
    order_id: str

@tool(effect="read")
def wait(order: Order) -> dict:
    """Wait until the file `go` is there."""
    pathlib.Path("waiting").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
    return {}

@tool(effect="read")
def die(order: Order, call: ToolContext) -> dict:
    """End the process as a crash does."""
    os.kill(os.getpid(), signal.SIGKILL)

@tool(effect="once")
def charge(order: Order, call: ToolContext) -> dict:
    """Charge, once."""
    time.sleep(0.01)
    with open("charges.txt", "a") as file:
        file.write(f"{call.run_id}\\n")
    time.sleep(0.01)
    return {"charged": order.order_id}

def clerk(name, *tools):
    asked = [ModelReply(calls=(AskedCall(t, '{"order_id": "#7"}'),)) for t in (*tools, "answer_user")]
    return Agent(
        name=name, version="1", instructions="Charge.", tools=(wait, die, charge), model=ScriptedModel(asked),
        terminals=(TerminalTool("answer_user", "Answer.", Order, "answered"),),
    )

waits, dies, charges = clerk("waits", "wait"), clerk("dies", "die"), clerk("charges", "wait", "charge")
'''


class Processes:
    """Calls of the program on one store, in one folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        (folder / "till.py").write_text(TILL)
        self._environment = os.environ | {"TACHOGRAPH_STORE": url, "PYTHONDONTWRITEBYTECODE": "1"}
        self._started: list[subprocess.Popen[str]] = []

    def call(self, *words: str) -> str:
        """Call the program, which must do what it is told, and return what it printed."""
        return self._done(*PROGRAM, *words)

    def python(self, program: str) -> str:
        """Run a program of Python in the folder, and return what it printed."""
        return self._done(sys.executable, "-c", program)

    def _done(self, *words: str) -> str:
        done = subprocess.run(words, cwd=self.folder, env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def submit(self, agent: str, *words: str) -> str:
        """Submit a run and return its id."""
        return self.call("submit", f"till:{agent}", "--input", "Charge me.", *words).strip()

    def worker(self, *words: str) -> "subprocess.Popen[str]":
        """Start a worker for all agents."""
        agents = [word for name in ("waits", "dies", "charges") for word in ("--agent", f"till:{name}")]
        process = subprocess.Popen(
            [*PROGRAM, "worker", *agents, *words],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def line_of(self, worker: "subprocess.Popen[str]") -> str:
        """Return the next line that a worker prints."""
        assert worker.stdout is not None
        late = threading.Timer(WAIT_S, worker.kill)
        late.start()
        try:
            return worker.stdout.readline()
        finally:
            late.cancel()

    def until(self, true: Callable[[], Any]) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + WAIT_S
        while not true():
            assert time.monotonic() < deadline, "it took too long"
            time.sleep(0.02)

    def until_waiting(self) -> None:
        """Wait until a run is in its tool."""
        self.until((self.folder / "waiting").exists)

    def go(self) -> None:
        """Let the tools that wait go on."""
        (self.folder / "go").touch()

    @property
    def charges(self) -> list[str]:
        """Ids of the runs that charged, once for each time."""
        file = self.folder / "charges.txt"
        return file.read_text().split() if file.exists() else []

    def close(self) -> None:
        """End what was started."""
        for process in self._started:
            gone(process)


@contextmanager
def processes(folder: Path, url: str) -> Iterator[Processes]:
    """Give calls on a store, and end all processes with the block."""
    started = Processes(folder, url)
    try:
        yield started
    finally:
        started.close()
