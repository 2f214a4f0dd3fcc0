"""DBOS: a workflow of ten steps, its id the run's, called from the threads."""

from abc import abstractmethod
from typing import Any

from contestants import ThreadedContestant
from dbos import DBOS, DBOSConfig, SetWorkflowID
from sqlalchemy import text
from workload import PLAN

POOL_SIZE_DEFAULT = 20


class DbosContestant(ThreadedContestant):
    """The workflow; the settings of its database are those DBOS chooses."""

    @abstractmethod
    def system_database_url(self) -> str:
        """Name the place as SQLAlchemy does."""

    def open(self) -> None:
        """Register the steps and the workflow, then launch, which creates the tables."""
        config = DBOSConfig(
            name="throughput",
            system_database_url=self.system_database_url(),
            sys_db_pool_size=max(POOL_SIZE_DEFAULT, self.concurrency),
            log_level="ERROR",
        )
        DBOS(config=config)

        @DBOS.step()
        def ask_model(run_id: str, turn: int) -> dict[str, Any]:
            return self.workload.ask_model(run_id, turn)

        @DBOS.step()
        def execute_tool(run_id: str, turn: int, arguments: dict[str, Any]) -> dict[str, Any]:
            return self.workload.execute_tool(run_id, turn)

        @DBOS.workflow()
        def refund(run_id: str) -> None:
            for turn in range(len(PLAN)):
                message = ask_model(run_id, turn)
                execute_tool(run_id, turn, message["arguments"])

        self._refund = refund
        DBOS.launch()

    def run_one(self, run_id: str) -> None:
        """Execute the workflow in this thread."""
        with SetWorkflowID(run_id):
            self._refund(run_id)
        self.workload.finish(run_id)

    def steps_stored(self, run_id: str) -> int:
        """Count the outputs DBOS recorded."""
        return len([step["output"] for step in DBOS.list_workflow_steps(run_id)])

    def ask(self, statement: str) -> str:
        """Ask a connection of DBOS's own pool; it has no public way to one."""
        from dbos._dbos import _get_dbos_instance

        with _get_dbos_instance()._sys_db.engine.connect() as connection:
            return str(connection.execute(text(statement)).scalar_one())

    def close(self) -> None:
        """Stop the threads of DBOS."""
        DBOS.destroy()


class DbosSqlite(DbosContestant):
    """DBOS on a SQLite file."""

    def system_database_url(self) -> str:
        """Name the file."""
        return f"sqlite:///{self.place.sqlite_path}"


class DbosPostgres(DbosContestant):
    """DBOS on PostgreSQL."""

    def system_database_url(self) -> str:
        """Name the database."""
        return self.place.postgres_url
