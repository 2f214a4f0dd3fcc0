"""
Spans in the words of OpenTelemetry's semantic conventions for generative AI: one table, pinned here.

Version: 1.41.1, the last release of the conventions that holds them; they went on in a repository of their
own, where every attribute used here is still in development.
Source: https://github.com/open-telemetry/semantic-conventions/tree/v1.41.1/docs/gen-ai, gen-ai-spans.md and
gen-ai-agent-spans.md.

What the conventions have no name for stands under `tachograph.`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tachograph.domain.values import json_text
from tachograph.projections.span import Said, Span, Value
from tachograph.projections.spans import model_name

VERSION: Final = "1.41.1"
SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/{VERSION}"
OWN: Final = "tachograph."

OPERATIONS: Final[Mapping[str, str]] = {
    "invoke_agent": "invoke_agent",
    "chat": "chat",
    "execute_tool": "execute_tool",
}
NAMES: Final[Mapping[str, str]] = {
    "agent": "gen_ai.agent.name",
    "agent_version": "gen_ai.agent.version",
    "conversation": "gen_ai.conversation.id",
    "model_answered": "gen_ai.response.model",
    "response_id": "gen_ai.response.id",
    "tokens_in": "gen_ai.usage.input_tokens",
    "tokens_out": "gen_ai.usage.output_tokens",
    "tokens_cached": "gen_ai.usage.cache_read.input_tokens",
    "tokens_reasoning": "gen_ai.usage.reasoning.output_tokens",
    "tool": "gen_ai.tool.name",
    "call_key": "gen_ai.tool.call.id",
}
PROVIDERS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "google": "gcp.gemini",
    "bedrock": "aws.bedrock",
    "ollama": "ollama",
    "scripted": "scripted",
}
PROVIDER_OTHER: Final = "_OTHER"
FINISH_REASONS: Final[Mapping[str, str]] = {"tool_calls": "tool_call", "rejected": "error"}


def attributes(span: Span) -> dict[str, Value]:
    """Return a span's attributes in these conventions, those that say what it is first."""
    found: dict[str, Value] = {}
    if span.operation in OPERATIONS:
        found["gen_ai.operation.name"] = OPERATIONS[span.operation]
    if span.operation in ("invoke_agent", "chat"):
        model = str(span.facts.get("model_asked") or span.facts.get("model") or "")
        found["gen_ai.provider.name"] = PROVIDERS.get(model.partition(":")[0], PROVIDER_OTHER)
        if model:
            found["gen_ai.request.model"] = model_name(model)
    if span.operation == "execute_tool":
        found["gen_ai.tool.type"] = "function"
    for fact, value in span.facts.items():
        if fact == "finish_reason":
            found["gen_ai.response.finish_reasons"] = (FINISH_REASONS.get(str(value), str(value)),)
        elif fact not in ("model", "model_asked"):
            found[NAMES.get(fact) or f"{OWN}{fact}"] = value
    if span.error is not None:
        found["error.type"] = span.error
    return found | _content(span)


def _content(span: Span) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if span.said_in:
        found["gen_ai.input.messages"] = json_text([_message(said) for said in span.said_in])
    if span.said_out:
        reason = str(span.facts.get("finish_reason", "stop"))
        last = {"finish_reason": FINISH_REASONS.get(reason, reason)}
        found["gen_ai.output.messages"] = json_text([_message(said) | last for said in span.said_out])
    if span.arguments is not None:
        found["gen_ai.tool.call.arguments"] = span.arguments
    if span.output is not None:
        found["gen_ai.tool.call.result"] = span.output
    return found


def _message(said: Said) -> dict[str, Any]:
    """Return a message with its parts. Arguments stay text, so that numbers keep their digits."""
    parts: Sequence[dict[str, Any]] = [{"type": "text", "content": said.text}] if said.text else []
    calls = [
        {"type": "tool_call", "id": call.call_key, "name": call.name, "arguments": call.arguments}
        for call in said.calls
    ]
    return {"role": said.role, "parts": [*parts, *calls]}
