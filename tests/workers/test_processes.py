"""Workers that are stopped, killed, frozen, or lose their database."""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.adapters.reconciling import reconcile
from tachograph.domain.events import Recorded, RunResumed
from tachograph.domain.ports import EventStore

from .processes import Processes, processes

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer


@pytest.fixture
def till(database_url: str, tmp_path: Path) -> Iterator[Processes]:
    """Workers on either store."""
    with processes(tmp_path, database_url) as started:
        yield started


@pytest.fixture
def postgres_till(postgres_schema_url: str, tmp_path: Path) -> Iterator[Processes]:
    """Workers on PostgreSQL."""
    with processes(tmp_path, postgres_schema_url) as started:
        yield started


def runs(till: Processes) -> dict[str, tuple[str, str | None]]:
    """Status and outcome of each run."""
    rows = [json.loads(line) for line in till.call("runs", "--json").splitlines()]
    return {row["run_id"]: (row["status"], row["outcome"]) for row in rows}


def kinds(till: Processes, run_id: str) -> list[str]:
    return [event["kind"] for event in json.loads(till.call("show", run_id, "--json"))["events"]]


class TestStopping:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_what_is_under_way_comes_to_its_end(self, till: Processes, number: int) -> None:
        first, second = till.submit("waits"), till.submit("waits", "--priority", "-1")
        worker = till.worker("--at-once", "1")
        till.until_waiting()
        worker.send_signal(number)
        till.go()
        out, err = worker.communicate(timeout=20)
        assert (worker.returncode, out) == (0, f"{first} answered\n")
        assert err.splitlines()[-1].endswith("has stopped.")
        assert runs(till) == {first: ("ended", "answered"), second: ("queued", None)}

    def test_what_takes_too_long_is_handed_over(self, till: Processes) -> None:
        run_id = till.submit("waits")
        worker = till.worker("--grace", "0")
        till.until_waiting()
        worker.terminate()
        out, _ = worker.communicate(timeout=20)
        assert (worker.returncode, out) == (0, f"{run_id} handed over\n")
        till.go()
        assert till.worker("--until-empty").communicate(timeout=20)[0] == f"{run_id} answered\n"
        assert kinds(till, run_id).count("model_turn") == 2

    def test_whoever_takes_its_time_to_stop_is_not_taken_for_dead(
        self, postgres_till: Processes, postgres_schema_url: str
    ) -> None:
        till = postgres_till
        run_id = till.submit("waits")
        worker = till.worker("--dead-after", "1", "--grace", "60")
        till.until_waiting()
        worker.terminate()
        other = till.worker("--dead-after", "1")
        time.sleep(3)
        till.go()
        assert till.line_of(worker) == f"{run_id} answered\n"
        assert "run_resumed" not in kinds(till, run_id)[2:]
        other.terminate()
        assert other.communicate(timeout=20)[0] == ""

    def test_a_second_signal_does_not_wait(self, till: Processes) -> None:
        till.submit("waits")
        worker = till.worker("--grace", "3600")
        till.until_waiting()
        worker.terminate()
        time.sleep(0.2)
        worker.terminate()
        out, _ = worker.communicate(timeout=20)
        assert worker.returncode == 0
        assert out.endswith("handed over\n")

    def test_a_reader_who_goes_does_not_end_it(self, till: Processes) -> None:
        run_ids = [till.submit("waits") for _ in range(2)]
        till.go()
        worker = till.worker("--until-empty", "--at-once", "1")
        assert worker.stdout is not None
        worker.stdout.close()
        assert worker.wait(timeout=20) == 0
        assert runs(till) == dict.fromkeys(run_ids, ("ended", "answered"))


class TestSeveral:
    def test_each_run_is_done_by_one_of_them(self, till: Processes) -> None:
        run_ids = submit_many(till, 60)
        till.go()
        workers = [till.worker("--until-empty") for _ in range(3)]
        said = [line for worker in workers for line in worker.communicate(timeout=60)[0].splitlines()]
        assert sorted(said) == sorted(f"{run_id} answered" for run_id in run_ids)
        assert Counter(till.charges) == dict.fromkeys(run_ids, 1)


class TestDying:
    def test_a_killed_worker_is_followed_by_another(self, till: Processes) -> None:
        run_id = till.submit("waits")
        victim = till.worker("--dead-after", "2")
        till.until_waiting()
        victim.kill()
        victim.wait()
        killed = time.monotonic()
        till.go()
        heir = till.worker("--dead-after", "2")
        assert till.line_of(heir) == f"{run_id} answered\n"
        assert time.monotonic() - killed < 2 * 4 / 3 + 3  # Of which a second is its start.
        assert kinds(till, run_id) == [
            "run_started", "run_resumed", "model_turn", "run_resumed", "tool_call", "model_turn", "terminal",
        ]  # fmt: skip

    @pytest.mark.slow
    def test_a_run_that_kills_its_workers_is_set_aside(self, till: Processes) -> None:
        poison, fine = till.submit("dies", "--priority", "1"), till.submit("waits")
        till.go()
        codes = []
        while runs(till)[poison][0] != "set_aside":
            worker = till.worker("--tries", "2", "--at-once", "1", "--until-empty", "--dead-after", "1")
            worker.communicate(timeout=20)
            codes.append(worker.returncode)
            assert len(codes) < 20
        assert codes.count(-signal.SIGKILL) == 2
        till.worker("--until-empty").communicate(timeout=20)
        assert runs(till)[fine] == ("ended", "answered")
        last = json.loads(till.call("show", poison, "--json"))["events"][-1]
        assert (last["owner"], last["reason"]) == ("aside", "tried 2 times, and it came no further")

    def test_a_worker_that_comes_back_from_the_dead_does_nothing_more(
        self, postgres_till: Processes, postgres_schema_url: str
    ) -> None:
        till = postgres_till
        run_id = till.submit("charges")
        frozen = till.worker("--dead-after", "3")
        till.until_waiting()
        os.kill(frozen.pid, signal.SIGSTOP)
        heir = till.worker("--dead-after", "3")
        store = open_store(postgres_schema_url)
        till.until(lambda: takeovers(store, run_id) == 2)
        till.go()
        assert till.line_of(heir) == f"{run_id} answered\n"
        os.kill(frozen.pid, signal.SIGCONT)
        assert till.line_of(frozen) == f"{run_id} taken over\n"
        another = till.submit("charges")
        till.until(lambda: runs(till)[another][0] == "ended")
        for worker in (frozen, heir):
            worker.terminate()
            worker.communicate(timeout=20)
            assert worker.returncode == 0
        assert Counter(till.charges) == {run_id: 1, another: 1}
        store.close()


@pytest.mark.slow
class TestDatabase:
    def test_a_worker_whose_database_goes_away_ends_and_says_so(
        self, postgres_server: "PostgresServer", postgres_till: Processes
    ) -> None:
        till = postgres_till
        run_id = till.submit("waits")
        worker = till.worker("--dead-after", "3")
        till.until_waiting()
        postgres_server.stop()
        try:
            _, err = worker.communicate(timeout=60)
        finally:
            postgres_server.start()
        assert worker.returncode == 3
        assert "Error: " in err
        assert "Traceback" not in err
        till.go()
        heir = till.worker("--dead-after", "1")
        assert till.line_of(heir) == f"{run_id} answered\n"


def takeovers(store: EventStore, run_id: str) -> int:
    entries = store.read(UUID(run_id))
    return sum(isinstance(entry, Recorded) and isinstance(entry.event, RunResumed) for entry in entries)


@pytest.mark.slow
def test_two_of_four_workers_are_killed_and_every_run_ends(
    postgres_till: Processes, postgres_schema_url: str
) -> None:
    """No charge twice, none lost; a person settles what is in doubt. In benchmarks/workers with 2,000."""
    till = postgres_till
    till.go()
    run_ids = [till.submit("charges") for _ in range(5)]
    run_ids += submit_many(till, 115)
    workers: list[subprocess.Popen[str]] = [
        till.worker("--dead-after", "2", "--at-once", "4", "--json") for _ in range(4)
    ]
    for victim, charged in zip(workers[:2], (20, 50), strict=True):
        till.until(lambda charged=charged: len(till.charges) >= charged)  # type: ignore[misc]  # mypy knows no default in it
        victim.kill()
    store = open_store(postgres_schema_url)
    not_charged: set[str] = set()

    def all_ended() -> bool:
        for run_id in run_ids:
            settle(store, run_id, till, not_charged)
        return all(status == "ended" for status, _ in runs(till).values())

    deadline = time.monotonic() + 120
    while not all_ended():
        assert time.monotonic() < deadline, runs(till)
        time.sleep(0.5)
    assert runs(till) == dict.fromkeys(run_ids, ("ended", "answered"))
    assert Counter(till.charges) == dict.fromkeys(set(run_ids) - not_charged, 1)
    store.close()


def submit_many(till: Processes, count: int) -> list[str]:
    """Submit many runs in one process."""
    program = (
        "import asyncio, till, tachograph\n"
        "from tachograph.adapters.workers.queues import open_queue\n"
        "from tachograph.adapters.workers.submitting import submit\n"
        "import os\n"
        "store = tachograph.open_store(os.environ['TACHOGRAPH_STORE'])\n"
        "async def main():\n"
        "    queue = open_queue(store)\n"
        "    context = tachograph.TrustedContext(trace_id='many')\n"
        f"    for _ in range({count}):\n"
        "        print((await submit(till.charges, 'Charge.', context, store=store, queue=queue)).run_id)\n"
        "asyncio.run(main())\n"
        "store.close()\n"
    )
    return till.python(program).split()


def settle(store: EventStore, run_id: str, till: Processes, not_charged: set[str]) -> None:
    """Do what a person does with a call in doubt: look whether it happened, and say so."""
    last = store.read(UUID(run_id))[-1]
    event: Any = last.event if isinstance(last, Recorded) else None
    if getattr(event, "code", None) != "outcome_unknown":
        return
    charged = run_id in till.charges
    output, failure = ('"charged"', None) if charged else (None, "not charged")
    if not charged:
        not_charged.add(run_id)
    asyncio.run(
        reconcile(UUID(run_id), event.call_key, output=output, failure=failure, reason="looked", store=store)
    )
