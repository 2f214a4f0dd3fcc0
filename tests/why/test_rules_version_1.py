"""
The answers of version 1 of the rules, as they were given when it was released.

When a change gives one of these runs another answer, the change is version 2 of the rules: it gets its own
module and its own file here, and version 1 stays as it is. The file is never written again.
"""

import asyncio
import json
from pathlib import Path
from uuid import UUID

from tachograph import open_store
from tachograph.adapters.explaining import explain_run
from tachograph.adapters.importers.importing import import_file
from tachograph.adapters.read_side import open_read_side

GOLDEN = Path(__file__).parent / "golden" / "explanations_v1.json"
FILES = {
    "tau-bench": "trajectories/tau-bench/gpt-4o-airline.trials-0-1.json",
    "tau2": "trajectories/tau2-toolorchestra/airline.json",
}
CONVERSATIONS = (5, 7, 8, 11, 26, 33)


def test_answers_of_version_1_never_change(shared_data: Path, sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    for name, file in FILES.items():
        asyncio.run(import_file(store, name, shared_data / file))
    side = open_read_side(store)
    side.catch_up()
    rows = [row for row in side.runs() if row["source_conversation"] in CONVERSATIONS]
    side.close()
    answers = {row["run_id"]: explain_run(store, UUID(row["run_id"]), version=1).digest for row in rows}
    store.close()
    assert answers == json.loads(GOLDEN.read_text(encoding="utf-8"))
