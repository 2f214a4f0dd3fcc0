"""A run is cancelled at any point: its end is recorded, and nothing of it goes on."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from tachograph import open_store
from tachograph.adapters.cancelling import cancel
from tachograph.adapters.limiting import Gate
from tachograph.adapters.loading import load
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import run
from tachograph.domain.admission import Limit, Limits
from tachograph.domain.errors import RunTakenOver
from tachograph.domain.events import Effect, Event
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import EventStore, ModelReply
from tachograph.domain.tools import Tool, tool

from .story import CONTEXT, DONE, Nothing, NumberedIds, agent, ask, turn

POINTS = ("model", "read", "idempotent", "once", "thread", "model's gate", "tool's gate", "append")


class Held:
    """A place where a run is held, until the test is over."""

    def __init__(self, point: str) -> None:
        self.point = point
        self.reached = asyncio.Event()
        self.released = threading.Event()
        self.ended: list[str] = []

    async def hold(self) -> None:
        self.reached.set()
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0.02)  # Cleaning up takes a moment.
            self.ended.append(self.point)

    def tool(self) -> Tool:
        effect: Effect = self.point if self.point in ("idempotent", "once") else "read"  # type: ignore[assignment]  # as it says
        loop = asyncio.get_running_loop()

        async def probe(arguments: Nothing) -> str:
            """Probe."""
            if self.point in ("read", "idempotent", "once"):
                await self.hold()
            return "fine"

        def in_thread(arguments: Nothing) -> str:
            """Probe."""
            loop.call_soon_threadsafe(self.reached.set)
            self.released.wait()
            return "fine"

        handler: Any = in_thread if self.point == "thread" else probe
        return tool(effect=effect, name="probe")(handler)

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self.point == "model":
            await self.hold()
        return await ScriptedModel([turn(ask("probe")), DONE]).complete(request)


class HeldStore:
    """Tells when the first turn is on its way to the store, and lets it go on."""

    def __init__(self, store: EventStore, held: Held) -> None:
        self._store, self._held = store, held

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, run_id: UUID, events: Sequence[Event], *, expected_version: int) -> int:
        if self._held.point == "append" and expected_version == 1:
            self._held.reached.set()
            await asyncio.sleep(0.01)
        return await self._store.append(run_id, events, expected_version=expected_version)


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventStore]:
    file = tmp_path_factory.mktemp("cancelling") / "store.db"
    store = open_store("memory:" if request.param == "memory" else f"sqlite:///{file}")
    yield store
    store.close()


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_cancelled_stops_at_once(opened: EventStore, point: str) -> None:
    run_id = uuid4()
    limited = {"*": Limit(at_once=1)}
    gates = {"model's gate": Limits(models=limited), "tool's gate": Limits(tools=limited)}

    async def cancelled() -> list[str]:
        held, gate = Held(point), Gate(gates.get(point, Limits()))
        running = asyncio.create_task(
            run(
                agent(held.tool()),
                "Hi",
                CONTEXT,
                model=held,
                store=HeldStore(opened, held),
                ids=NumberedIds(run_id),
                gate=gate,
            )
        )
        if point in gates:
            kind = "model" if point == "model's gate" else "tool"
            async with gate.passed("other", kind, "scripted" if kind == "model" else "probe"):  # type: ignore[arg-type]  # a kind
                await asyncio.sleep(0.1)
                await _cancel_and_wait(running)
        else:
            await held.reached.wait()
            await _cancel_and_wait(running)
        held.released.set()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others
        return held.ended

    async def _cancel_and_wait(running: "asyncio.Task[Any]") -> None:
        outcome = await cancel(run_id, store=opened, actor="ann")
        assert (outcome.outcome, outcome.reason) == ("blocked", "cancelled")
        async with asyncio.timeout(10):
            with pytest.raises(RunTakenOver):
                await running

    ended = asyncio.run(cancelled())
    assert ended == ([point] if point in ("model", "read", "idempotent", "once") else [])
    state = load(opened, run_id)
    assert state.terminal is not None
    assert (state.terminal.outcome, state.terminal.reason, state.terminal.actor) == (
        "blocked",
        "cancelled",
        "ann",
    )


def test_a_caller_that_cancels_its_task_leaves_the_run_open(opened: EventStore) -> None:
    run_id = uuid4()

    async def given_up() -> None:
        held = Held("model")
        running = asyncio.create_task(
            run(agent(held.tool()), "Hi", CONTEXT, model=held, store=opened, ids=NumberedIds(run_id))
        )
        await held.reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert held.ended == ["model"]

    asyncio.run(given_up())
    assert not load(opened, run_id).ended
