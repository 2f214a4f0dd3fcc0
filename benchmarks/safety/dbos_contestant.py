"""DBOS: a workflow of steps on its SQLite system database; recovery by its own launch, as documented."""

from pathlib import Path
from typing import Any

from common import AMOUNT, RUN, effect, effects, forge


def _workflow(folder: Path, *, die: bool) -> tuple[Any, Any]:
    from dbos import DBOS

    DBOS(
        config={
            "name": "safety",
            "system_database_url": f"sqlite:///{folder / 'store.db'}",
            "log_level": "CRITICAL",
            "run_admin_server": False,
            "application_version": "1",
        }
    )

    @DBOS.step()
    def order_read() -> dict[str, str]:
        effect(folder, "order_read")
        return {"amount": AMOUNT}

    @DBOS.step()
    def refund_send(amount: str) -> dict[str, str]:
        effect(folder, "refund_send", die=die)
        return {"sent": amount}

    @DBOS.workflow()
    def refund() -> dict[str, str]:
        sent: dict[str, str] = refund_send(order_read()["amount"])
        return sent

    DBOS.launch()
    return DBOS, refund


def crash(folder: Path) -> None:
    """Die within the step."""
    from dbos import SetWorkflowID

    _, refund = _workflow(folder, die=True)
    with SetWorkflowID(RUN):
        refund()


def after(folder: Path) -> str:
    """Let it recover the workflow."""
    dbos, _ = _workflow(folder, die=False)
    return f"workflow done: {dbos.retrieve_workflow(RUN).get_result()}"


def two_terminals(folder: Path) -> str:
    """It has no loop of its own."""
    return "no loop of its own"


def forged(folder: Path) -> str:
    """Run to the end, edit the amount, and ask for the result."""
    from dbos import SetWorkflowID

    dbos, refund = _workflow(folder, die=False)
    with SetWorkflowID(RUN):
        refund()
    assert forge(folder / "store.db"), "there was an amount to forge"
    result = dbos.retrieve_workflow(RUN).get_result()
    steps = dbos.list_workflow_steps(RUN)
    return f"no: gives {result['sent']}, {len(steps)} steps, {len(effects(folder))} effects"
