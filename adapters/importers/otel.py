"""
The format `otel`: spans in OpenTelemetry's semantic conventions for generative AI, as OTLP in JSON.

Messages are those of `gen_ai.input.messages` and `gen_ai.output.messages`, or of the older events of a
span (`gen_ai.user.message`, `gen_ai.choice`). Text parts are joined by a line feed; `reasoning` is left
out, and a part of another type leaves a note in its place. Of several choices the first one is taken.
"""

import hashlib
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
from tachograph.adapters.importers.document import Node, node
from tachograph.adapters.importers.observed import Observed, cost, exception_of, tokens
from tachograph.adapters.importers.otlp import ForeignSpan, parsed, spans_of
from tachograph.adapters.importers.traces import conversations
from tachograph.domain.budget import Usage

FORMAT: Final = "otel"

_KINDS: Final = {
    "chat": "chat",
    "text_completion": "chat",
    "generate_content": "chat",
    "invoke_agent": "agent",
    "execute_tool": "tool",
}
_THINKING: Final = ("reasoning", "thinking")
_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE: Final = "gen_ai.choice"


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
    match _KINDS.get(said.text_or_none("gen_ai.operation.name") or ""):
        case "chat":
            return _chat(span, "chat")
        case "agent":
            return _chat(span, "agent")
        case "tool":
            return _tool(span)
        case _:
            return Observed(span, "other")


def _chat(span: ForeignSpan, kind: Any) -> Observed:
    said = span.attributes
    given, choices = _from_attributes(said)
    if given is None and not choices:
        given, choices = _from_events(span)
    more = len(choices) - 1
    return Observed(
        span,
        kind,
        conversation=said.name_or_none("gen_ai.conversation.id"),
        agent=said.name_or_none("gen_ai.agent.name"),
        policy=_policy(said),
        said_in=None if given is None else tuple(given),
        said_out=choices[0] if choices else None,
        cost_usd=cost(said, "tachograph.cost_usd"),
        usage=Usage(
            tokens_in=tokens(said, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
            tokens_out=tokens(said, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
            tokens_cached=tokens(said, "gen_ai.usage.cache_read.input_tokens"),
            tokens_reasoning=tokens(said, "gen_ai.usage.reasoning.output_tokens"),
        ),
        model=said.name_or_none("gen_ai.request.model"),
        model_answered=said.name_or_none("gen_ai.response.model"),
        response_id=said.name_or_none("gen_ai.response.id"),
        outcome=said.name_or_none("tachograph.outcome"),
        notes=(f"{more} more choices of an answer are left out",) if more > 0 else (),
    )


def _tool(span: ForeignSpan) -> Observed:
    said = span.attributes
    error = said.name_or_none("error.type") if span.failed else None
    call = ForeignCall(
        said.text_or_none("gen_ai.tool.call.id"),
        said.text_or_none("gen_ai.tool.name") or "",
        said.json_or_none("gen_ai.tool.call.arguments"),
    )
    return Observed(
        span,
        "tool",
        conversation=said.name_or_none("gen_ai.conversation.id"),
        call=call,
        output=said.json_or_none("gen_ai.tool.call.result"),
        error=exception_of(span) or error,
    )


def _policy(said: Node) -> str | None:
    value = parsed(said, "gen_ai.system_instructions")
    if value is None:
        return None
    texts = [
        part.text_or_none("content") or "" for part in _listed(said, "gen_ai.system_instructions", value)
    ]
    return "\n".join(texts) or None


def _from_attributes(said: Node) -> tuple[list[ForeignMessage] | None, list[Utterance]]:
    value, answers = parsed(said, "gen_ai.input.messages"), parsed(said, "gen_ai.output.messages")
    given = None
    if value is not None:
        messages = _listed(said, "gen_ai.input.messages", value)
        given = [part for message in messages for part in _message(message)]
    choices: list[Utterance] = []
    if answers is not None:
        for message in _listed(said, "gen_ai.output.messages", answers):
            found = [each for each in _message(message) if isinstance(each, Utterance)]
            if not found or found[0].role != "assistant":
                message.reject("an answer must be the assistant's")
            choices.append(found[0])
    return given, choices


def _message(message: Node) -> list[ForeignMessage]:
    """Return a message; results of tools among its parts are messages of their own, before its text."""
    role = message.text("role")
    results: list[ForeignMessage] = []
    texts: list[str] = []
    calls: list[ForeignCall] = []
    if message.members.get("parts") is None and (text := message.json_or_none("content")) is not None:
        texts.append(text)
    for part in message.objects_if_any("parts", at_most=MESSAGES_MAX):
        kind = part.text("type")
        if kind == "text":
            texts.append(part.text_or_none("content") or "")
        elif kind == "tool_call":
            calls.append(
                ForeignCall(part.text_or_none("id"), part.text("name"), part.json_or_none("arguments"))
            )
        elif kind == "tool_call_response":
            text = part.json_or_none("response" if "response" in part.members else "result")
            results.append(
                ToolResult(part.text_or_none("id"), part.text_or_none("name"), text, says_error(text))
            )
        elif kind not in _THINKING:
            texts.append(f"[a part of the type {kind[:50]!r} was not imported]")
    if role == "tool" and not texts and not calls:
        return results
    said = _utterance(message, role, "\n".join(texts) if texts else None, calls)
    if said.role == "assistant":
        return [said, *results]
    return [*results, said] if texts or not results else results


def _from_events(span: ForeignSpan) -> tuple[list[ForeignMessage] | None, list[Utterance]]:
    """Read the events of conventions before 1.37; what they hold may be JSON text."""
    given: list[ForeignMessage] = []
    choices: list[Utterance] = []
    for name, event in span.events:
        if name == _CHOICE:
            message = parsed(event, "message")
            said = event if message is None else node(event.file, (*event.path, "message"), message)
            choices.append(_utterance(said, "assistant", said.json_or_none("content"), _old_calls(said)))
        elif name in _EVENTS:
            role, text = event.text_or_none("role") or _EVENTS[name], event.json_or_none("content")
            if role == "tool":
                given.append(
                    ToolResult(event.text_or_none("id"), event.text_or_none("name"), text, says_error(text))
                )
            else:
                given.append(_utterance(event, role, text, _old_calls(event)))
    return given or None, choices


def _old_calls(message: Node) -> list[ForeignCall]:
    value = parsed(message, "tool_calls")
    if value is None:
        return []
    calls = []
    for call in _listed(message, "tool_calls", value):
        function = call.object_or_none("function") or call
        calls.append(
            ForeignCall(call.text_or_none("id"), function.text("name"), function.json_or_none("arguments"))
        )
    return calls


def _utterance(place: Node, role: str, text: str | None, calls: list[ForeignCall]) -> Utterance:
    if len(calls) > CALLS_MAX:
        place.reject(f"{len(calls)} calls; at most {CALLS_MAX} can be imported")
    if role == "assistant":
        return Utterance("assistant", text, tuple(calls))
    if calls:
        place.reject(f"only the assistant calls tools, not {role[:50]!r}")
    if role in ("system", "developer", "user"):
        return Utterance("user" if role == "user" else "system", text)
    place.reject(f"the role must be system, user, assistant or tool, not {role[:50]!r}")


def _listed(place: Node, name: str, value: Any) -> list[Node]:
    return Node(place.file, place.path, {name: value}).objects(name, at_most=MESSAGES_MAX)
