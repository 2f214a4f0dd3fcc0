"""
DBOS: a workflow of three steps in its SQLite system database, recovered by `DBOS.launch()`.

Steps run at least once, as documented, and a step can't be marked otherwise. The nearest to `once` is a
workflow with `max_recovery_attempts=0`: it is not recovered at all, wherever it was killed. It is a library
of workflows, without a loop that executes what a model asks for.
"""

from pathlib import Path
from typing import Any

from common import AMOUNT, ANSWER, READ, RUN, SEND, database, effect
from dbos import DBOS, DBOSConfig, SetWorkflowID

RECOVERIES_DEFAULT = 100


def _workflow(folder: Path, *, dies: bool = False, once: bool = False) -> Any:
    DBOS(
        config=DBOSConfig(
            name="safety",
            system_database_url=f"sqlite:///{database(folder)}",
            log_level="CRITICAL",
            application_version="1",
        )
    )

    @DBOS.step()
    def step(name: str, amount: str) -> str:
        effect(folder, name, dies=dies)
        return amount

    @DBOS.workflow(max_recovery_attempts=0 if once else RECOVERIES_DEFAULT)
    def refund() -> str:
        amount = step(READ, AMOUNT)
        step(SEND, amount)
        return str(step(ANSWER, amount))

    DBOS.launch()
    return refund


def begin(folder: Path, *, dies: bool = False, once: bool = False) -> None:
    """Start the workflow."""
    refund = _workflow(folder, dies=dies, once=once)
    with SetWorkflowID(RUN):
        refund()


def go_on(folder: Path, *, once: bool = False) -> str:
    """Launch again, which recovers what has not ended, and wait for it."""
    _workflow(folder, once=once)
    handle: Any = DBOS.retrieve_workflow(RUN)
    try:
        handle.get_result()
    except Exception as exc:
        if "MaxRecoveryAttemptsExceeded" not in type(exc).__name__:
            raise
    return str(handle.get_status().status)


def read(folder: Path) -> str:
    """Call the workflow again under its id, which gives the recorded result."""
    refund = _workflow(folder)
    with SetWorkflowID(RUN):
        return str(refund())
