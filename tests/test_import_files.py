"""The real recorded conversations, imported whole and counted against the files themselves."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tachograph.adapters.importers.importing import ImportSummary, import_file
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.codec import decode, encode
from tachograph.domain.errors import ImportRejected
from tachograph.domain.events import (
    Event,
    ModelTurn,
    Recorded,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
)
from tachograph.domain.run import fold

AIRLINE = ("tau-bench", "trajectories/tau-bench/gpt-4o-airline.trials-0-1.json")
AIRLINE_2 = ("tau2", "trajectories/tau2-toolorchestra/airline.json")
RETAIL_2 = ("tau2", "trajectories/tau2-toolorchestra/retail.even-tasks.json")
FILES = [AIRLINE, AIRLINE_2, RETAIL_2]

Message = dict[str, Any]


@dataclass
class Counts:
    """What `steps` shows of one trace."""

    runs: int = 0
    model_turns: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


def conversations_of(path: Path) -> list[list[Message]]:
    document = json.loads(path.read_bytes())
    if isinstance(document, list):
        return [entry["traj"] for entry in document]
    return [entry["messages"] for entry in document["simulations"]]


def counted_in_file(messages: list[Message]) -> Counts:
    """Count a well-formed conversation with no code of the importer."""
    counts, stretch, before = Counts(), list[Message](), "user"
    for message in [*messages, {"role": "user"}]:
        if message["role"] in ("user", "system"):
            if before not in ("user", "system"):
                counts.runs += 1
                counts.outcomes[outcome_in_file(stretch)] += 1
            stretch = []
        else:
            stretch.append(message)
            counts.model_turns += message["role"] == "assistant"
            if message["role"] == "tool":
                failed = bool(message.get("error")) or message["content"].startswith("Error")
                counts.tool_errors += failed
                counts.tool_calls += not failed
        before = message["role"]
    return counts


def outcome_in_file(stretch: list[Message]) -> str:
    calls = [call for message in stretch for call in message.get("tool_calls") or ()]
    if any((call.get("function") or call)["name"] == "transfer_to_human_agents" for call in calls):
        return "handed_off"
    return "answered" if stretch[-1]["role"] == "assistant" and stretch[-1]["content"] else "blocked"


def texts_in_file(messages: list[Message]) -> set[str]:
    said = {message["content"] for message in messages if message["content"] is not None}
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return said | {call["function"]["arguments"] for call in calls if "function" in call}


def texts_in_events(events: list[Event]) -> set[str | None]:
    found: set[str | None] = set()
    for event in events:
        match event:
            case RunStarted():
                unanswered = event.source.unanswered if event.source else ()
                found |= {message.content for message in (*event.input, *unanswered)}
            case ModelTurn():
                found |= {event.text, *(call.arguments for call in event.calls)}
            case ToolCall():
                found.add(json.loads(event.output))
            case ToolError():
                found.add(event.message)
            case _:
                pass
    return found


def counted_in_events(events: list[Event]) -> Counts:
    return Counts(
        runs=sum(isinstance(event, RunStarted) for event in events),
        model_turns=sum(isinstance(event, ModelTurn) for event in events),
        tool_calls=sum(isinstance(event, ToolCall) for event in events),
        tool_errors=sum(isinstance(event, ToolError) for event in events),
        outcomes=Counter(event.outcome for event in events if isinstance(event, Terminal)),
    )


def events_of(store: MemoryEventStore) -> list[Recorded]:
    entries = store.read_log(limit=1_000_000)
    return [entry for entry in entries if isinstance(entry, Recorded)]


def traces_of(store: MemoryEventStore) -> list[list[Event]]:
    """The events of each conversation, in the order of the file."""
    trace_of_run: dict[UUID, int] = {}
    traces: dict[int, list[Event]] = {}
    for entry in events_of(store):
        if isinstance(entry.event, RunStarted):
            assert entry.event.source is not None
            trace_of_run[entry.run_id] = entry.event.source.conversation
        traces.setdefault(trace_of_run[entry.run_id], []).append(entry.event)
    return [traces[index] for index in sorted(traces)]


def imported(data: Path, file: tuple[str, str], store: MemoryEventStore) -> ImportSummary:
    return asyncio.run(import_file(store, file[0], data / file[1]))


@pytest.fixture(scope="module")
def stores(shared_data: Path) -> dict[tuple[str, str], MemoryEventStore]:
    filled = {file: MemoryEventStore() for file in FILES}
    for file, store in filled.items():
        imported(shared_data, file, store)
    return filled


@pytest.mark.parametrize("file", FILES)
def test_each_trace_has_the_counts_of_its_conversation(
    file: tuple[str, str], stores: dict[tuple[str, str], MemoryEventStore], shared_data: Path
) -> None:
    expected = [counted_in_file(messages) for messages in conversations_of(shared_data / file[1])]
    assert [counted_in_events(events) for events in traces_of(stores[file])] == expected


@pytest.mark.parametrize(
    ("file", "traces", "counts"),
    [
        (AIRLINE, 100, Counts(681, 1229, 539, 33, Counter(answered=657, handed_off=22, blocked=2))),
        (AIRLINE_2, 50, Counts(234, 505, 575, 6, Counter(answered=217, handed_off=17))),
        (RETAIL_2, 57, Counts(252, 554, 427, 11, Counter(answered=245, handed_off=7))),
    ],
)
def test_each_file_has_the_counts_that_were_counted_by_hand(
    file: tuple[str, str], traces: int, counts: Counts, stores: dict[tuple[str, str], MemoryEventStore]
) -> None:
    assert len(traces_of(stores[file])) == traces
    assert counted_in_events([entry.event for entry in events_of(stores[file])]) == counts


@pytest.mark.parametrize("file", FILES)
def test_every_text_of_the_file_is_in_the_events(
    file: tuple[str, str], stores: dict[tuple[str, str], MemoryEventStore], shared_data: Path
) -> None:
    for messages, events in zip(
        conversations_of(shared_data / file[1]), traces_of(stores[file]), strict=True
    ):
        assert texts_in_file(messages) - texts_in_events(events) == set()


@pytest.mark.parametrize("file", [AIRLINE_2, RETAIL_2])
def test_tau2_arguments_keep_their_values_and_the_policy_opens_the_trace(
    file: tuple[str, str], stores: dict[tuple[str, str], MemoryEventStore], shared_data: Path
) -> None:
    policy = json.loads((shared_data / file[1]).read_bytes())["info"]["environment_info"]["policy"]
    for messages, events in zip(
        conversations_of(shared_data / file[1]), traces_of(stores[file]), strict=True
    ):
        asked = [call["arguments"] for message in messages for call in message.get("tool_calls") or ()]
        recorded = [call for event in events if isinstance(event, ModelTurn) for call in event.calls]
        assert [json.loads(call.arguments or "") for call in recorded] == asked
        assert isinstance(events[0], RunStarted)
        assert [(message.role, message.content) for message in events[0].input] == [("system", policy)]


@pytest.mark.parametrize("file", FILES)
def test_every_run_folds_and_every_event_survives_its_bytes(
    file: tuple[str, str], stores: dict[tuple[str, str], MemoryEventStore]
) -> None:
    runs = {entry.run_id for entry in events_of(stores[file])}
    assert all(fold(run_id, stores[file].read(run_id)).ended for run_id in runs)
    for entry in events_of(stores[file]):
        assert decode(entry.event.kind, encode(entry.event)) == entry.event


@pytest.mark.parametrize("file", FILES)
def test_the_same_file_gives_the_same_bytes_in_another_store(
    file: tuple[str, str], stores: dict[tuple[str, str], MemoryEventStore], shared_data: Path
) -> None:
    other = MemoryEventStore()
    imported(shared_data, file, other)
    assert [(entry.run_id, encode(entry.event)) for entry in events_of(other)] == [
        (entry.run_id, encode(entry.event)) for entry in events_of(stores[file])
    ]


def test_a_second_import_adds_nothing_and_reports_progress(shared_data: Path) -> None:
    store, calls = MemoryEventStore(), list[tuple[int, int]]()
    first = imported(shared_data, AIRLINE_2, store)
    second = asyncio.run(
        import_file(store, "tau2", shared_data / AIRLINE_2[1], lambda done, of: calls.append((done, of)))
    )
    assert first == ImportSummary(first.digest, 50, 234, 0, store.head())
    assert second == ImportSummary(first.digest, 50, 0, 234, 0)
    assert calls[-1] == (50, 50)


def test_a_run_that_is_stored_with_other_events_is_left_alone(shared_data: Path) -> None:
    whole, tampered = MemoryEventStore(), MemoryEventStore()
    imported(shared_data, RETAIL_2, whole)
    entry = events_of(whole)[0]
    asyncio.run(tampered.append(entry.run_id, [entry.event], expected_version=0))
    with pytest.raises(ImportRejected, match=f"run {entry.run_id} is in the store already"):
        imported(shared_data, RETAIL_2, tampered)
    assert len(tampered.read(entry.run_id)) == 1


def test_runs_of_a_trace_are_chained_and_say_where_they_come_from(shared_data: Path) -> None:
    store = MemoryEventStore()
    digest = imported(shared_data, AIRLINE_2, store).digest
    starts = [entry for entry in events_of(store) if isinstance(entry.event, RunStarted)]
    previous: UUID | None = None
    for entry in starts[:4]:
        assert isinstance(entry.event, RunStarted)
        assert entry.event.source is not None
        stretch = entry.event.source.stretch
        assert entry.event.continues == (previous if stretch else None)
        assert entry.event.context.trace_id == f"tau2-{digest[:12]}-0"
        assert entry.event.source.label == "task 0, trial 0, simulation b2edae74-ba1e-49d6-a5e4-192fc17c0718"
        previous = entry.run_id
    assert len({entry.run_id for entry in starts}) == len(starts)
