"""Spans with the attributes of OpenInference become conversations; names are checked against its package."""

from decimal import Decimal
from typing import Any

import pytest
from openinference.semconv.trace import (
    MessageAttributes,
    OpenInferenceSpanKindValues,
    SpanAttributes,
    ToolCallAttributes,
)

from tachograph.adapters.importers import openinference
from tachograph.adapters.importers.conversation import ForeignCall, ToolResult, Utterance
from tachograph.domain.budget import Usage
from tachograph.domain.errors import ImportRejected
from tachograph.tests.spans.writing import file_of, span

KIND = SpanAttributes.OPENINFERENCE_SPAN_KIND
LLM = OpenInferenceSpanKindValues.LLM.value


def llm(given: list[dict[str, Any]], answer: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    said: dict[str, Any] = {KIND: LLM, SpanAttributes.LLM_MODEL_NAME: "m-1", **more}
    for place, message in enumerate(given):
        said |= {f"{SpanAttributes.LLM_INPUT_MESSAGES}.{place}.{name}": of for name, of in message.items()}
    for name, of in (answer or {}).items():
        said[f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.{name}"] = of
    return said


def message(role: str, text: str) -> dict[str, Any]:
    return {MessageAttributes.MESSAGE_ROLE: role, MessageAttributes.MESSAGE_CONTENT: text}


CALL = f"{MessageAttributes.MESSAGE_TOOL_CALLS}.0."
ASKS = {
    MessageAttributes.MESSAGE_ROLE: "assistant",
    f"{CALL}{ToolCallAttributes.TOOL_CALL_ID}": "c1",
    f"{CALL}{ToolCallAttributes.TOOL_CALL_FUNCTION_NAME}": "find",
    f"{CALL}{ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON}": '{"n": 1.50}',
}
ANSWERS = message("tool", "7") | {MessageAttributes.MESSAGE_TOOL_CALL_ID: "c1"}
HELLO, DONE = message("user", "Hello"), message("assistant", "Seven")


def test_a_loop_of_model_and_tool_is_one_conversation() -> None:
    counts = {
        SpanAttributes.LLM_TOKEN_COUNT_PROMPT: 9,
        SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: 2,
        SpanAttributes.LLM_COST_TOTAL: 0.25,
    }
    [found] = openinference.parse(
        "f.json",
        file_of(
            span(1, said={KIND: "AGENT", SpanAttributes.AGENT_NAME: "shop", SpanAttributes.SESSION_ID: "s"}),
            span(2, 1, said={KIND: "CHAIN"}),
            span(3, 2, said=llm([HELLO], ASKS, **counts)),
            span(4, 1, said={KIND: "TOOL", SpanAttributes.TOOL_NAME: "find"}, failed=True),
            span(5, 1, said=llm([HELLO, ASKS, ANSWERS], DONE)),
        ),
    )
    asked, result = found.messages[1:3]
    assert isinstance(asked, Utterance)
    assert isinstance(result, ToolResult)
    assert [each.text for each in found.messages] == ["Hello", None, "7", "Seven"]
    assert asked.calls == (ForeignCall("c1", "find", '{"n": 1.50}'),)
    assert (asked.usage, asked.cost_usd) == (Usage(tokens_in=9, tokens_out=2), Decimal("0.25"))
    assert (result.is_error, result.duration_ms) == (True, 500)
    assert (found.agent, found.model) == ("shop", "m-1")
    assert "conversation s" in found.label


def test_contents_of_several_parts_are_joined_and_pictures_marked() -> None:
    said = {
        MessageAttributes.MESSAGE_ROLE: "user",
        "message.contents.0.message_content.type": "text",
        "message.contents.0.message_content.text": "Look:",
        "message.contents.1.message_content.type": "image",
    }
    [found] = openinference.parse("f.json", file_of(span(1, said=llm([said], DONE))))
    assert found.messages[0].text == "Look:\n[a part of the type 'image' was not imported]"


def test_messages_stand_in_the_order_of_their_numbers() -> None:
    given = [message("user", str(number)) for number in range(12)]
    [found] = openinference.parse("f.json", file_of(span(1, said=llm(given, DONE))))
    assert [each.text for each in found.messages] == [*map(str, range(12)), "Seven"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (llm([message("nobody", "x")], DONE), "input_messages/0': the role must be"),
        (llm([{MessageAttributes.MESSAGE_CONTENT: "x"}], DONE), "message.role is missing"),
        (llm([HELLO], message("user", "x")), "an answer must be the assistant's"),
        (llm([HELLO | ASKS | {"message.role": "user"}], DONE), "only the assistant calls tools"),
        (llm([HELLO], DONE, **{SpanAttributes.LLM_TOKEN_COUNT_PROMPT: "1"}), "must be a number"),
        ({KIND: "RETRIEVER"}, "no conversations in the conventions of openinference"),
    ],
)
def test_a_bad_file_is_refused_in_a_line(said: dict[str, Any], why: str) -> None:
    with pytest.raises(ImportRejected, match=why):
        openinference.parse("f.json", file_of(span(1, said=said)))
