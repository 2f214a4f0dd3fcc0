"""What a contestant is, and the table of all of them. A new one is a module and a line in ENTRIES."""

import asyncio
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


class AsyncContestant(Contestant):
    """A contestant with an async interface: all runs on one event loop."""

    def __init__(self, workload: Workload, place: Place, concurrency: int) -> None:
        super().__init__(workload, place, concurrency)
        self.loop = asyncio.Runner()

    def execute(self, run_ids: Sequence[str]) -> None:
        """Gather the runs, `concurrency` of them admitted at once."""
        self.loop.run(self._run_all(run_ids))

    async def _run_all(self, run_ids: Sequence[str]) -> None:
        admitted = asyncio.Semaphore(self.concurrency)

        async def admit(run_id: str) -> None:
            async with admitted:
                await self.run_one(run_id)

        await asyncio.gather(*(admit(run_id) for run_id in run_ids))

    @abstractmethod
    async def run_one(self, run_id: str) -> None:
        """Execute a run from its first model turn to its end."""


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
    """
    A row of the table: which class to measure, the packages it needs, and how often it runs.

    Args:
        remark: What is durable when, if that is not each step.
    """

    name: str
    contestant: str
    packages: tuple[str, ...] = ()
    runs: int = 160
    concurrencies: tuple[int, ...] = (1, 8, 64, 512)
    remark: str = ""

    @property
    def on_postgres(self) -> bool:
        """Tell whether the contestant needs the PostgreSQL server."""
        return self.name.endswith("-postgres")

    def runs_at(self, concurrency: int, delay_s: float, *, quick: bool) -> int:
        """Return how many runs are measured: enough for a figure, few enough for a coffee."""
        runs = min(self.runs, 4 * concurrency + 8) if delay_s else self.runs
        return max(runs // 8 if quick else runs, concurrency)

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
PYDANTIC_AI = ("pydantic-ai-slim", "dbos")
AGENTS = ("openai-agents",)
PER_TURN = "durable per turn: a turn's tool call is not in the session before its output is"

ENTRIES = (
    Entry("bare-sqlite", "bare:BareSqlite", runs=RUNS_FAST),
    Entry("bare-grouped-sqlite", "bare:BareGroupedSqlite", runs=RUNS_FAST),
    Entry("tachograph-sqlite", "tachograph_contestant:TachographSqlite", OURS_SQLITE, RUNS_FAST),
    Entry("dbos-sqlite", "dbos_contestant:DbosSqlite", ("dbos",)),
    Entry("langgraph-sqlite", "langgraph_contestant:LangGraphSqlite", GRAPH_SQLITE),
    Entry("burr-sqlite", "burr_contestant:BurrSqlite", ("apache-burr",)),
    Entry("pydantic-ai-dbos-sqlite", "pydantic_ai_contestant:PydanticAiSqlite", PYDANTIC_AI),
    Entry("agents-sdk-sqlite", "agents_sdk_contestant:AgentsSdkSqlite", AGENTS, remark=PER_TURN),
    Entry("bare-postgres", "bare:BarePostgres", ("psycopg",), RUNS_FAST, (1, 8, 16, 32, 64, 512)),
    Entry("tachograph-postgres", "tachograph_contestant:TachographPostgres", OURS_POSTGRES, RUNS_FAST),
    Entry("dbos-postgres", "dbos_contestant:DbosPostgres", ("dbos", "psycopg")),
    Entry("langgraph-postgres", "langgraph_contestant:LangGraphPostgres", GRAPH_POSTGRES),
    Entry("burr-postgres", "burr_contestant:BurrPostgres", BURR_POSTGRES),
    Entry("pydantic-ai-dbos-postgres", "pydantic_ai_contestant:PydanticAiPostgres", PYDANTIC_AI),
    Entry(
        "agents-sdk-postgres",
        "agents_sdk_contestant:AgentsSdkPostgres",
        (*AGENTS, "asyncpg", "sqlalchemy"),
        remark=PER_TURN,
    ),
)
