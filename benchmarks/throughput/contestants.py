"""What a contestant is, and the table of all of them. A new one is a module and a line in ENTRIES."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workload import Workload


@dataclass(frozen=True)
class Place:
    """Where a contestant keeps its data; fresh for each measurement."""

    sqlite_path: Path
    postgres_url: str


class Contestant(ABC):
    """One way to make the run durable. Lives for one measurement, in a process of its own."""

    def __init__(self, workload: Workload, place: Place, concurrency: int) -> None:
        self.workload = workload
        self.place = place
        self.concurrency = concurrency

    @abstractmethod
    def open(self) -> None:
        """Create the tables and connections."""

    @abstractmethod
    def execute(self, run_ids: Sequence[str]) -> None:
        """Execute all these runs, `concurrency` of them at once."""

    @abstractmethod
    def steps_stored(self, run_id: str) -> int:
        """Read a run back from the store and count its steps: ten."""

    @abstractmethod
    def ask(self, statement: str) -> str:
        """Return the single value of a SQL statement, from a connection that the runs used."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back; the data stay."""


class ThreadedContestant(Contestant):
    """A contestant with a blocking interface: a thread for each run at once."""

    def __init__(self, workload: Workload, place: Place, concurrency: int) -> None:
        super().__init__(workload, place, concurrency)
        self._threads = ThreadPoolExecutor(concurrency)

    def execute(self, run_ids: Sequence[str]) -> None:
        """Hand the runs to the threads, which stay for the next call."""
        list(self._threads.map(self.run_one, run_ids))

    @abstractmethod
    def run_one(self, run_id: str) -> None:
        """Execute a run from its first model turn to its end."""


@dataclass(frozen=True)
class Entry:
    """A row of the table: which class to measure, the packages it needs, and how often it runs."""

    name: str
    contestant: str
    packages: tuple[str, ...] = ()
    runs: int = 320
    concurrencies: tuple[int, ...] = (1, 8, 64)

    @property
    def on_postgres(self) -> bool:
        """Tell whether the contestant needs the PostgreSQL server."""
        return self.name.endswith("-postgres")

    def packages_missing(self) -> list[str]:
        """Return the packages that are not installed."""
        return [package for package in self.packages if installed_version(package) is None]

    def load(self) -> type[Contestant]:
        """Import the contestant's class, and with it the packages it measures."""
        module, _, name = self.contestant.partition(":")
        loaded: type[Contestant] = getattr(importlib.import_module(module), name)
        return loaded


def installed_version(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


RUNS_FAST = 1200  # a measurement of a fast contestant would otherwise be over in a blink
OURS_SQLITE, OURS_POSTGRES = ("tachograph",), ("tachograph", "psycopg")
GRAPH_SQLITE = ("langgraph", "langgraph-checkpoint-sqlite")
GRAPH_POSTGRES = ("langgraph", "langgraph-checkpoint-postgres", "psycopg", "psycopg-pool")
BURR_POSTGRES = ("apache-burr", "psycopg2-binary", "psycopg")

ENTRIES = (
    Entry("bare-sqlite", "bare:BareSqlite", runs=RUNS_FAST),
    Entry("bare-grouped-sqlite", "bare:BareGroupedSqlite", runs=RUNS_FAST),
    Entry("tachograph-sqlite", "tachograph_contestant:TachographSqlite", OURS_SQLITE, RUNS_FAST),
    Entry("dbos-sqlite", "dbos_contestant:DbosSqlite", ("dbos",)),
    Entry("langgraph-sqlite", "langgraph_contestant:LangGraphSqlite", GRAPH_SQLITE),
    Entry("burr-sqlite", "burr_contestant:BurrSqlite", ("apache-burr",)),
    Entry("bare-postgres", "bare:BarePostgres", ("psycopg",), RUNS_FAST, (1, 8, 16, 32, 64)),
    Entry("tachograph-postgres", "tachograph_contestant:TachographPostgres", OURS_POSTGRES, RUNS_FAST),
    Entry("dbos-postgres", "dbos_contestant:DbosPostgres", ("dbos", "psycopg")),
    Entry("langgraph-postgres", "langgraph_contestant:LangGraphPostgres", GRAPH_POSTGRES),
    Entry("burr-postgres", "burr_contestant:BurrPostgres", BURR_POSTGRES),
)
