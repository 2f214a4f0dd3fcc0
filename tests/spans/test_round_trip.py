"""What the program exports as spans can be imported again; what an export leaves out stays unknown."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph import open_store
from tachograph.adapters.importers.importing import FORMATS
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.events import Event, ModelTurn, Recorded, RunStarted, Terminal, ToolCall, ToolError

PROGRAM = [sys.executable, "-c", "from tachograph.cli import main; main()"]


def run(folder: Path, *words: str) -> None:
    subprocess.run([*PROGRAM, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    run(folder, "demo", "answered")
    return folder


def recorded(folder: Path) -> list[Event]:
    store = open_store(f"sqlite:///{folder / 'tachograph.db'}")
    entries = [entry for entry in store.read_log() if isinstance(entry, Recorded)]
    store.close()
    return [entry.event for entry in entries]


@pytest.mark.parametrize("convention", ["otel", "openinference"])
@pytest.mark.parametrize("content", [True, False])
def test_what_was_exported_comes_back(folder: Path, convention: str, content: bool) -> None:
    file = folder / f"{convention}-{content}.jsonl"
    run(folder, "export", convention, "--to", str(file), *(["--content"] if content else []))
    [found] = FORMATS[convention](str(file), file.read_bytes())
    back = [event for _, events in to_events(found) for event in events]
    before = recorded(folder)

    def turns(events: list[Event]) -> list[tuple[object, ...]]:
        return [
            (each.usage, each.recorded_at, each.cost_usd) for each in events if isinstance(each, ModelTurn)
        ]

    def calls(events: list[Event]) -> list[tuple[object, ...]]:
        return [
            (each.call_key, each.name, each.duration_ms, json.loads(each.arguments) if content else {})
            for each in events
            if isinstance(each, ToolCall)
        ]

    assert turns(back) == turns(before)
    assert calls(back) == calls(before)
    [started] = [each for each in back if isinstance(each, RunStarted)]
    said = [each.input for each in before if isinstance(each, RunStarted)]
    assert [started.input] == (said if content else [()])
    assert started.agent == "refund"
    [ended], [ended_before] = ([each for each in of if isinstance(each, Terminal)] for of in (back, before))
    if content:
        assert (ended.outcome, ended.call_key, ended.tool) == ("answered", "3.1", "answer_user")
        assert ended.arguments is not None
        assert ended_before.arguments is not None
        assert json.loads(ended.arguments)["text"] == json.loads(ended_before.arguments)["text"]
        assert ended.totals == ended_before.totals
    else:
        assert (ended.outcome, ended.reason) == ("blocked", "source_ended")
        assert "the run ended answered" in found.label
    assert not any(isinstance(each, ToolError) for each in back)


def test_what_was_imported_can_be_asked_about(folder: Path) -> None:
    run(folder, "export", "otel", "--to", "again.jsonl", "--content")
    run(folder, "import", "otel", "again.jsonl", "--store", "sqlite:///again.db")
    store = open_store(f"sqlite:///{folder / 'again.db'}")
    run_id = str(store.read_log()[0].run_id)
    store.close()
    for words in (["why", run_id], ["show", run_id], ["replay", run_id], ["steps"]):
        run(folder, *words, "--store", "sqlite:///again.db")
