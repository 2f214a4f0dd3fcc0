"""What a contestant is, and the table of all of them. A new one is a module and a line in ENTRIES."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
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

    def execute(self, run_ids: Sequence[str]) -> None:
        """Hand the runs to the threads, which stay for the next call."""
        list(self._threads.map(self.run_one, run_ids))

    @abstractmethod
    def run_one(self, run_id: str) -> None:
        """Execute a run from its first model turn to its end."""

    def __init__(self, workload: Workload, place: Place, concurrency: int) -> None:
        super().__init__(workload, place, concurrency)
        self._threads = ThreadPoolExecutor(concurrency)


@dataclass(frozen=True)
class Entry:
    """A row of the table: which class to measure, how often, and what it needs installed."""

    name: str
    contestant: str
    imports: tuple[str, ...] = ()
    install: str = ""
    runs: int = 320
    concurrencies: tuple[int, ...] = (1, 8, 64)

    @property
    def on_postgres(self) -> bool:
        """Tell whether the contestant needs the PostgreSQL server."""
        return self.name.endswith("-postgres")

    def installed(self) -> bool:
        """Tell whether every package of the contestant can be imported."""
        return all(_importable(name) for name in self.imports)

    def load(self) -> type[Contestant]:
        """Import the contestant's class, and with it the packages it measures."""
        module, _, name = self.contestant.partition(":")
        loaded: type[Contestant] = getattr(importlib.import_module(module), name)
        return loaded


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


PSYCOPG = ("psycopg",)
LANGGRAPH_SQLITE = ("langgraph", "langgraph.checkpoint.sqlite")
LANGGRAPH_POSTGRES = ("langgraph", "langgraph.checkpoint.postgres", "psycopg", "psycopg_pool")

ENTRIES = (
    Entry("bare-sqlite", "bare:BareSqlite", runs=1200),
    Entry("bare-grouped-sqlite", "bare:BareGroupedSqlite", runs=1200),
    Entry("tachograph-sqlite", "tachograph_contestant:TachographSqlite", ("tachograph",), "-e .", runs=1200),
    Entry("dbos-sqlite", "dbos_contestant:DbosSqlite", ("dbos",), "dbos"),
    Entry(
        "langgraph-sqlite",
        "langgraph_contestant:LangGraphSqlite",
        LANGGRAPH_SQLITE,
        "langgraph langgraph-checkpoint-sqlite",
    ),
    Entry("burr-sqlite", "burr_contestant:BurrSqlite", ("burr",), "apache-burr"),
    Entry(
        "bare-postgres",
        "bare:BarePostgres",
        PSYCOPG,
        "'psycopg[binary]'",
        runs=1200,
        concurrencies=(1, 8, 16, 32, 64),
    ),
    Entry(
        "tachograph-postgres",
        "tachograph_contestant:TachographPostgres",
        ("tachograph", "psycopg"),
        "-e . 'psycopg[binary]'",
        runs=1200,
    ),
    Entry("dbos-postgres", "dbos_contestant:DbosPostgres", ("dbos", "psycopg"), "dbos 'psycopg[binary]'"),
    Entry(
        "langgraph-postgres",
        "langgraph_contestant:LangGraphPostgres",
        LANGGRAPH_POSTGRES,
        "langgraph langgraph-checkpoint-postgres 'psycopg[binary,pool]'",
    ),
    Entry(
        "burr-postgres",
        "burr_contestant:BurrPostgres",
        ("burr", "psycopg2", "psycopg"),
        "apache-burr psycopg2-binary 'psycopg[binary]'",
    ),
)
