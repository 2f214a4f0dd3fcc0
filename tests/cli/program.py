"""Words for tests of the program: what a call gives, and an agent for it to run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from tachograph.cli import main

Answer = dict[str, Any]

PROGRAM = (sys.executable, "-c", "from tachograph.cli import main; main()")

# An agent of the user's own, with tools that take their time, fail, or end the process.
SHOP = '''
import os, pathlib, time
from pydantic import BaseModel
from tachograph import Agent, TerminalTool, tool

class Order(BaseModel):
    order_id: str = ""

class Answer(BaseModel):
    text: str

@tool(effect="read")
def slow_lookup(order: Order) -> dict:
    """Look an order up, and wait until the file `go` is there."""
    pathlib.Path("looked-up").write_text("x")
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
    return {"order_id": order.order_id, "state": "delivered"}

@tool(effect="read")
def leave(order: Order) -> dict:
    """End the process."""
    raise SystemExit(7)

agent = Agent(
    name="shop", version="1", instructions="Be quick.", tools=(slow_lookup, leave),
    terminals=(TerminalTool("answer_user", "Answer.", Answer, "answered"),),
)
not_an_agent = 5
'''

SCRIPT = """
title = "t"
shows = "s"
customer = "c"
input = "i"
expected = { outcome = "answered" }

[[replies]]
calls = [{ name = "TOOL", arguments = { order_id = "#7" } }]

[[replies]]
calls = [{ name = "answer_user", arguments = { text = "It has been delivered." } }]
"""


@dataclass(frozen=True)
class Result:
    """What a call of the program gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Answer:
        """The one object that was printed."""
        [answer] = self.jsons
        return answer

    @property
    def jsons(self) -> list[Answer]:
        """The objects that were printed, one a line."""
        return [json.loads(line) for line in self.out.split("\n")[:-1]]


Call = Callable[..., Result]


def call_program(*words: str, typed: str | None = None) -> Result:
    """Call the program in this process."""
    result = CliRunner().invoke(main, list(words), input=typed, prog_name="tachograph")
    return Result(result.exit_code, result.stdout, result.stderr)


def gone(process: "subprocess.Popen[str]") -> None:
    """End a process that a test has started, if it hasn't ended, and close its pipes."""
    if process.poll() is None:
        process.kill()
    process.communicate()


def owner_of_a_dead_process() -> str:
    """The name of an owner on this host whose process has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return f"{os.uname().nodename}:{done.pid}:0badcafe"
