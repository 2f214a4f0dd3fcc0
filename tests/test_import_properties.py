"""Weird conversations in both formats: nothing is lost, nothing is doubled, and every run folds."""

import contextlib
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.adapters.importers.importing import FORMATS
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.codec import decode, encode
from tachograph.domain.errors import ImportRejected
from tachograph.domain.events import Event, ModelTurn, Recorded, RunStarted, Terminal, ToolCall, ToolError
from tachograph.domain.run import fold

Json = Any

unhurried = settings(deadline=None)

IDS = st.sampled_from(["", None, "a", "b", "call_0"])
NAMES = st.sampled_from(["read", "write", "", "transfer_to_human_agents"])
CONTENTS = st.none() | st.sampled_from(["", " ", "Error: no", "Error"]) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda members: st.lists(members, max_size=3) | st.dictionaries(st.text(max_size=5), members, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.none() | st.sampled_from(["", "{}", '{"a": 1.50}', "{broken"]) | st.text(max_size=10)


def conversation(calls: st.SearchStrategy[Json], id_name: str) -> st.SearchStrategy[list[Json]]:
    """Messages of a format: any roles in any order."""
    spoken = st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": CONTENTS})
    asked = st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": CONTENTS},
        optional={"tool_calls": st.none() | st.lists(calls, max_size=3)},
    )
    answered = st.fixed_dictionaries(
        {"role": st.just("tool"), "content": CONTENTS},
        optional={id_name: IDS, "name": st.none() | NAMES},
    )
    return st.lists(spoken | asked | answered | answered, max_size=12)


TAU_BENCH = conversation(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": NAMES, "arguments": ARGUMENTS})},
        optional={"id": IDS, "type": st.just("function")},
    ),
    "tool_call_id",
)
TAU2 = conversation(
    st.fixed_dictionaries(
        {"name": NAMES, "arguments": st.none() | st.dictionaries(st.text(max_size=5), VALUES, max_size=3)},
        optional={"id": IDS},
    ),
    "id",
)
FILES = TAU_BENCH.map(lambda messages: ("tau-bench", [{"traj": messages}])) | TAU2.map(
    lambda messages: ("tau2", {"simulations": [{"messages": messages}]})
)


def events_of(format_name: str, document: Json) -> list[Event]:
    """The events of the one conversation of a file, after every run was checked."""
    [found] = FORMATS[format_name]("file.json", json.dumps(document).encode())
    events: list[Event] = []
    for run_id, run in to_events(found):
        assert fold(run_id, [Recorded(run_id, version, event) for version, event in enumerate(run, 1)]).ended
        assert [decode(event.kind, encode(event)) for event in run] == run
        events += run
    return events


def said_in(events: list[Event]) -> Counter[str]:
    """Every text, None as an empty one, apart from what the importer itself says."""
    found: Counter[str] = Counter()
    for event in events:
        match event:
            case RunStarted():
                assert event.source is not None
                found.update(message.content for message in (*event.input, *event.source.unanswered))
            case ModelTurn():
                found[event.text or ""] += 1
            case ToolCall():
                found[json.loads(event.output) or ""] += 1
            case ToolError() if event.code == "tool_execution_failed":
                found[event.message] += 1
            case _:
                pass
    return found


@unhurried
@given(FILES)
def test_every_text_is_in_the_events_once(file: tuple[str, Json]) -> None:
    format_name, document = file
    messages = document[0]["traj"] if format_name == "tau-bench" else document["simulations"][0]["messages"]
    assert said_in(events_of(*file)) == Counter(message["content"] or "" for message in messages)


@unhurried
@given(TAU_BENCH)
def test_every_call_is_in_the_events_as_it_was_asked_for(messages: list[Json]) -> None:
    events = events_of("tau-bench", [{"traj": messages}])
    asked = [call for message in messages for call in message.get("tool_calls") or ()]
    recorded = [call for event in events if isinstance(event, ModelTurn) for call in event.calls]
    assert [(call.provider_id, call.name, call.arguments) for call in recorded] == [
        (call.get("id"), call["function"]["name"], call["function"]["arguments"]) for call in asked
    ]
    ended = [event for event in events if isinstance(event, (ToolCall, ToolError))]
    assert len(ended) == len(recorded)


@unhurried
@given(TAU2)
def test_tau2_arguments_mean_what_they_meant(messages: list[Json]) -> None:
    events = events_of("tau2", {"simulations": [{"messages": messages}]})
    asked = [call["arguments"] for message in messages for call in message.get("tool_calls") or ()]
    recorded = [call.arguments for event in events if isinstance(event, ModelTurn) for call in event.calls]
    assert [None if text is None else json.loads(text) for text in recorded] == asked


@unhurried
@given(FILES)
def test_a_run_has_a_turn_unless_the_assistant_never_spoke(file: tuple[str, Json]) -> None:
    events = events_of(*file)
    runs = sum(isinstance(event, Terminal) for event in events)
    turns = [event.step for event in events if isinstance(event, ModelTurn)]
    assert turns.count(1) == runs or (runs == 1 and not turns)


@unhurried
@given(FILES)
def test_twice_the_same_file_gives_the_same_bytes(file: tuple[str, Json]) -> None:
    once, again = events_of(*file), events_of(*file)
    assert [encode(event) for event in once] == [encode(event) for event in again]


@pytest.mark.parametrize("format_name", FORMATS)
@unhurried
@given(document=VALUES | FILES.map(lambda file: file[1]), data=st.data())
def test_a_file_is_imported_or_rejected_and_nothing_else(
    format_name: str, document: Json, data: st.DataObject
) -> None:
    """Any member of a file may have become anything."""
    for _ in range(data.draw(st.integers(0, 2))):
        if places := members(document):
            container, key = data.draw(st.sampled_from(places))
            container[key] = data.draw(VALUES | st.text(st.characters(categories=["Cs"]), max_size=2))
    with contextlib.suppress(ImportRejected):
        for found in FORMATS[format_name]("file.json", json.dumps(document).encode()):
            for _, run in to_events(found):
                assert [decode(event.kind, encode(event)) for event in run] == run


def members(document: Json) -> list[tuple[Json, Any]]:
    """Every place in a document: container and key."""
    if not isinstance(document, (list, dict)):
        return []
    keys = list(range(len(document)) if isinstance(document, list) else document)
    inner = [place for key in keys for place in members(document[key])]
    return [(document, key) for key in keys] + inner


@unhurried
@given(st.binary(max_size=60))
def test_bytes_that_are_no_file_are_rejected(data: bytes) -> None:
    for parse in FORMATS.values():
        with pytest.raises(ImportRejected, match=r"^file\.json: "):
            parse("file.json", data)
