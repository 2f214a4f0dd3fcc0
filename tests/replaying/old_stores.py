"""
Writes the store that `test_old_stores.py` keeps for ever: `python old_stores.py FILE`, once a schema version.

The store of a version that was released is never written again.
"""

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from tachograph import open_store
from tachograph.adapters.forking import fork
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import run
from tachograph.domain.approvals.definition import Approval
from tachograph.tests.approvals.desk import ANN, Desk
from tachograph.tests.replaying.test_drift import CLERK, CONTEXT, SCRIPT


def write(file: Path) -> None:
    store = open_store(f"sqlite:///{file}")
    begun = run(CLERK, "Money back for #W1.", CONTEXT, model=ScriptedModel(list(SCRIPT)), store=store)
    outcome = asyncio.run(begun)
    asyncio.run(fork(CLERK, outcome.run_id, 1, store=store, model=ScriptedModel(list(SCRIPT))))
    desk = Desk(store)
    desk.answers(desk.asks("60.00"))
    desk.answers(desk.asks("30.00"), ANN, "deny")
    desk.asks("20.00")
    continuing = Desk(store, Approval(continues=True))
    continuing.answers(continuing.asks(order="#W2"))
    store.close()
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("VACUUM")


if __name__ == "__main__":
    from tachograph.tests.replaying.test_old_stores import digests

    target = Path(sys.argv[1])
    write(target)
    target.with_suffix(".json").write_text(json.dumps(digests(f"sqlite:///{target}"), indent=1) + "\n")
