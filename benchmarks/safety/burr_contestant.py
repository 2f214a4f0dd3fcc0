"""Burr: an application with its SQLite persister, resumed by `initialize_from`, as documented."""

from pathlib import Path
from typing import Any

from common import AMOUNT, RUN, STEPS, effect, forge


def _application(folder: Path, *, die: bool) -> Any:
    from burr.core import ApplicationBuilder, State, action
    from burr.core.persistence import SQLitePersister

    def made(name: str) -> Any:
        @action(reads=[], writes=["last"])
        def act(state: State) -> State:
            effect(folder, name, die=die)
            return state.update(last=f"{name} {AMOUNT}")

        return act

    persister = SQLitePersister(str(folder / "store.db"), connect_kwargs={"check_same_thread": False})
    persister.initialize()
    one, two, three = STEPS
    return (
        ApplicationBuilder()
        .with_actions(**{name: made(name) for name in STEPS})
        .with_transitions((one, two), (two, three))
        .with_identifiers(app_id=RUN, partition_key="safety")
        .with_state_persister(persister)
        .initialize_from(
            persister, resume_at_next_action=True, default_state={"last": ""}, default_entrypoint=one
        )
        .build()
    )


def crash(folder: Path) -> None:
    """Die within the action."""
    _application(folder, die=True).run(halt_after=[STEPS[-1]])


def after(folder: Path) -> str:
    """Resume the application."""
    _, _, state = _application(folder, die=False).run(halt_after=[STEPS[-1]])
    return f"last: {state['last']}"


def two_terminals(folder: Path) -> str:
    """It has no loop of its own."""
    return "no loop of its own"


def forged(folder: Path) -> str:
    """Run to the end, edit the amount, and load the state."""
    _application(folder, die=False).run(halt_after=[STEPS[-1]])
    assert forge(folder / "store.db"), "there was an amount to forge"
    return f"no: gives {_application(folder, die=False).state['last'].split()[-1]}"
