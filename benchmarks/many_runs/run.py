"""
What one process needs for many runs at once: memory of a run that waits for its model, and CPU of a step.

    python benchmarks/many_runs/run.py [--runs 5000]

All runs of a fresh store wait in their second model call, then go on to their end: 2 turns, 1 call of a tool.
Memory is the growth of the process's resident set between the start and the moment in which all wait, in a
process of its own; CPU is that of the process from that moment on, and of the whole.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pydantic import BaseModel

import tachograph
from tachograph.domain.budget import Usage
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import AskedCall, ModelReply

TURNS = 5
STEPS = 2 * TURNS


class Order(BaseModel):
    """What the model sends with each call."""

    order_id: str
    reason: str


class Waiting:
    """A model that lets all runs wait in their second turn until all are there."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._there = 0
        self.all_wait = asyncio.Event()
        self.go_on = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer with the next call of the plan."""
        if request.step == 2:
            self._there += 1
            if self._there == self._runs:
                self.all_wait.set()
            await self.go_on.wait()
        name = "order_read" if request.step < TURNS else "answer"
        arguments = json.dumps({"order_id": f"ORD-{request.step}", "reason": "r" * 40})
        return ModelReply(
            text="t" * 250,
            calls=(AskedCall(name, arguments, f"call-{request.step}"),),
            finish_reason="tool_calls",
            usage=Usage(tokens_in=812, tokens_out=96),
        )


@tachograph.tool(effect="read")
async def order_read(arguments: Order) -> dict[str, object]:
    """Read an order."""
    return {"id": arguments.order_id, "rows": [{"id": row, "text": "x" * 200} for row in range(4)]}


AGENT = tachograph.Agent(
    name="waiting",
    version="1",
    instructions="Help.",
    tools=(order_read,),
    terminals=(tachograph.TerminalTool("answer", "Answer.", Order, "answered"),),
)


async def measure(url: str, runs: int) -> dict[str, float]:
    """Let so many runs wait at once, then end them all."""
    store = tachograph.open_store(url)
    context = tachograph.TrustedContext(trace_id="many")
    await tachograph.run(AGENT, "Hello", context, model=_immediately(), store=store)
    model = Waiting(runs)
    rss_before, cpu_before, began = _rss(), time.process_time(), time.perf_counter()
    tasks = [
        asyncio.create_task(tachograph.run(AGENT, "Hello", context, model=model, store=store))
        for _ in range(runs)
    ]
    await model.all_wait.wait()
    rss_waiting = _rss()
    waited_s = time.perf_counter() - began
    model.go_on.set()
    outcomes = await asyncio.gather(*tasks)
    took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_before
    assert all(outcome.outcome == "answered" for outcome in outcomes)
    store.close()
    return {
        "kb_per_waiting_run": (rss_waiting - rss_before) / runs / 1000,
        "peak_mb": _peak_mb(),
        "cpu_ms_per_step": cpu_s * 1000 / runs / STEPS,
        "all_wait_after_s": waited_s,
        "runs_per_s": runs / took_s,
    }


def _immediately() -> Waiting:
    model = Waiting(1)
    model.go_on.set()
    return model


def _rss() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1000


def main() -> None:
    """Measure in processes of their own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--runs", type=int, default=5_000)
    parser.add_argument("--url", help="measure this store alone, in this process, and print JSON")
    options = parser.parse_args()
    if options.url:
        print(json.dumps(asyncio.run(measure(options.url, options.runs))))
        return
    rows = []
    for runs in sorted({64, 512, options.runs}):
        with tempfile.TemporaryDirectory() as directory:
            for name, url in (("memory", "memory:"), ("SQLite", f"sqlite:///{directory}/store.db")):
                command = [sys.executable, __file__, "--url", url, "--runs", str(runs)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rows.append((name, runs, json.loads(done.stdout)))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}")
    print("SQLite: WAL, synchronous=FULL")
    print()
    print("| store | runs at once | KB per waiting run | peak MB | CPU ms per step | runs/s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, runs, found in rows:
        print(
            f"| {name} | {runs} | {found['kb_per_waiting_run']:.1f} | {found['peak_mb']:.0f} | "
            f"{found['cpu_ms_per_step']:.3f} | {found['runs_per_s']:.0f} |"
        )


if __name__ == "__main__":
    main()
