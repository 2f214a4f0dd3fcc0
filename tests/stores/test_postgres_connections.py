"""PostgreSQL with connections that break, servers that restart, and locks that last."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.errors import StoreError, VersionConflict

from .proxy import Proxy, proxy_to
from .samples import (
    RUN,
    append,
    history,
    postgres_store,
    recorded,
    rows,
    run_ids,
    started,
    turn,
)

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer


@pytest.fixture
def url(postgres_schema_url: str) -> str:
    return postgres_schema_url


@pytest.fixture
def store(url: str) -> Iterator[RecordedEventStore]:
    store = postgres_store(url)
    yield store
    store.close()


@pytest.fixture
def proxy(postgres_server: "PostgresServer") -> Iterator[Proxy]:
    with proxy_to(postgres_server.folder) as proxy:
        yield proxy


@pytest.fixture
def lossy(proxy: Proxy, url: str, postgres_server: "PostgresServer") -> Iterator[RecordedEventStore]:
    """A store that reaches its server through the proxy."""
    store = postgres_store(url.replace(str(postgres_server.folder), str(proxy.folder)))
    yield store
    store.close()


class TestLostConnections:
    @pytest.mark.case("C107")
    def test_C107_an_append_after_the_server_closed_the_idle_connection_is_stored_once(
        self, store: RecordedEventStore, url: str, postgres_server: "PostgresServer"
    ) -> None:
        append(store, history(2))
        for version in (2, 3, 4):
            postgres_server.end_sessions(url)
            assert append(store, [turn(version)], version) == version + 1
        assert store.read(RUN) == recorded(history(5))

    @pytest.mark.case("C107")
    def test_C107_reading_after_the_server_closed_every_idle_connection(
        self, store: RecordedEventStore, url: str, postgres_server: "PostgresServer"
    ) -> None:
        append(store, history(3))
        with ConnectionsInUse(store, 4):
            pass
        postgres_server.end_sessions(url)
        assert store.read(RUN) == recorded(history(3))
        assert store.head() == 3

    @pytest.mark.case("C108")
    @pytest.mark.parametrize("what", ["request", "reply"])
    def test_C108_a_connection_that_breaks_around_the_commit_stores_exactly_once(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str, what: Any
    ) -> None:
        """A lost reply is a commit that happened and was not heard of; a lost request one that didn't."""
        append(lossy, history(2))
        for version in (2, 3):
            proxy.lose(what)
            assert append(lossy, [turn(version)], version) == version + 1
        assert proxy.lost == 2
        assert lossy.read(RUN) == recorded(history(4))
        assert len(rows(lossy, url)) == 4

    @pytest.mark.case("C108")
    @pytest.mark.parametrize("what", ["request", "reply"])
    def test_C108_a_whole_batch_around_the_commit(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str, what: Any
    ) -> None:
        append(lossy, [started()])
        runs = run_ids(12)

        async def batch() -> list[int]:
            appends = [lossy.append(run_id, history(3), expected_version=0) for run_id in runs]
            return await asyncio.gather(*appends)

        proxy.lose(what)
        assert asyncio.run(batch()) == [3] * 12
        assert proxy.lost == 1
        assert [lossy.read(run_id) for run_id in runs] == [recorded(history(3), run_id) for run_id in runs]
        assert len(rows(lossy, url)) == 1 + 12 * 3

    @pytest.mark.case("C108")
    def test_C108_a_lost_request_that_another_writer_came_before_is_a_conflict(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str
    ) -> None:
        append(lossy, [started()])
        other = postgres_store(url)
        proxy.lose("request", meanwhile=lambda: append(other, [turn(1, "another writer's")], 1))
        with pytest.raises(VersionConflict):
            append(lossy, [turn(1, "mine")], 1)
        assert lossy.read(RUN) == recorded([started(), turn(1, "another writer's")])
        other.close()

    @pytest.mark.case("C108")
    def test_C108_a_lost_reply_is_found_even_when_the_run_has_moved_on_since(
        self, lossy: RecordedEventStore, proxy: Proxy, url: str
    ) -> None:
        append(lossy, [started()])
        other = postgres_store(url)
        proxy.lose("reply", meanwhile=lambda: append(other, [turn(2)], 2))
        assert append(lossy, [turn(1)], 1) == 2
        assert lossy.read(RUN) == recorded(history(3))
        other.close()


class ConnectionsInUse:
    """Makes the pool open that many connections."""

    def __init__(self, store: RecordedEventStore, count: int) -> None:
        self._held = [store.datastore.get_connection() for _ in range(count)]

    def __enter__(self) -> None:
        for connection in self._held:
            connection.__enter__()

    def __exit__(self, *_: object) -> None:
        for connection in self._held:
            connection.__exit__(None, None, None)


class TestServer:
    def test_appends_go_on_through_a_restart_of_the_server(
        self, store: RecordedEventStore, postgres_server: "PostgresServer"
    ) -> None:
        runs, appended, restarted = run_ids(4), Counter[UUID](), asyncio.Event()

        async def write(run_id: UUID) -> None:
            left = 10
            while left:
                left -= restarted.is_set()
                version = appended[run_id]
                events = [turn(version + 1)]
                assert await store.append(run_id, events, expected_version=version) == version + 1
                appended[run_id] += 1

        async def restart() -> None:
            while appended.total() < 40:
                await asyncio.sleep(0.001)
            await asyncio.to_thread(postgres_server.stop)
            await asyncio.to_thread(postgres_server.start)
            restarted.set()

        async def everything() -> None:
            await asyncio.gather(restart(), *map(write, runs))

        asyncio.run(everything())
        assert [store.read(run_id) for run_id in runs] == [
            recorded([turn(version + 1) for version in range(appended[run_id])], run_id) for run_id in runs
        ]
        assert len(store.read_log(limit=100_000)) == appended.total()

    def test_a_server_that_is_down_is_an_error_in_bounded_time_and_forgotten_afterwards(
        self, url: str, postgres_server: "PostgresServer"
    ) -> None:
        store = postgres_store(url, retry_s=0.5, connect_s=0.3)
        append(store, history(2))

        async def many() -> list[int | BaseException]:
            appends = [store.append(run_id, [started()], expected_version=0) for run_id in run_ids(30)]
            return await asyncio.wait_for(asyncio.gather(*appends, return_exceptions=True), timeout=10)

        postgres_server.stop()
        try:
            for refused in (lambda: append(store, [turn(2)], 2), lambda: store.read(RUN), store.head):
                with pytest.raises(StoreError):
                    refused()
            answers = asyncio.run(many())
            assert {type(answer) for answer in answers} == {StoreError}
            with pytest.raises(StoreError, match="could not open: connection is bad"):
                postgres_store(url)
        finally:
            postgres_server.start()
        assert append(store, [turn(2)], 2) == 3
        assert store.read(RUN) == recorded(history(3))
        store.close()

    @pytest.mark.slow
    def test_the_default_patience_with_a_server_that_is_down(
        self, url: str, postgres_server: "PostgresServer"
    ) -> None:
        store = open_store(url)
        append(store, history(2))
        postgres_server.stop()
        try:
            began = time.monotonic()
            with pytest.raises(StoreError):
                append(store, [turn(2)], 2)
            assert time.monotonic() - began < 30
        finally:
            postgres_server.start()
        assert append(store, [turn(2)], 2) == 3
        store.close()

    def test_a_table_locked_by_somebody_is_waited_for(self, store: RecordedEventStore, url: str) -> None:
        append(store, history(2))
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE stored_events IN EXCLUSIVE MODE")

            async def append_behind_it() -> int:
                waiting = asyncio.create_task(store.append(RUN, [turn(2)], expected_version=2))
                done, _ = await asyncio.wait({waiting}, timeout=0.2)
                assert done == set()
                await asyncio.to_thread(other.commit)
                return await waiting

            assert asyncio.run(append_behind_it()) == 3
