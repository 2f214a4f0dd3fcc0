"""Burr: two actions in turn, the state saved by its persister after each of them."""

import threading
from abc import abstractmethod
from typing import Any

from burr.core import ApplicationBuilder, GraphBuilder, State, action, when
from contestants import ThreadedContestant
from workload import PLAN, TERMINAL_TOOL

BUSY_TIMEOUT_S = 60
PARTITION = "throughput"


class BurrContestant(ThreadedContestant):
    """The state machine, with a persister (and so a connection) for each thread."""

    @abstractmethod
    def persister(self) -> Any:
        """Connect and return a persister."""

    def open(self) -> None:
        """Build the graph and create the table."""
        self._graph = self._refund()
        self._own = threading.local()
        self._persisters: list[Any] = []
        self._persister()

    def run_one(self, run_id: str) -> None:
        """Run an application up to its last action."""
        application = (
            ApplicationBuilder()
            .with_graph(self._graph)
            .with_state(run_id=run_id, messages=[], last_tool="")
            .with_entrypoint("model")
            .with_identifiers(app_id=run_id, partition_key=PARTITION)
            .with_state_persister(self._persister())
            .build()
        )
        application.run(halt_before=["end"])
        self.workload.finish(run_id)

    def steps_stored(self, run_id: str) -> int:
        """Count the messages of the last saved state."""
        return len(self._persister().load(PARTITION, run_id)["state"]["messages"])

    def close(self) -> None:
        """Close the connections of all threads."""
        for persister in self._persisters:
            persister.connection.close()

    def _persister(self) -> Any:
        if not hasattr(self._own, "persister"):
            self._own.persister = self.persister()
            self._own.persister.initialize()
            self._persisters.append(self._own.persister)
        return self._own.persister

    def _refund(self) -> Any:
        @action(reads=["run_id", "messages"], writes=["messages"])
        def model(state: State) -> State:
            message = self.workload.ask_model(state["run_id"], len(state["messages"]) // 2)
            return state.update(messages=[*state["messages"], message])

        @action(reads=["run_id", "messages"], writes=["messages", "last_tool"])
        def tools(state: State) -> State:
            turn = len(state["messages"]) // 2
            output = self.workload.execute_tool(state["run_id"], turn)
            return state.update(messages=[*state["messages"], output], last_tool=PLAN[turn])

        @action(reads=[], writes=[])
        def end(state: State) -> State:
            return state

        transitions = [
            ("model", "tools"),
            ("tools", "end", when(last_tool=TERMINAL_TOOL)),
            ("tools", "model"),
        ]
        return GraphBuilder().with_actions(model, tools, end).with_transitions(*transitions).build()


class BurrSqlite(BurrContestant):
    """SQLitePersister; only its wait for a locked file is longer than by default."""

    def persister(self) -> Any:
        """Connect to the file."""
        from burr.core.persistence import SQLitePersister

        settings = {"check_same_thread": False, "timeout": BUSY_TIMEOUT_S}
        return SQLitePersister(str(self.place.sqlite_path), connect_kwargs=settings)

    def ask(self, statement: str) -> str:
        """Ask the connection of this thread."""
        return str(self._persister().connection.execute(statement).fetchone()[0])


class BurrPostgres(BurrContestant):
    """PostgreSQLPersister on psycopg2."""

    def persister(self) -> Any:
        """Connect to the database."""
        import psycopg2
        from burr.integrations.persisters.b_psycopg2 import PostgreSQLPersister

        return PostgreSQLPersister(connection=psycopg2.connect(self.place.postgres_url))

    def ask(self, statement: str) -> str:
        """Ask the connection of this thread."""
        with self._persister().connection.cursor() as cursor:
            cursor.execute(statement)
            return str(cursor.fetchone()[0])
