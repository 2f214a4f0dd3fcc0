"""
Spans in the words of OpenInference, for tools such as Phoenix: the same walk, another table.

Version: openinference-semantic-conventions 0.1.42.
Source: https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md

What the conventions have no name for stands under `tachograph.`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tachograph.projections.gen_ai import OWN
from tachograph.projections.span import INTEGER_MAX, Said, Span, Value
from tachograph.projections.spans import model_name

VERSION: Final = "0.1.42"
SCHEMA_URL: Final = ""

KINDS: Final[Mapping[str, str]] = {
    "invoke_agent": "AGENT",
    "chat": "LLM",
    "execute_tool": "TOOL",
    "approval": "CHAIN",
}
NAMES: Final[Mapping[str, str]] = {
    "agent": "agent.name",
    "conversation": "session.id",
    "model_answered": "llm.response.model_name",
    "finish_reason": "llm.finish_reason",
    "tokens_in": "llm.token_count.prompt",
    "tokens_out": "llm.token_count.completion",
    "tokens_cached": "llm.token_count.prompt_details.cache_read",
    "tokens_reasoning": "llm.token_count.completion_details.reasoning",
    "cost_usd": "llm.cost.total",
    "tool": "tool.name",
    "call_key": "tool.id",
}
PROVIDERS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "bedrock": "aws",
    "ollama": "ollama",
}


def attributes(span: Span) -> dict[str, Value]:
    """Return a span's attributes in these conventions, those that say what it is first."""
    found: dict[str, Value] = {"openinference.span.kind": KINDS[span.operation]}
    of_model = span.operation == "chat"
    if of_model:
        asked = str(span.facts["model_asked"])
        provider = PROVIDERS.get(asked.partition(":")[0])
        if provider:
            found["llm.provider"] = provider
        found["llm.request.model_name"] = model_name(asked)
        found["llm.model_name"] = span.facts.get("model_answered") or model_name(asked)
        total = sum(int(str(span.facts[name])) for name in ("tokens_in", "tokens_out"))
        found["llm.token_count.total"] = min(total, INTEGER_MAX)
    for fact, value in span.facts.items():
        if fact not in ("model", "model_asked"):
            of_llm = NAMES.get(fact, "").startswith("llm.")
            found[NAMES[fact] if fact in NAMES and (of_model or not of_llm) else f"{OWN}{fact}"] = value
    if span.error is not None:
        found["error.type"] = span.error
    return found | dict(_content(span))


def _content(span: Span) -> Iterator[tuple[str, Value]]:
    if span.operation == "invoke_agent":
        if span.said_in:
            yield "input.value", "\n".join(said.text or "" for said in span.said_in)
        if span.said_out:
            yield from _value("output", span.said_out[0].calls[0].arguments)
        return
    yield from _messages(span.said_out)
    if span.arguments is not None:
        yield from _value("input", span.arguments)
    if span.output is not None:
        yield from _value("output", span.output)


def _messages(messages: Sequence[Said]) -> Iterator[tuple[str, Value]]:
    for place, said in enumerate(messages):
        message = f"llm.output_messages.{place}.message"
        yield f"{message}.role", said.role
        if said.text:
            yield f"{message}.content", said.text
        for number, call in enumerate(said.calls):
            asked = f"{message}.tool_calls.{number}.tool_call"
            yield f"{asked}.id", call.call_key
            yield f"{asked}.function.name", call.name
            yield f"{asked}.function.arguments", call.arguments


def _value(of: str, text: str) -> Iterator[tuple[str, Value]]:
    yield f"{of}.value", text
    yield f"{of}.mime_type", "application/json"
