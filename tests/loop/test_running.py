"""Starting, stopping and ending runs as a library."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest

from tachograph import open_store, run_sync
from tachograph.adapters.cancelling import cancel
from tachograph.adapters.loading import load
from tachograph.adapters.loop import World
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import resume, run
from tachograph.domain.errors import (
    InvalidAgent,
    ModelError,
    RunClosed,
    RunInDoubt,
    RunNotFound,
)
from tachograph.domain.events import Terminal, ToolStarted
from tachograph.domain.messages import ModelRequest
from tachograph.domain.origins import Message
from tachograph.domain.ports import EventStore, ModelReply
from tachograph.domain.tools import ToolContext, tool

from .story import (
    CONTEXT,
    DONE,
    Effects,
    ListeningModel,
    Nothing,
    Order,
    agent,
    ask,
    count_of,
    tell,
    turn,
)

if TYPE_CHECKING:
    pass


class TestProviderFailure:
    def test_the_run_stays_open_and_a_resume_asks_the_same_again(self, store: EventStore) -> None:
        effects = Effects()
        clerk = agent(effects.tool("send", "once"))
        order = turn(ask("send", order_id="#W1"))
        told = tell(store, clerk, order, ModelError("the provider is down"))
        assert isinstance(told.raised, ModelError)
        assert told.kinds[-1] == "tool_call"
        model = ListeningModel(ScriptedModel([order, DONE]))
        outcome = asyncio.run(resume(clerk, told.run_id, model=model, store=store))
        assert (outcome.outcome, outcome.steps) == ("answered", 2)
        assert effects.done == ["send #W1"]
        assert model.requests == [told.requests[-1]]

    @pytest.mark.parametrize("error", [RuntimeError("a bug in the adapter"), TimeoutError()])
    def test_so_it_does_after_an_error_that_nobody_foresaw(
        self, memory: EventStore, error: Exception
    ) -> None:
        class Broken:
            async def complete(self, request: ModelRequest) -> ModelReply:
                raise error

        run_id = uuid4()
        with pytest.raises(type(error)):
            asyncio.run(run(agent(), "Help.", CONTEXT, model=Broken(), store=memory, ids=_Fixed(run_id)))
        outcome = asyncio.run(resume(agent(), run_id, model=ScriptedModel([DONE]), store=memory))
        assert outcome.outcome == "answered"


class _Fixed:
    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id

    def run_id(self) -> UUID:
        return self._run_id

    def owner(self) -> str:
        return "owner"


class TestEnding:
    def test_what_has_ended_is_neither_resumed_nor_cancelled(self, store: EventStore) -> None:
        told = tell(store, agent(), DONE)
        with pytest.raises(RunClosed):
            asyncio.run(resume(agent(), told.run_id, model=ScriptedModel([]), store=store))
        with pytest.raises(RunClosed):
            asyncio.run(cancel(told.run_id, store=store))
        assert told.kinds == ["run_started", "model_turn", "terminal"]

    def test_what_is_not_there_is_neither(self, store: EventStore) -> None:
        with pytest.raises(RunNotFound):
            asyncio.run(resume(agent(), uuid4(), model=ScriptedModel([]), store=store))
        with pytest.raises(RunNotFound):
            asyncio.run(cancel(uuid4(), store=store))

    def test_a_run_is_not_resumed_with_another_agent(self, store: EventStore) -> None:
        told = tell(store, agent(), ModelError("down"))
        other = replace(agent(), name="another")
        with pytest.raises(InvalidAgent):
            asyncio.run(resume(other, told.run_id, model=ScriptedModel([DONE]), store=store))
        assert told.kinds == ["run_started"]

    def test_a_cancelled_run_says_by_whom(self, store: EventStore) -> None:
        told = tell(store, agent(), ModelError("down"))
        outcome = asyncio.run(cancel(told.run_id, store=store, actor="ops"))
        assert (outcome.outcome, outcome.reason) == ("blocked", "cancelled")
        terminal = told.events[-1]
        assert isinstance(terminal, Terminal)
        assert (terminal.reason, terminal.actor) == ("cancelled", "ops")

    def test_a_store_is_opened_and_closed_where_a_url_is_given(self, sqlite_url: str) -> None:
        outcome = run_sync(agent(), "Help.", CONTEXT, model=ScriptedModel([DONE]), store=sqlite_url)
        store = open_store(sqlite_url)
        assert load(store, outcome.run_id).terminal is not None
        store.close()

    def test_several_messages_are_an_input_too(self, store: EventStore) -> None:
        messages = [Message(role="user", content="One."), Message(role="assistant", content="Two.")]
        told = tell(store, agent(), DONE, input=messages)  # type: ignore[arg-type]  # the loop takes both
        assert [message.content for message in told.requests[0].messages] == ["One.", "Two."]


class TestCancellation:
    """The caller gives up, at whatever moment: what is recorded is whole, and the run can be resumed."""

    def cancelled_after(self, store: EventStore, seconds: float) -> bool:
        effects, run_id = Effects(), uuid4()

        @tool(effect="read")
        async def slow(arguments: Nothing) -> str:
            """Take a while."""
            await asyncio.sleep(0.002)
            return "slow"

        clerk = agent(slow, effects.tool("send", "once"), effects.tool("preview", "idempotent"))
        script = [
            turn(ask("slow"), ask("preview", order_id="#W1")),
            turn(ask("send", order_id="#W1")),
            DONE,
        ]

        async def begin_and_give_up() -> bool:
            task = asyncio.create_task(
                run(clerk, "Help.", CONTEXT, model=ScriptedModel(script), store=store, ids=_Fixed(run_id))
            )
            await asyncio.wait({task}, timeout=seconds)
            finished = task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return finished

        finished = asyncio.run(begin_and_give_up())
        if finished or not store.read(run_id):
            return finished
        if not load(store, run_id).ended:
            with suppress(RunInDoubt):
                outcome = asyncio.run(resume(clerk, run_id, model=ScriptedModel(script), store=store))
                assert (outcome.outcome, outcome.reason) == ("answered", None)
        assert count_of(effects.done).get("send #W1", 0) <= 1
        return False

    def test_nothing_is_half_done_whenever_it_comes(self, store: EventStore) -> None:
        step, attempts = 0.001, 0
        while not self.cancelled_after(store, attempts * step):
            attempts += 1
            assert attempts < 400


class TestIdenticalCalls:
    @pytest.mark.case("C068")
    def test_C068_two_identical_requests_for_approval_in_one_turn_create_none(
        self, store: EventStore
    ) -> None:
        request = ask("request_refund_approval", order_id="#W1")
        told = tell(store, agent(), turn(request, request))
        assert told.outcome is not None
        assert (told.outcome.outcome, told.outcome.reason) == ("blocked", "ambiguous_terminal_calls")
        assert told.results == []

    @pytest.mark.case("C068")
    def test_C068_identical_calls_of_a_tool_carry_the_same_key(self, store: EventStore) -> None:
        """So that whoever executes them can tell that they are one."""
        keys: list[str] = []

        @tool(effect="idempotent")
        def refund(arguments: Order, context: ToolContext) -> None:
            """Refund."""
            keys.append(context.idempotency_key)

        first, other = ask("refund", order_id="#W1"), ask("refund", order_id="#W2")
        told = tell(store, agent(refund), turn(first, first, other), turn(first), DONE)
        assert told.outcome is not None
        assert keys[0] == keys[1] == keys[3] != keys[2]
        started = [event for event in told.events if isinstance(event, ToolStarted)]
        assert [event.idempotency_key for event in started] == keys

    @pytest.mark.case("C068")
    def test_C068_a_limit_of_one_lets_the_first_through_and_blocks_the_second(
        self, store: EventStore
    ) -> None:
        effects = Effects()
        clerk = agent(effects.tool("send", "once"))
        clerk = replace(clerk, budget=clerk.budget.model_copy(update={"max_identical_calls": 1}))
        order = ask("send", order_id="#W1")
        told = tell(store, clerk, turn(order, order), DONE)
        assert told.outcome is not None
        assert (told.outcome.reason, effects.done) == ("identical_calls_exceeded", ["send #W1"])


def test_the_ports_have_defaults() -> None:
    world = World(open_store("memory:"), ScriptedModel([]))
    assert world.clock.now().utcoffset() is not None
    assert world.ids.run_id() != world.ids.run_id()
    assert world.ids.run_id().version == 7
    assert world.ids.owner() != world.ids.owner()
