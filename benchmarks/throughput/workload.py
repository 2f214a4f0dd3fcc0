"""The refund run that every contestant executes, and the stopwatch that times its steps."""

import asyncio
import time
from collections.abc import Iterable
from hashlib import shake_256
from itertools import pairwise
from typing import Any

PLAN = ("policy_search", "order_read", "refund_preview", "policy_search", "request_refund_approval")
TERMINAL_TOOL = "request_refund_approval"
STEPS_PER_RUN = 2 * len(PLAN)
MARKS_PER_RUN = STEPS_PER_RUN + 1


class IncompleteRun(Exception):
    """A contestant skipped, repeated or did not store a step, so its figures mean nothing."""


class Workload:
    """
    Play the model and the tools of the run, and note the moment of each call.

    A step lasts from its own call to the next one, less the model's delay: by then it is durable.
    `finish` gives the end of the last step, which makes eleven marks for ten steps.

    Args:
        delay_s: How long the model takes for a turn.
    """

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self._marks: dict[str, list[int]] = {}

    def ask_model(self, run_id: str, turn: int) -> dict[str, Any]:
        """Return the scripted model turn, about 500 bytes as JSON, once the model's delay is over."""
        self._mark(run_id)
        if self.delay_s:
            time.sleep(self.delay_s)
        return self._turn(run_id, turn)

    async def ask_model_async(self, run_id: str, turn: int) -> dict[str, Any]:
        """Return what `ask_model` does, without blocking the event loop."""
        self._mark(run_id)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        return self._turn(run_id, turn)

    def _turn(self, run_id: str, turn: int) -> dict[str, Any]:
        return {
            "text": _filler(f"{run_id}/text/{turn}", 250),
            "tool": PLAN[turn],
            "call_id": f"call-{run_id[-12:]}-{turn}",
            "arguments": {"order_id": f"ORD-{run_id}", "reason": _filler(f"{run_id}/reason/{turn}", 40)},
            "usage": {"tokens_in": 812, "tokens_out": 96},
        }

    def execute_tool(self, run_id: str, turn: int) -> dict[str, Any]:
        """Return the scripted output: about 1 KB as JSON, 100 bytes for the terminal tool."""
        self._mark(run_id)
        if PLAN[turn] == TERMINAL_TOOL:
            return {"ok": True, "approval_id": f"APR-{run_id}", "status": "pending"}
        rows = [{"id": row, "text": _filler(f"{run_id}/row/{turn}/{row}", 200)} for row in range(4)]
        return {"ok": True, "tool": PLAN[turn], "rows": rows, "total_cents": 12900}

    def finish(self, run_id: str) -> None:
        """Note the end of a run, once its last step is durable."""
        self._mark(run_id)

    def step_durations_ms(self, run_ids: Iterable[str]) -> list[float]:
        """Return the duration of every step of these runs, sorted; raise IncompleteRun if any is missing."""
        durations: list[float] = []
        for run_id in run_ids:
            marks = self._marks.get(run_id, [])
            if len(marks) != MARKS_PER_RUN:
                raise IncompleteRun(f"{run_id} has {len(marks)} marks instead of {MARKS_PER_RUN}")
            for step, (start, end) in enumerate(pairwise(marks)):
                durations.append((end - start) / 1e6 - (self.delay_s * 1e3 if step % 2 == 0 else 0))
        return sorted(durations)

    def _mark(self, run_id: str) -> None:
        self._marks.setdefault(run_id, []).append(time.perf_counter_ns())


def _filler(seed: str, length: int) -> str:
    """Return text that is different for each seed and hardly compresses."""
    return shake_256(seed.encode()).hexdigest(length // 2)
