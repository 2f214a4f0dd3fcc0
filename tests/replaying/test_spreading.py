"""Heavy reading gives the same results in the same order, wherever it is done and whatever dies meanwhile."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tachograph.adapters import spreading
from tachograph.adapters.refund.scenarios import scenario_names
from tachograph.adapters.spreading import Spread, spread
from tachograph.adapters.stores.opening import open_store
from tachograph.cli import main
from tachograph.domain.errors import StoreError
from tachograph.tests.replaying.squares import Squares

MANY = list(range(1_000))


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    open_store(url).close()
    return url


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes are worth their start from the second portion on."""
    monkeypatch.setattr(spreading, "ALONE_S", 0.0)


def squares(url: str, where: Spread, reading: Squares | None = None) -> list[int]:
    store = open_store(url)
    told: list[tuple[int, int]] = []
    try:
        found = list(
            spread(reading or Squares(), MANY, store, url, where, lambda done, all: told.append((done, all)))
        )
    finally:
        store.close()
    assert told == [(done, len(MANY)) for done in range(100, 1_001, 100)]
    return found


EXPECTED = [number * number for number in MANY]


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_the_order_is_that_of_what_was_asked(url: str, at_once: None, cores: int) -> None:
    assert squares(url, Spread(cores)) == EXPECTED


def test_what_is_soon_done_starts_no_other_process(url: str) -> None:
    reading = Squares(dies_at=-1)
    assert squares(url, Spread(2), reading) == EXPECTED


def test_a_portion_whose_process_died_is_done_again(url: str, at_once: None, tmp_path: Path) -> None:
    reading = Squares(dies_at=555, mark=str(tmp_path / "died"))
    assert squares(url, Spread(2), reading) == EXPECTED
    assert (tmp_path / "died").exists()


def test_a_portion_that_kills_every_process_is_an_error(url: str, at_once: None, tmp_path: Path) -> None:
    reading = Squares(dies_at=555, mark=str(tmp_path / "died"), always=True)
    with pytest.raises(StoreError, match="a worker process died 3 times on one part of the store"):
        squares(url, Spread(2), reading)


def test_a_store_in_memory_is_read_here(at_once: None) -> None:
    store = open_store("memory:")
    assert list(spread(Squares(), MANY, store, "memory:", Spread(2))) == EXPECTED


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A scheduler and two workers of Dask, each a process."""
    program = "import sys; from distributed.cli.{0} import main; main()"
    common = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    processes = [
        subprocess.Popen([sys.executable, "-c", program.format("dask_scheduler"), *options], **common)  # type: ignore[call-overload]
    ]
    for _ in range(2):
        options = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes.append(
            subprocess.Popen([sys.executable, "-c", program.format("dask_worker"), *options], **common)  # type: ignore[call-overload]
        )
    try:
        yield address
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestDask:
    def test_the_same_in_the_same_order_though_a_worker_dies(
        self, cluster: str, url: str, tmp_path: Path
    ) -> None:
        reading = Squares(dies_at=555, mark=str(tmp_path / "died"))
        assert squares(url, Spread(dask=cluster), reading) == EXPECTED
        assert (tmp_path / "died").exists()

    def test_why_and_replay_say_the_same_as_on_one_core(
        self, cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TACHOGRAPH_STORE", f"sqlite:///{tmp_path / 'store.db'}")
        runner = CliRunner()
        for name in scenario_names():
            runner.invoke(main, ["demo", name])
        for command in ("why", "replay"):
            alone = runner.invoke(main, ["--json", command, "--all", "--cores", "1"])
            spread_out = runner.invoke(main, ["--json", command, "--all", "--dask", cluster])
            assert (alone.exit_code, alone.stdout) == (spread_out.exit_code, spread_out.stdout)
            assert alone.stdout.count("\n") == len(scenario_names())

    def test_a_store_that_the_workers_cannot_open_is_named(self, cluster: str, tmp_path: Path) -> None:
        store = open_store("memory:")
        with pytest.raises(StoreError, match=r"none\.db"):
            list(spread(Squares(), MANY, store, f"sqlite:///{tmp_path}/none.db", Spread(dask=cluster)))

    def test_a_scheduler_that_is_not_there(self, url: str) -> None:
        address = "tcp://127.0.0.1:9"
        with pytest.raises(StoreError, match=re.escape(f"no Dask scheduler answers at {address}")):
            squares(url, Spread(dask=address))
