"""Any tree of spans: what a loop said is there once, and any damage is told in a line."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.adapters.importers.importing import FORMATS
from tachograph.adapters.importers.to_events import to_events
from tachograph.adapters.receiving.requests import JSON, PROTOBUF, BadRequest, batch_of, unpacked
from tachograph.domain.codec import decode, encode
from tachograph.domain.errors import ImportRejected
from tachograph.domain.events import ModelTurn, Recorded, ToolCall, ToolError
from tachograph.domain.run import fold
from tachograph.tests.spans.writing import agent, answers, asks, chat, request, span, text, tool
from tachograph.tests.test_import_properties import VALUES, members

unhurried = settings(deadline=None)

TURNS = st.lists(
    st.tuples(st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3)), min_size=1, max_size=6
)


def loop(turns: list[tuple[str, list[str]]], repeats: bool) -> Any:
    """A request of an agent's run: each turn says a text or calls tools, which answer with texts."""
    history = [text("user", "Hello")]
    spans = [span(1, said=agent("a"))]
    for number, (said, results) in enumerate(turns):
        ids = [f"c{number}.{at}" for at in range(len(results))]
        parts = [part for each in ids for part in asks(each, "find", {"at": each})["parts"]]
        answer = text("assistant", said)
        answer["parts"] += parts
        given = list(history) if repeats or not number else None
        spans.append(span(10 * number + 2, 1, said=chat(given, answer)))
        for at, (call_id, result) in enumerate(zip(ids, results, strict=True)):
            of = {"gen_ai.tool.call.id": call_id, "gen_ai.tool.call.result": result}
            spans.append(span(10 * number + 3 + at, 1, said=tool("find", **of)))
        history += [answer, *(answers(call_id, result) for call_id, result in zip(ids, results, strict=True))]
    return request(*spans)


@pytest.mark.parametrize("repeats", [True, False])
@unhurried
@given(turns=TURNS, order=st.randoms(use_true_random=False))
def test_each_turn_and_each_result_is_there_once_in_whatever_order_spans_stand(
    repeats: bool, turns: list[tuple[str, list[str]]], order: Any
) -> None:
    document = loop(turns, repeats)
    order.shuffle(document["resourceSpans"][0]["scopeSpans"][0]["spans"])
    [found] = FORMATS["otel"]("file.json", json.dumps(document).encode())
    events = []
    for run_id, run in to_events(found):
        assert fold(run_id, [Recorded(run_id, version, event) for version, event in enumerate(run, 1)]).ended
        assert [decode(event.kind, encode(event)) for event in run] == run
        events += run
    assert [event.text for event in events if isinstance(event, ModelTurn)] == [said for said, _ in turns]
    results = [
        event.message if isinstance(event, ToolError) else json.loads(event.output)
        for event in events
        if isinstance(event, (ToolCall, ToolError))
    ]
    assert results == [result for _, each in turns for result in each]


@pytest.mark.parametrize("format_name", ["otel", "openinference"])
@unhurried
@given(document=VALUES | TURNS.map(lambda turns: loop(turns, True)), data=st.data())
def test_a_file_is_imported_or_rejected_and_nothing_else(
    format_name: str, document: Any, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(0, 3))):
        if places := members(document):
            container, key = data.draw(st.sampled_from(places))
            container[key] = data.draw(VALUES | st.text(st.characters(categories=["Cs"]), max_size=2))
    with contextlib.suppress(ImportRejected):
        for found in FORMATS[format_name]("file.json", json.dumps(document).encode()):
            for _, run in to_events(found):
                assert [decode(event.kind, encode(event)) for event in run] == run
    with contextlib.suppress(BadRequest):
        batch_of(json.dumps(document).encode(), JSON)


@unhurried
@given(st.binary(max_size=60), st.sampled_from([JSON, PROTOBUF]), st.sampled_from(["", "gzip"]))
def test_bodies_that_are_no_request_are_refused_and_nothing_else(body: bytes, kind: str, packed: str) -> None:
    with contextlib.suppress(BadRequest):
        batch_of(unpacked(body, packed), kind)
