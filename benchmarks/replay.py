"""
How fast recorded runs are replayed: decided again and compared, event by event.

    python benchmarks/replay.py [--runs 2000] [--repetitions 3]

Two agents: one without the evidence gate (four tool calls of about 1 KB and a terminal, twelve events a
run), and the bundled refund agent, whose gate searches all evidence again before it lets a run end. First
the replay alone, on one core, of runs that are in memory; then `replay --all` out of a SQLite file, on all
cores.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel
from rebuild_and_catch_up import machine  # type: ignore[import-not-found]  # beside

from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, run, tool
from tachograph.adapters.collector import collector_paused
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import load_scenario
from tachograph.adapters.replaying import ReplayRuns
from tachograph.adapters.spreading import Spread, cores_here, spread
from tachograph.domain.events import Entry
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.domain.replaying import replay

WORK = ("look", "look", "note", "look")


class Question(BaseModel):
    """What every tool takes."""

    query: str


@tool(effect="read")
def look(question: Question) -> dict[str, object]:
    """Look something up."""
    return {"rows": [{"id": number, "text": "some text about it " * 4} for number in range(12)]}


@tool(effect="idempotent")
def note(question: Question) -> dict[str, object]:
    """Note something."""
    return {"noted": True}


PLAIN = Agent(
    name="plain",
    version="1",
    instructions="Help.",
    tools=(look, note),
    terminals=(TerminalTool("answer_user", "Answer.", Question, "answered"),),
)
PLAIN_SCRIPT = [
    ModelReply(text="x" * 500, calls=(AskedCall(name, '{"query":"q"}'),), finish_reason="tool_calls")
    for name in (*WORK, "answer_user")
]


class Known:
    """The two agents by name."""

    def __call__(self, name: str) -> Agent | None:
        """Return the agent of this name."""
        return {agent.name: agent for agent in (PLAIN, refund_agent)}.get(name)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    scenario = load_scenario("approval_requested")
    with tempfile.TemporaryDirectory() as folder:
        print(machine(Path(folder)))
        kinds: list[tuple[str, Agent, Sequence[ModelReply], str, TrustedContext, int]] = [
            ("no gate", PLAIN, PLAIN_SCRIPT, "Hello.", TrustedContext(trace_id="plain"), options.runs),
            (
                "evidence gate",
                refund_agent,
                scenario.replies,
                scenario.input,
                scenario.context,
                options.runs // 10,
            ),
        ]
        for name, agent, script, said, context, runs in kinds:
            url = f"sqlite:///{folder}/{agent.name}.db"
            store = open_store(url)
            asyncio.run(filled(store, agent, script, said, context, runs))
            measure(name, agent, url, store, options.repetitions)
            store.close()


def measure(name: str, agent: Agent, url: str, store: EventStore, repetitions: int) -> None:
    """Measure one kind of run."""
    ids = [entry.run_id for entry in store.read_log(limit=10_000_000) if entry.kind == "run_started"]
    runs: list[list[Entry]] = [store.read(run_id) for run_id in ids]
    events = sum(map(len, runs))

    def alone() -> None:
        with collector_paused():  # As `replay_run` does.
            for entries in runs:
                assert replay(agent, entries) == (), "unchanged code drifts nowhere"

    def whole() -> None:
        for replayed in spread(ReplayRuns(Known()), ids, store, url, Spread()):
            assert not replayed.drifts, "unchanged code drifts nowhere"

    print(f"{name}: {len(runs):,} runs, {events:,} events")
    report("replay alone, one core", alone, events, repetitions)
    report(f"replay --all out of SQLite, {cores_here()} cores", whole, events, repetitions)


def report(what: str, work: Callable[[], None], events: int, repetitions: int) -> None:
    """Time some work and print its rate."""
    rates: list[float] = []
    for _ in range(repetitions):
        started = time.perf_counter()
        work()
        rates.append(events / (time.perf_counter() - started))
    middle = statistics.median(rates)
    print(f"  {what:34} {middle:8,.0f} events/s ({min(rates):,.0f} to {max(rates):,.0f})")


async def filled(
    store: EventStore,
    agent: Agent,
    script: Sequence[ModelReply],
    said: str,
    context: TrustedContext,
    runs: int,
) -> None:
    """Run an agent many times."""
    admitted = asyncio.Semaphore(64)

    async def one() -> None:
        async with admitted:
            await run(agent, said, context, model=ScriptedModel(script), store=store)

    await asyncio.gather(*(one() for _ in range(runs)))


if __name__ == "__main__":
    main()
