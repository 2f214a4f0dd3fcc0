"""A store that fails under a run: nothing is done that can't be recorded."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tachograph import open_store
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import resume, run
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.errors import (
    RunInDoubt,
    StoreError,
)
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import ModelReply

from .story import (
    CONTEXT,
    DONE,
    Effects,
    agent,
    ask,
    probe,
    tell,
    turn,
)

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer


class TestStoreFailure:
    @pytest.fixture
    def sqlite(self, sqlite_url: str) -> Iterator[RecordedEventStore]:
        opened = open_store(sqlite_url)
        assert isinstance(opened, RecordedEventStore)
        yield opened
        opened.close()

    def set_pages(self, store: RecordedEventStore, more: int) -> None:
        with store.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA page_count")
            pages = cursor.fetchone()[0]
            cursor.execute(f"PRAGMA max_page_count={pages + more}")

    @pytest.mark.case("C112")
    def test_C112_a_full_disk_stops_the_run_before_the_next_handler_and_space_lets_it_go_on(
        self, sqlite: RecordedEventStore
    ) -> None:
        effects = Effects()
        big = probe(lambda: os.urandom(300_000).hex())
        clerk = agent(big, effects.tool("send", "once"))
        calls = turn(ask("probe"), ask("send", order_id="#W1"))
        tell(sqlite, agent(), DONE)
        self.set_pages(sqlite, 10)
        told = tell(sqlite, clerk, calls, DONE)
        assert isinstance(told.raised, StoreError)
        assert "full" in str(told.raised)
        assert effects.done == []
        assert told.kinds == ["run_started", "model_turn"]
        self.set_pages(sqlite, 100_000)
        outcome = asyncio.run(resume(clerk, told.run_id, model=ScriptedModel([calls, DONE]), store=sqlite))
        assert (outcome.outcome, effects.done) == ("answered", ["send #W1"])

    @pytest.mark.case("C112")
    def test_C112_a_once_tool_whose_result_does_not_fit_is_in_doubt_and_not_run_again(
        self, sqlite: RecordedEventStore
    ) -> None:
        ran: list[int] = []

        def send() -> str:
            ran.append(1)
            return os.urandom(300_000).hex()

        clerk = agent(probe(send, "once"))
        self.set_pages(sqlite, 10)
        told = tell(sqlite, clerk, turn(ask("probe")), DONE)
        assert isinstance(told.raised, StoreError)
        assert told.kinds == ["run_started", "model_turn", "tool_started"]
        self.set_pages(sqlite, 100_000)
        with pytest.raises(RunInDoubt):
            asyncio.run(
                resume(clerk, told.run_id, model=ScriptedModel([turn(ask("probe")), DONE]), store=sqlite)
            )
        assert ran == [1]

    @pytest.mark.case("C107")
    def test_C107_a_model_call_that_outlives_the_idle_connection_loses_nothing(
        self, postgres_schema_url: str, postgres_server: "PostgresServer"
    ) -> None:
        store = open_store(postgres_schema_url)

        class Slow(ScriptedModel):
            async def complete(self, request: ModelRequest) -> ModelReply:
                await asyncio.to_thread(postgres_server.end_sessions, postgres_schema_url)
                return await super().complete(request)

        effects = Effects()
        clerk = agent(effects.tool("send", "once"))
        model = Slow([turn(ask("send", order_id="#W1"))] * 3 + [DONE])
        outcome = asyncio.run(run(clerk, "Help.", CONTEXT, model=model, store=store))
        assert (outcome.outcome, outcome.version) == ("answered", 1 + 3 * 3 + 2)
        assert effects.done == ["send #W1"] * 3
        store.close()

    def test_a_handler_does_not_run_when_its_start_can_not_be_recorded(
        self, sqlite_url: str, tmp_path: Path
    ) -> None:
        """The store closes between the turn and the start of the call."""
        effects, store = Effects(), open_store(sqlite_url)

        class ClosesTheStore(ScriptedModel):
            async def complete(self, request: ModelRequest) -> ModelReply:
                if request.step == 2:
                    store.close()
                return await super().complete(request)

        clerk = agent(effects.tool("send", "once"))
        order = turn(ask("send", order_id="#W1"))
        with pytest.raises(StoreError):
            asyncio.run(run(clerk, "Help.", CONTEXT, model=ClosesTheStore([order, order]), store=store))
        assert effects.done == ["send #W1"]
