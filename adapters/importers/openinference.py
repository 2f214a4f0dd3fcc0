"""
The format `openinference`: spans with the attributes of OpenInference, as OTLP in JSON.

Spans of the kinds LLM, TOOL and AGENT say something; the others only hold them together. Lists are
flattened in the names of attributes: `llm.input_messages.0.message.role`.
"""

import hashlib
import re
from typing import Any, Final

from tachograph.adapters.importers.conversation import (
    CALLS_MAX,
    MESSAGES_MAX,
    Conversation,
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
    says_error,
)
from tachograph.adapters.importers.document import Node
from tachograph.adapters.importers.observed import Observed, cost, exception_of, tokens
from tachograph.adapters.importers.otlp import ForeignSpan, spans_of
from tachograph.adapters.importers.traces import conversations
from tachograph.domain.budget import Usage

FORMAT: Final = "openinference"

_PLACE: Final = re.compile(r"(\d{1,6})\.(.+)\Z", re.ASCII | re.DOTALL)


def parse(file: str, data: bytes) -> list[Conversation]:
    """
    Read the conversations of a file.

    Args:
        file: Its name, for messages.
    Raises:
        ImportRejected: The file breaks the format; nothing of it should be imported.
    """
    observed = [_observed(span) for span in spans_of(file, data)]
    return conversations(file, FORMAT, hashlib.sha256(data).hexdigest(), observed)


def _observed(span: ForeignSpan) -> Observed:
    said = span.attributes
    session, agent = said.name_or_none("session.id"), said.name_or_none("agent.name")
    match said.text_or_none("openinference.span.kind"):
        case "LLM":
            return _chat(span, session, agent)
        case "AGENT":
            text = said.json_or_none("input.value")
            given = None if text is None else (Utterance("user", text),)
            answer = said.json_or_none("output.value")
            out = None if answer is None else Utterance("assistant", answer)
            return Observed(
                span,
                "agent",
                session,
                agent,
                said_in=given,
                said_out=out,
                outcome=said.name_or_none("tachograph.outcome"),
            )
        case "TOOL":
            call = ForeignCall(
                said.text_or_none("tool.id") or said.text_or_none("tool_call.id"),
                said.text_or_none("tool.name") or "",
                said.json_or_none("tool_call.function.arguments") or said.json_or_none("input.value"),
            )
            error = exception_of(span) or (said.name_or_none("error.type") if span.failed else None)
            return Observed(
                span, "tool", session, call=call, output=said.json_or_none("output.value"), error=error
            )
        case _:
            return Observed(span, "other")


def _chat(span: ForeignSpan, session: str | None, agent: str | None) -> Observed:
    said = span.attributes
    given = [_message(each) for each in _indexed(said, "llm.input_messages.", MESSAGES_MAX)]
    answers = _indexed(said, "llm.output_messages.", MESSAGES_MAX)
    choices = [_message(each, "assistant") for each in answers]
    answer = choices[0] if choices else None
    if answer is not None and (not isinstance(answer, Utterance) or answer.role != "assistant"):
        answers[0].reject("an answer must be the assistant's")
    more = len(choices) - 1
    return Observed(
        span,
        "chat",
        session,
        agent,
        said_in=tuple(given) or None,
        said_out=answer,
        cost_usd=cost(said, "llm.cost.total"),
        usage=Usage(
            tokens_in=tokens(said, "llm.token_count.prompt"),
            tokens_out=tokens(said, "llm.token_count.completion"),
            tokens_cached=tokens(said, "llm.token_count.prompt_details.cache_read"),
            tokens_reasoning=tokens(said, "llm.token_count.completion_details.reasoning"),
        ),
        model=said.name_or_none("llm.request.model_name") or said.name_or_none("llm.model_name"),
        model_answered=said.name_or_none("llm.response.model_name"),
        notes=(f"{more} more messages of an answer are left out",) if more > 0 else (),
    )


def _message(message: Node, role_default: str | None = None) -> ForeignMessage:
    role = message.text_or_none("message.role") or role_default or message.text("message.role")
    text = message.json_or_none("message.content")
    if text is None:
        text = _contents(message)
    calls = tuple(_call(call) for call in _indexed(message, "message.tool_calls.", CALLS_MAX))
    if role == "assistant":
        return Utterance("assistant", text, calls)
    if calls:
        message.reject(f"only the assistant calls tools, not {role[:50]!r}")
    if role in ("system", "developer", "user"):
        return Utterance("user" if role == "user" else "system", text)
    if role == "tool":
        name = message.text_or_none("message.name")
        return ToolResult(message.text_or_none("message.tool_call_id"), name, text, says_error(text))
    message.reject(f"the role must be system, user, assistant or tool, not {role[:50]!r}")


def _contents(message: Node) -> str | None:
    texts: list[str] = []
    for part in _indexed(message, "message.contents.", MESSAGES_MAX):
        kind = part.text_or_none("message_content.type") or "text"
        if kind == "text":
            texts.append(part.json_or_none("message_content.text") or "")
        elif kind != "reasoning":
            texts.append(f"[a part of the type {kind[:50]!r} was not imported]")
    return "\n".join(texts) if texts else None


def _call(call: Node) -> ForeignCall:
    return ForeignCall(
        call.text_or_none("tool_call.id"),
        call.text("tool_call.function.name"),
        call.json_or_none("tool_call.function.arguments"),
    )


def _indexed(place: Node, prefix: str, at_most: int) -> list[Node]:
    """Return the objects of a flattened list in order, each with the members below its index."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in place.members.items():
        if name.startswith(prefix) and (match := _PLACE.match(name, len(prefix))):
            found.setdefault(int(match[1]), {})[match[2]] = value
    if len(found) > at_most:
        place.reject(f"{prefix[:-1]} has {len(found)} entries; at most {at_most} can be imported")
    path = (*place.path, prefix[:-1])
    return [Node(place.file, (*path, index), found[index]) for index in sorted(found)]
