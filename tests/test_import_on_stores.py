"""The real conversations through the program, on both databases, counted against the files themselves."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.adapters.loading import load
from tachograph.domain.events import Recorded, RunStarted
from tachograph.domain.ports import EventStore
from tachograph.domain.run import state_digest

FILES = {
    "tau-bench": ["trajectories/tau-bench/gpt-4o-airline.trials-0-1.json"],
    "tau2": [
        "trajectories/tau2-toolorchestra/airline.json",
        "trajectories/tau2-toolorchestra/retail.even-tasks.json",
    ],
}
HANDOFF = "transfer_to_human_agents"


def tachograph(*words: str) -> str:
    program = [sys.executable, "-c", "from tachograph.cli import main; main()", *words]
    return subprocess.run(program, capture_output=True, text=True, check=True, timeout=120).stdout


def counted_by_hand(shared_data: Path) -> Counter[str]:
    """Each conversation's counts as one line of text, from the JSON files and nothing of ours."""
    found: Counter[str] = Counter()
    for name in (name for names in FILES.values() for name in names):
        document: Any = json.loads((shared_data / name).read_bytes())
        conversations = (
            [entry["traj"] for entry in document]
            if isinstance(document, list)
            else [entry["messages"] for entry in document["simulations"]]
        )
        found.update(json.dumps(counted(messages), sort_keys=True) for messages in conversations)
    return found


def counted(messages: list[dict[str, Any]]) -> dict[str, Any]:
    outcomes: Counter[str] = Counter()
    turns = calls = errors = 0
    stretch: list[dict[str, Any]] = []
    for message in [*messages, {"role": "user"}]:
        if message["role"] in ("assistant", "tool"):
            stretch.append(message)
            turns += message["role"] == "assistant"
            failed = message["role"] == "tool" and message["content"].startswith("Error")
            errors += failed
            calls += message["role"] == "tool" and not failed
        elif stretch:
            asked = [call for turn in stretch for call in turn.get("tool_calls") or []]
            names = {call["function"]["name"] if "function" in call else call["name"] for call in asked}
            ended = "answered" if stretch[-1]["role"] == "assistant" else "blocked"
            outcomes["handed_off" if HANDOFF in names else ended] += 1
            stretch = []
    return {
        "runs": outcomes.total(),
        "model_turns": turns,
        "tool_calls": calls,
        "tool_errors": errors,
        "outcomes": outcomes,
    }


def digests(store: EventStore) -> dict[UUID, str]:
    after, runs = 0, set[UUID]()
    while batch := store.read_log(after=after, limit=2000):
        runs |= {entry.run_id for entry in batch}
        events = [entry.event for entry in batch if isinstance(entry, Recorded)]
        assert len(events) == len(batch)
        sources = [event.source for event in events if isinstance(event, RunStarted)]
        assert all(source and len(source.digest) == 64 for source in sources), "each names its file"
        after = batch[-1].position
    return {run_id: state_digest(load(store, run_id)) for run_id in runs}


@pytest.fixture
def imported(shared_data: Path, sqlite_url: str, postgres_url: str) -> tuple[str, str]:
    for url in (sqlite_url, postgres_url):
        for form, names in FILES.items():
            tachograph("--store", url, "import", form, *(str(shared_data / name) for name in names))
    return sqlite_url, postgres_url


@pytest.mark.slow
def test_the_real_conversations_are_the_same_on_both_databases(
    imported: tuple[str, str], shared_data: Path
) -> None:
    """Steps agree with the files; every run rebuilds, to one digest; a second import changes nothing."""
    expected = counted_by_hand(shared_data)
    told: list[dict[UUID, str]] = []
    for url in imported:
        steps = [json.loads(line) for line in tachograph("--store", url, "steps", "--json").splitlines()]
        assert len({step.pop("trace_id") for step in steps}) == len(steps) == 207
        assert {step.pop("tenant") for step in steps} == {"import"}
        assert Counter(json.dumps(step, sort_keys=True) for step in steps) == expected
        store = open_store(url)
        told.append(digests(store))
        before = store.head()
        again = tachograph("--store", url, "import", "tau2", "--json", str(shared_data / FILES["tau2"][0]))
        assert json.loads(again)["runs_added"] == 0
        assert store.head() == before
        store.close()
    on_sqlite, on_postgres = told
    assert len(on_sqlite) == 1167
    assert on_sqlite == on_postgres
