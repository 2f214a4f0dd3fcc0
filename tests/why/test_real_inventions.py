"""Two payment ids that a real model made up in conversations with full reward, beside what it didn't."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.adapters.explaining import explain_run
from tachograph.adapters.importers.importing import import_file
from tachograph.adapters.read_side import open_read_side
from tachograph.domain.ports import EventStore
from tachograph.domain.why.argument import STRONG

AIRLINE = "trajectories/tau-bench/gpt-4o-airline.trials-0-1.json"


@pytest.fixture(scope="module")
def imported(shared_data: Path) -> EventStore:
    store = open_store("memory:")
    asyncio.run(import_file(store, "tau-bench", shared_data / AIRLINE))
    return store


@pytest.mark.parametrize(("conversation", "value"), [(26, "credit_card_7334"), (70, "credit_card_5634230")])
def test_the_guessed_id_is_made_up_and_its_siblings_are_not(
    imported: EventStore, conversation: int, value: str
) -> None:
    """Card 7334 was named by its last four digits; 5634230 is the number of a gift card."""
    side = open_read_side(imported)
    side.catch_up()
    runs = [UUID(row["run_id"]) for row in side.runs() if row["source_conversation"] == conversation]
    side.close()
    calls = [call for run_id in runs for call in explain_run(imported, run_id).calls]
    guessed = [call for call in calls if value in [argument.value for argument in call.arguments]]
    assert [call.tool for call in guessed] == ["update_reservation_flights"]
    [call] = guessed
    made_up = [argument.pointer for argument in call.arguments if argument.verdict not in STRONG]
    assert made_up == ["/payment_id"]
    assert call.arguments[-1].verdict == "unsupported"
