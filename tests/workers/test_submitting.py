"""Submitting: what is recorded, what is in the queue, and that the one is never there without the other."""

import asyncio
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.cancelling import cancel
from tachograph.adapters.running import run
from tachograph.adapters.workers.jobs import create_tables, queue_name
from tachograph.adapters.workers.queues import open_queue
from tachograph.adapters.workers.submitting import requeue, submit
from tachograph.domain.errors import RunClosed, StoreError
from tachograph.domain.events import RunStarted
from tachograph.domain.origins import QUEUE, Queued
from tachograph.domain.ports import EventStore

from .story import CONTEXT, LOOKS_UP, Shop, clerk, in_an_hour

JOBS = "SELECT args ->> 'id', queue_name, priority, status::text FROM procrastinate_jobs ORDER BY id"


class TestEitherStore:
    def test_the_record_begins_and_nobody_has_the_run(self, shop: Shop) -> None:
        at = in_an_hour()
        run_id = shop.submits(priority=3, not_before=at, model_name="scripted:x")
        [started] = shop.history(run_id)
        assert isinstance(started, RunStarted)
        assert (started.owner, started.agent) == (QUEUE, "clerk")
        assert started.queued == Queued(priority=3, not_before=at, model="scripted:x")

    def test_the_same_request_is_the_same_run(self, shop: Shop) -> None:
        first = shop.submitted(request_id="r-1")
        again = shop.submitted(request_id="r-1")
        assert (first.already, again.already) == (False, True)
        assert (again.run_id, again.trace_id) == (first.run_id, first.trace_id)
        assert [worked.id for worked in shop.works()] == [first.run_id]
        assert shop.submitted(request_id="r-1").run_id == first.run_id
        assert shop.works() == []

    def test_so_is_one_that_was_run_at_once(self, shop: Shop) -> None:
        outcome = asyncio.run(run(shop.agent, "Where?", CONTEXT, store=shop.store, request_id="r-2"))
        assert shop.submitted(request_id="r-2").run_id == outcome.run_id
        assert shop.works() == []

    def test_many_at_once_with_one_request_are_one_run(self, shop: Shop) -> None:
        async def all_at_once() -> list[UUID]:
            queue = open_queue(shop.store)
            each = [
                submit(shop.agent, "Where?", CONTEXT, store=shop.store, queue=queue, request_id="r-3")
                for _ in range(12)
            ]
            return [submitted.run_id for submitted in await asyncio.gather(*each)]

        assert len(set(asyncio.run(all_at_once()))) == 1
        assert len(shop.works()) == 1

    def test_a_run_that_has_ended_can_not_be_put_back(self, shop: Shop) -> None:
        run_id = shop.submits()
        shop.works()
        with pytest.raises(RunClosed):
            asyncio.run(requeue(run_id, "again", store=shop.store))


class TestPostgres:
    @pytest.fixture
    def shop(self, postgres_schema_url: str) -> Any:
        store = open_store(postgres_schema_url)
        yield Shop(store)
        store.close()

    @pytest.fixture
    def database(self, postgres_schema_url: str) -> Any:
        with psycopg.connect(postgres_schema_url, autocommit=True) as connection:
            yield connection

    def test_a_run_has_one_job(self, shop: Shop, database: "psycopg.Connection[Any]") -> None:
        run_id = shop.submits(priority=4, request_id="r-1")
        shop.submits(priority=4, request_id="r-1")
        assert database.execute(JOBS.encode()).fetchall() == [
            (str(run_id), "tachograph:clerk", 4, "todo"),
        ]

    def test_a_run_whose_job_can_not_be_stored_is_not_recorded(
        self, shop: Shop, database: "psycopg.Connection[Any]"
    ) -> None:
        create_tables(shop.store.datastore)  # type: ignore[attr-defined]  # of a store in a database
        database.execute("ALTER TABLE procrastinate_jobs ADD CHECK (priority < 9)")
        with pytest.raises(StoreError, match="the queue could not take it"):
            shop.submits(priority=9, request_id="r-1")
        assert shop.store.head() == 0
        assert shop.submitted(priority=1, request_id="r-1").already is False

    def test_a_run_that_can_not_be_recorded_has_no_job(
        self, shop: Shop, database: "psycopg.Connection[Any]"
    ) -> None:
        create_tables(shop.store.datastore)  # type: ignore[attr-defined]  # of a store in a database
        database.execute("ALTER TABLE stored_events ADD CHECK (topic <> 'run_started')")
        with pytest.raises(StoreError, match="could not append"):
            shop.submits()
        assert database.execute(JOBS.encode()).fetchall() == []

    def test_a_run_that_waits_in_the_queue_is_not_put_in_twice(self, shop: Shop) -> None:
        run_id = shop.submits()
        with pytest.raises(StoreError, match="is in the queue already"):
            asyncio.run(requeue(run_id, "hurry", store=shop.store))
        assert len(shop.history(run_id)) == 1

    def test_a_run_whose_job_was_lost_can_be_put_back(
        self, shop: Shop, database: "psycopg.Connection[Any]"
    ) -> None:
        run_id = shop.submits()
        database.execute("TRUNCATE procrastinate_jobs CASCADE")
        assert shop.works() == []
        asyncio.run(requeue(run_id, "the queue was lost", store=shop.store))
        assert [worked.id for worked in shop.works()] == [run_id]

    def test_behind_a_transaction_pooler_nobody_listens(self, postgres_schema_url: str) -> None:
        """No pooler is in between here: what the parameter leaves out is not needed."""
        store = open_store(f"{postgres_schema_url}&pooler=transaction")
        shop = Shop(store)
        run_id = shop.submits()
        assert [worked.id for worked in shop.works()] == [run_id]
        store.close()

    def test_a_run_that_was_cancelled_ends_its_job(
        self, shop: Shop, database: "psycopg.Connection[Any]"
    ) -> None:
        run_id = shop.submits()
        asyncio.run(cancel(run_id, store=shop.store))
        assert shop.works() == []
        assert database.execute(JOBS.encode()).fetchall() == []


def test_two_processes_that_make_the_tables_at_once_both_can(postgres_schema_url: str) -> None:
    async def both() -> None:
        stores: list[Any] = [open_store(postgres_schema_url) for _ in range(4)]
        await asyncio.gather(*(asyncio.to_thread(create_tables, store.datastore) for store in stores))
        for store in stores:
            store.close()

    asyncio.run(both())


@pytest.mark.parametrize(
    "name", ["clerk", "a" * 200, "Ünïcode\n\x00", "with space", "", "x'; DROP TABLE jobs"]
)
def test_each_agent_has_a_queue_that_postgres_can_name_a_channel_after(name: str) -> None:
    named = queue_name(name)
    assert len(f"procrastinate_queue_v1#{named}".encode()) < 64
    assert named.isprintable()


def test_an_agent_of_any_name_is_served(database: EventStore) -> None:
    shop = Shop(database, clerk(*LOOKS_UP, name=f"{'Ä' * 150}\n#"))
    run_id = shop.submits()
    assert [worked.id for worked in shop.works()] == [run_id]
