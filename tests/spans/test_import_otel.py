"""Spans in the conventions of OpenTelemetry become conversations, each message once."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tachograph.adapters.importers import otel
from tachograph.adapters.importers.conversation import Conversation, ForeignCall, ToolResult, Utterance
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.codec import encode
from tachograph.domain.errors import ImportRejected
from tachograph.domain.events import ModelTurn, ToolCall, ToolError
from tachograph.tests.spans.writing import (
    agent,
    answers,
    asks,
    chat,
    file_of,
    request,
    span,
    text,
    tool,
)

SAMPLE = Path(__file__).parent / "samples" / "pydantic-ai.json"
HELLO, FIND, FOUND, DONE = (
    text("user", "Hello"),
    asks("c1", "find", {"n": 1}),
    answers("c1", "7"),
    text("assistant", "Seven"),
)


def said(conversation: Conversation) -> list[tuple[str, str | None]]:
    return [
        (message.role if isinstance(message, Utterance) else "tool", message.text)
        for message in conversation.messages
    ]


def one(*spans: Any) -> Conversation:
    [found] = otel.parse("f.json", file_of(*spans))
    return found


def test_what_pydantic_ai_wrote_is_one_conversation_counted_another_way() -> None:
    """Two traces with one conversation id, the second of which repeats the first."""
    data = SAMPLE.read_bytes()
    [found] = otel.parse("f.json", data)
    events = [event for _, run in to_events(found) for event in run]

    spans = [
        {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
        for resource in json.loads(data)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    counted = Counter(of["gen_ai.operation.name"] for of in spans)
    turns = [event for event in events if isinstance(event, ModelTurn)]
    assert len(turns) == counted["chat"] == 3
    assert sum(isinstance(event, (ToolCall, ToolError)) for event in events) == counted["execute_tool"] == 2
    for ours, theirs in (("tokens_in", "input_tokens"), ("tokens_out", "output_tokens")):
        name = f"gen_ai.usage.{theirs}"
        assert sum(getattr(turn.usage, ours) for turn in turns) == sum(int(of.get(name, 0)) for of in spans)
    assert said(found) == [
        ("user", "Where is my order A1?"),
        ("assistant", "I look it up."),
        ("tool", '{"id":"A1","state":"sent"}'),
        ("tool", "No such thing."),
        ("assistant", "It is on its way."),
        ("user", "And when does it come?"),
        ("assistant", "It is on its way."),
    ]
    assert (found.agent, found.model, found.policy, found.clock) == (
        "shop", "scripted", "Help the customer.", "message",
    )  # fmt: skip
    assert [event.code for event in events if isinstance(event, ToolError)] == ["tool_execution_failed"]


def test_a_history_that_is_repeated_counts_once() -> None:
    found = one(
        span(1, said=agent("a")),
        span(2, 1, said=chat([HELLO], FIND)),
        span(3, 1, said=tool("find", **{"gen_ai.tool.call.id": "c1"}), failed=True),
        span(4, 1, said=chat([HELLO, FIND, FOUND], DONE)),
    )
    assert said(found) == [("user", "Hello"), ("assistant", None), ("tool", "7"), ("assistant", "Seven")]
    result = found.messages[2]
    assert isinstance(result, ToolResult)
    assert (result.is_error, result.duration_ms) == (True, 500)


def test_the_layout_of_arguments_makes_no_difference() -> None:
    again = asks("c1", "find", '{ "n":1 }')
    found = one(span(2, said=chat([HELLO], FIND)), span(4, 2, said=chat([HELLO, again, FOUND], DONE)))
    assert len(found.messages) == 2, "a call within a call is the same one, told twice"
    assert "within a model call" in found.label
    found = one(
        span(1), span(2, 1, said=chat([HELLO], FIND)), span(4, 1, said=chat([HELLO, again, FOUND], DONE))
    )
    assert len(found.messages) == 4


def test_histories_that_contradict_each_other_are_told_apart_and_marked() -> None:
    first, second = otel.parse(
        "f.json",
        file_of(
            span(1),
            span(2, 1, said=chat([HELLO], text("assistant", "A"))),
            span(3, 1, said=chat([HELLO], text("assistant", "B"))),
        ),
    )
    assert (said(first)[-1], said(second)[-1]) == (("assistant", "A"), ("assistant", "B"))
    assert "the first 1 messages stand in another conversation too" in second.label


def test_an_agent_that_a_tool_calls_has_a_conversation_of_its_own() -> None:
    outer, inner = otel.parse(
        "f.json",
        file_of(
            span(1, said=agent("outer")),
            span(2, 1, said=chat([HELLO], FIND)),
            span(3, 1, said=tool("find", **{"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "7"})),
            span(4, 3, said=agent("inner")),
            span(5, 4, said=chat([text("user", "n?")], text("assistant", "7"))),
        ),
    )
    assert (outer.agent, inner.agent) == ("outer", "inner")
    assert said(outer) == [("user", "Hello"), ("assistant", None), ("tool", "7")]
    assert said(inner) == [("user", "n?"), ("assistant", "7")]


def test_without_content_the_calls_come_from_the_spans_of_tools_and_the_rest_is_unknown() -> None:
    found = one(
        span(1, said=agent("a")),
        span(2, 1, said=chat(None, None, **{"gen_ai.usage.input_tokens": 5})),
        span(3, 1, said=tool("find", **{"gen_ai.tool.call.id": "c1"})),
        span(4, 1, said=chat(None, None)),
    )
    assert said(found) == [("assistant", None), ("tool", None), ("assistant", None)]
    first = found.messages[0]
    assert isinstance(first, Utterance)
    assert (first.calls, first.usage.tokens_in) == ((ForeignCall("c1", "find", None),), 5)
    assert "an answer's content is not in the file (2 times)" in found.label


def test_the_older_events_are_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n":1}'}}
    found = one(
        span(1),
        span(
            2, 1,
            said={"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 3},
            events=[
                ("gen_ai.system.message", {"content": "Be brief."}),
                ("gen_ai.user.message", {"content": "Hello"}),
                ("gen_ai.choice", {"index": 0, "finish_reason": "tool_calls",
                                   "message": json.dumps({"role": "assistant", "tool_calls": [call]})}),
            ],
        ),
        span(
            3, 1,
            said={"gen_ai.operation.name": "chat"},
            events=[
                ("gen_ai.system.message", {"content": "Be brief."}),
                ("gen_ai.user.message", {"content": "Hello"}),
                ("gen_ai.assistant.message", {"tool_calls": [call]}),
                ("gen_ai.tool.message", {"id": "c1", "content": "7"}),
                ("gen_ai.choice", {"index": 0, "message": {"content": "Seven"}}),
            ],
        ),
    )  # fmt: skip
    assert said(found) == [
        ("system", "Be brief."), ("user", "Hello"), ("assistant", None), ("tool", "7"),
        ("assistant", "Seven"),
    ]  # fmt: skip


def test_a_call_that_failed_is_noted_and_its_retry_goes_on() -> None:
    found = one(
        span(1), span(2, 1, said=chat([HELLO], None), failed=True), span(3, 1, said=chat([HELLO], DONE))
    )
    assert said(found) == [("user", "Hello"), ("assistant", "Seven")]
    assert "a model call failed without an answer" in found.label


def test_reasoning_is_left_out_and_other_parts_are_marked() -> None:
    parts = [{"type": "reasoning", "content": "hm"}, {"type": "blob"}, {"type": "text", "content": "Hi"}]
    found = one(span(2, said=chat([HELLO], {"role": "assistant", "parts": parts})))
    assert said(found)[-1] == ("assistant", "[a part of the type 'blob' was not imported]\nHi")


def test_one_request_a_list_and_lines_say_the_same() -> None:
    first, second = span(2, 1, said=chat([HELLO], FIND)), span(4, 1, said=chat([HELLO, FIND, FOUND], DONE))
    forms = [
        request(first, second),
        [request(first), request(second)],
    ]
    written = [json.dumps(form).encode() for form in forms]
    written.append(b"\n".join(json.dumps(request(each)).encode() for each in (first, second, first)) + b"\n")
    found = [otel.parse("f.json", data)[0].messages for data in written]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 4


def test_twice_the_same_file_gives_the_same_bytes() -> None:
    once, again = (
        [(run_id, [encode(event) for event in run]) for each in otel.parse("f", SAMPLE.read_bytes())
         for run_id, run in to_events(each)]
        for _ in range(2)
    )  # fmt: skip
    assert once == again


REFUSED = [
    (b"{}", "resourceSpans is missing"),
    (b"[]", "holds no spans"),
    (file_of(span(1)), "no conversations in the conventions of otel"),
    (file_of(span(1, spanId="xyz")), "spanId must be 16 hexadecimal digits"),
    (file_of(span(1, traceId="")), "traceId is missing"),
    (file_of(span(1, startTimeUnixNano="-5")), "startTimeUnixNano must be nanoseconds"),
    (file_of(span(1, endTimeUnixNano="9" * 19)), "endTimeUnixNano must be nanoseconds"),
    (file_of(span(1), span(1, said={"a": 1})), "stands twice, with other content"),
    (file_of(span(1, attributes=[{"key": "a"}, {"key": "a"}])), "the attribute 'a' stands twice"),
    (file_of(span(1, attributes=[{"key": "a", "value": {"intValue": "x"}}])), "must be a whole number"),
    (file_of(span(1, said=chat([HELLO], DONE, **{"gen_ai.usage.input_tokens": -1}))), "must be a count"),
    (file_of(span(1, said=chat([HELLO], text("user", "x")))), "an answer must be the assistant's"),
    (file_of(span(1, said=chat([text("nobody", "x")], DONE))), "the role must be"),
    (file_of(span(1, said={"gen_ai.operation.name": "chat", "gen_ai.input.messages": '[{"ro'})), "not JSON"),
    (json.dumps(request(span(1))).encode() + b"\n{}x", "line 2: not JSON"),
]


@pytest.mark.parametrize(("data", "why"), REFUSED)
def test_a_bad_file_is_refused_in_a_line(data: bytes, why: str) -> None:
    with pytest.raises(ImportRejected, match=why) as told:
        otel.parse("f.json", data)
    assert str(told.value).startswith("f.json: ")
    assert "\n" not in str(told.value)


def test_spans_that_are_each_others_parents_are_no_harm() -> None:
    found = one(span(1, 2, said=agent("a")), span(2, 1), span(3, 2, said=chat([HELLO], DONE)))
    assert len(found.messages) == 2
