"""
The rest of the crash matrix: approvals killed at every point, many runs in one commit, and a world in which
the server restarts, the file is locked and the clock goes back.

The runs that are killed by themselves are in `test_crash.py`.
"""

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from tachograph import open_store
from tachograph.adapters.approving import load_approval
from tachograph.adapters.loading import load
from tachograph.adapters.running import resume, run
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.errors import ApprovalNotFound, RunClosed, RunInDoubt, RunNotFound
from tachograph.domain.events import Effect
from tachograph.domain.ports import EventStore

from .processes import Worker, worker
from .victim import ASKING, CONTEXT, MANY, CrashingStore, FixedId, Kill, When, World

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer

KILLED = {"signal": 9}
WHEN: tuple[When, ...] = ("before", "after")
# run_started, turn, tool_call, turn, then the terminal with the request for the approval.
ASKED = 5


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('matrix') / 'store.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_schema()


@pytest.fixture(scope="module")
def processes() -> Iterator[Worker]:
    with worker() as started:
        yield started


def effects(file: Path, name: str) -> list[str]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in lines if line.startswith(name)]


class TestApprovals:
    @pytest.mark.parametrize("when", WHEN)
    def test_a_kill_around_the_request_leaves_both_the_end_and_the_approval_or_neither(
        self, processes: Worker, url: str, effects_file: Path, when: When
    ) -> None:
        job = {"url": url, "run_id": uuid4(), "effects": effects_file}
        assert processes.do(do="ask", kill={"append": ASKED, "when": when}, **job) == KILLED
        store = open_store(url)
        asked = bool(store.read(approval_id_of(job["run_id"])))  # type: ignore[arg-type]  # a run id
        assert (asked, load(store, job["run_id"]).ended) == (when == "after", when == "after")  # type: ignore[arg-type]  # the same
        if when == "before":
            again = World(effects_file)
            asyncio.run(resume(again.agent(), job["run_id"], model=again.model(ASKING), store=store))  # type: ignore[arg-type]  # the same
        assert load_approval(store, approval_id_of(job["run_id"])).status == "pending"  # type: ignore[arg-type]  # the same
        store.close()

    @pytest.mark.parametrize("effect", ["idempotent", "once"])
    @pytest.mark.parametrize(
        "kill",
        [
            {"append": 1, "when": "before"},
            {"append": 1, "when": "after"},
            {"tool": "refund_execute", "when": "before"},
            {"tool": "refund_execute", "when": "after"},
            {"append": 2, "when": "before"},
            {"append": 2, "when": "after"},
        ],
        ids=str,
    )
    def test_a_grant_that_is_killed_never_pays_twice(
        self, processes: Worker, url: str, effects_file: Path, kill: Kill, effect: Effect
    ) -> None:
        job = {"url": url, "run_id": uuid4(), "effects": effects_file, "effect": effect}
        assert processes.do(do="ask", **job) == {"outcome": "approval_requested", "reason": None}
        assert processes.do(do="grant", kill=kill, **job) == KILLED
        granted = kill != {"append": 1, "when": "before"}
        recorded = kill == {"append": 2, "when": "after"}
        paid_already = kill in (
            {"tool": "refund_execute", "when": "after"},
            {"append": 2, "when": "before"},
            {"append": 2, "when": "after"},
        )
        after = processes.do(do="pick_up", **job)
        found = effects(effects_file, "refund_execute")
        keys = {line.split()[2] for line in found}
        assert len(keys) <= 1
        if not granted:
            assert after == {"status": "pending", "execution": "none"}
            assert found == []
            assert processes.do(do="grant", **job) == {"status": "granted", "execution": "done"}
            assert len(effects(effects_file, "refund_execute")) == 1
        elif recorded:
            assert (after["execution"], len(found)) == ("done", 1)
        elif effect == "once":
            assert (after["execution"], len(found)) == ("unknown", 1 if paid_already else 0)
        else:
            # The same key twice: what it is for is that the gateway pays once.
            assert (after["execution"], len(found)) == ("done", 2 if paid_already else 1)


class TestManyRunsInOneCommit:
    def check(self, processes: Worker, url: str, effects_file: Path, kill: dict[str, Any]) -> int:
        first = UUID(int=uuid4().int & ~0xFF)
        job = {"url": url, "run_id": first, "effects": effects_file}
        died = processes.do(do="many", kill=kill, **job)
        assert died == KILLED or "after_s" in kill
        store = open_store(url)
        for place in range(MANY):
            run_id = UUID(int=first.int + place)
            world = World(effects_file)
            try:
                outcome = asyncio.run(resume(world.agent(), run_id, model=world.model(), store=store))
                assert outcome.outcome == "answered"
            except (RunInDoubt, RunNotFound, RunClosed):
                pass
        store.close()
        sent = Counter(line.split()[-1] for line in effects(effects_file, "money_send"))
        assert max(sent.values(), default=0) <= 1
        return sent.total()

    @pytest.mark.parametrize("when", WHEN)
    @pytest.mark.parametrize("number", [5, 40, 75])
    def test_each_of_them_is_whole(
        self, processes: Worker, url: str, effects_file: Path, number: int, when: When
    ) -> None:
        assert self.check(processes, url, effects_file, {"append": number, "when": when}) <= MANY

    @pytest.mark.parametrize("when", WHEN)
    def test_in_the_middle_of_a_once_tool_while_others_commit(
        self, processes: Worker, url: str, effects_file: Path, when: When
    ) -> None:
        kill = {"tool": "money_send", "nth": 4, "when": when}
        assert self.check(processes, url, effects_file, kill) <= MANY

    @pytest.mark.slow
    def test_whenever_the_process_dies(self, processes: Worker, url: str, tmp_path: Path) -> None:
        """Also within a commit: the kill comes from outside, at forty moments of the time it takes."""
        for moment in range(40):
            effects_file = tmp_path / f"moment {moment}.txt"
            self.check(processes, url, effects_file, {"after_s": 0.005 + moment * 0.005})

    @pytest.mark.slow
    def test_at_every_append_of_all_of_them(self, processes: Worker, url: str, tmp_path: Path) -> None:
        for number in range(1, 89):
            kill = {"append": number, "when": WHEN[number % 2]}
            self.check(processes, url, tmp_path / f"effects {number}.txt", kill)


class TestTheWorldAround:
    def begun(self, processes: Worker, url: str, effects_file: Path, release: Path) -> dict[str, Any]:
        job = {"url": url, "run_id": uuid4(), "effects": effects_file}
        processes.start(do="run", hold={"tool": "refund_preview", "until": release}, **job)
        deadline = time.monotonic() + 30
        while not effects(effects_file, "refund_preview"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return job

    def test_postgres_is_restarted_in_the_middle(
        self, processes: Worker, postgres_server: "PostgresServer", effects_file: Path, tmp_path: Path
    ) -> None:
        release = tmp_path / "release"
        self.begun(processes, postgres_server.new_schema(), effects_file, release)
        postgres_server.stop()
        release.touch()
        postgres_server.start()
        assert processes.wait() == {"outcome": "answered", "reason": None}
        assert len(effects(effects_file, "money_send")) == 1

    def test_another_process_locks_the_sqlite_file_for_a_while(
        self, processes: Worker, effects_file: Path, tmp_path: Path
    ) -> None:
        file, release = tmp_path / "store.db", tmp_path / "release"
        self.begun(processes, f"sqlite:///{file}", effects_file, release)
        lock = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN IMMEDIATE")
        release.touch()
        threading.Timer(1, lambda: lock.execute("ROLLBACK")).start()
        assert processes.wait() == {"outcome": "answered", "reason": None}
        assert len(effects(effects_file, "money_send")) == 1

    def test_the_clock_is_set_back_at_every_look(self, effects_file: Path) -> None:
        """Order comes from versions, so a resumed run is the same; no time makes a budget negative."""

        class Backwards:
            def __init__(self) -> None:
                self.at = datetime(2026, 12, 1, 12, tzinfo=UTC)

            def now(self) -> datetime:
                self.at -= timedelta(hours=1)
                return self.at

            def monotonic(self) -> float:
                return time.monotonic()

        class Ended(BaseException):
            pass

        def end() -> None:
            raise Ended

        world, run_id, clock = World(effects_file), uuid4(), Backwards()
        store: EventStore = open_store("memory:")
        early = CrashingStore(store, 6, "after", end)
        with pytest.raises(Ended):
            asyncio.run(
                run(
                    world.agent(),
                    "Refund order #W1.",
                    CONTEXT,
                    model=world.model(),
                    store=early,
                    ids=FixedId(run_id),
                    clock=clock,
                )
            )
        outcome = asyncio.run(resume(world.agent(), run_id, model=world.model(), store=store, clock=clock))
        assert outcome.outcome == "answered"
        assert load(store, run_id).wall_s == 0
        assert len(effects(effects_file, "money_send")) == 1

    def test_there_is_no_approval_before_a_run_asks(self, effects_file: Path) -> None:
        with pytest.raises(ApprovalNotFound):
            load_approval(open_store("memory:"), uuid4())
