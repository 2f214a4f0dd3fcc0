"""Many runs in one process: how many calls are under way, and what a cancelled one leaves behind."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tachograph.adapters.limiting import Gate, read_limits
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import RunOutcome, run
from tachograph.domain.admission import Kind, Limit, Limits
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import InvalidLimits
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import EventStore, ModelReply
from tachograph.domain.tools import Tool, tool

from .story import DONE, Nothing, agent, ask, turn


class Meter:
    """Counts who is at work at once, of each name."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[str] = []

    @asynccontextmanager
    async def at_work(self, *names: str) -> AsyncIterator[None]:
        self.now.update(names)
        self.most |= self.now
        try:
            await asyncio.sleep(0.001)
            yield
        finally:
            self.now.subtract(names)


class SlowModel:
    """Calls `probe` and ends, a moment each time."""

    def __init__(self, meter: Meter, tenant: str) -> None:
        self._meter, self._tenant = meter, tenant
        self._model = ScriptedModel([turn(ask("probe")), DONE])

    async def complete(self, request: ModelRequest) -> ModelReply:
        self._meter.order.append(self._tenant)
        async with self._meter.at_work("model", self._tenant):
            return await self._model.complete(request)


def probe(meter: Meter) -> Tool:
    async def handler(arguments: Nothing) -> str:
        """Probe."""
        async with meter.at_work("tool"):
            return "fine"

    return tool(effect="read", name="probe")(handler)


def context(tenant: str) -> TrustedContext:
    return TrustedContext(trace_id="trace-1", tenant=tenant, actor="clerk")


async def runs_of(store: EventStore, meter: Meter, limits: Limits, *tenants: str) -> list[RunOutcome]:
    clerk, gate = agent(probe(meter)), Gate(limits)
    return await asyncio.gather(
        *(
            run(clerk, "Hi", context(tenant), model=SlowModel(meter, tenant), store=store, gate=gate)
            for tenant in tenants
        )
    )


def test_no_limit_is_exceeded_and_every_run_ends(store: EventStore) -> None:
    meter = Meter()
    limits = Limits(
        tenants={"small": Limit(at_once=1)},
        models={"scripted": Limit(at_once=4)},
        tools={"probe": Limit(at_once=2)},
    )
    outcomes = asyncio.run(runs_of(store, meter, limits, *["small", "big", "big"] * 8))
    assert [outcome.outcome for outcome in outcomes] == ["answered"] * 24
    assert (meter.most["model"], meter.most["tool"], meter.most["small"]) == (4, 2, 1)


def test_tenants_take_turns(memory: EventStore) -> None:
    meter = Meter()
    limits = Limits(models={"*": Limit(at_once=1)})
    asyncio.run(runs_of(memory, meter, limits, *["many"] * 10, "few"))
    assert meter.order[:4].count("few") == 1


@pytest.mark.parametrize("kind", ["model", "tool"])
def test_who_gives_up_waiting_leaves_its_place_to_others(memory: EventStore, kind: Kind) -> None:
    async def given_up() -> RunOutcome:
        meter = Meter()
        limit = {"*": Limit(at_once=1)}
        gate = Gate(Limits(models=limit) if kind == "model" else Limits(tools=limit))
        clerk = agent(probe(meter))

        async def one() -> RunOutcome:
            return await run(clerk, "Hi", context("a"), model=SlowModel(meter, "a"), store=memory, gate=gate)

        async with gate.passed("a", kind, "scripted" if kind == "model" else "probe"):
            first, second = asyncio.create_task(one()), asyncio.create_task(one())
            await asyncio.sleep(0.05)
            first.cancel()
            await asyncio.wait([first])
        return await second

    assert asyncio.run(given_up()).outcome == "answered"


def test_a_file_of_limits(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(
        '[tenants]\n"*" = { at_once = 20 }\n[models]\n"openai:m" = { at_once = 5, per_minute = 600 }\n'
    )
    assert read_limits(file) == Limits({"*": Limit(20)}, {"openai:m": Limit(5, 600)}, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tools]\nread = { at_once = 0 }", "tools.read.at_once: Input should be greater than or equal to 1"),
        ("[tool]\nread = { at_once = 1 }", "tool: Extra inputs are not permitted"),
        ("[tools", "Expected"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(InvalidLimits, match=said):
        read_limits(file)
    with pytest.raises(InvalidLimits, match="No such file"):
        read_limits(tmp_path / "none.toml")
