"""
Burr: three actions in turn on its `SQLitePersister`, resumed with `initialize_from`, as documented.

It is a state machine: what executes calls of a model is an action that its user writes.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

from burr.core import ApplicationBuilder, State, action
from burr.core.persistence import SQLitePersister
from common import AMOUNT, READ, RUN, STEPS, database, effect


def _application(folder: Path, *, dies: bool = False) -> Any:
    def made(name: str) -> Any:
        @action(reads=[], writes=["last", "amount"])
        def act(state: State) -> State:
            effect(folder, name, dies=dies)
            return state.update(last=name, amount=AMOUNT)

        return act

    persister = SQLitePersister(str(database(folder)), connect_kwargs={"check_same_thread": False})
    persister.initialize()
    return (
        ApplicationBuilder()
        .with_actions(**{name: made(name) for name in STEPS})
        .with_transitions(*pairwise(STEPS))
        .with_identifiers(app_id=RUN, partition_key="safety")
        .with_state_persister(persister)
        .initialize_from(persister, resume_at_next_action=True, default_state={}, default_entrypoint=READ)
        .build()
    )


def begin(folder: Path, *, dies: bool = False) -> None:
    """Start the application."""
    _application(folder, dies=dies).run(halt_after=[STEPS[-1]])


def go_on(folder: Path) -> str:
    """Build the application from what was saved, and run it to its end."""
    _, _, state = _application(folder).run(halt_after=[STEPS[-1]])
    return f"ended with {state['last']}"


def read(folder: Path) -> str:
    """Load the saved state, and give its amount."""
    return str(_application(folder).state["amount"])
