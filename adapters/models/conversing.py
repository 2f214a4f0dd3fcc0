"""
Between our requests and the messages of pydantic-ai, which knows the forms of all providers.

A provider's own answer goes back to it as it came, from `provider_state`: with its thinking, signatures and
ids. The same record gives the same messages, so a provider's prompt cache keeps its prefix.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from tachograph.domain import messages as ours
from tachograph.domain.events import CallRequest

EMPTY: Final = "(nothing)"


def parameters_of(request: ours.ModelRequest) -> ModelRequestParameters:
    """Return the tools that are offered."""
    tools = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
        for tool in request.tools
    ]
    return ModelRequestParameters(function_tools=tools, allow_text_output=True)


def messages_of(request: ours.ModelRequest) -> list[ModelMessage]:
    """Return the conversation. Each call has one id, which its result repeats, and no other call has it."""
    result: list[ModelMessage] = []
    waiting: list[ModelRequestPart] = []
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    used: set[str] = set()
    for message in request.messages:
        if message.role != "assistant":
            waiting.append(_part(message, ids, names))
            continue
        if waiting:
            result.append(ModelRequest(parts=waiting, instructions=request.instructions))
            waiting = []
        ids = {call.call_key: _id_of(call, used) for call in message.calls}
        names = {call.call_key: call.name for call in message.calls}
        result.append(_answer(message, ids))
    result.append(ModelRequest(parts=waiting, instructions=request.instructions))
    return result


def state_of(response: ModelResponse) -> str:
    """Return an answer as the text that `messages_of` reads again."""
    return ModelMessagesTypeAdapter.dump_json([response]).decode()


def _part(message: ours.RequestMessage, ids: dict[str, str], names: dict[str, str]) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(content=message.content)
    if message.role == "tool":
        key = message.call_key or ""
        return ToolReturnPart(
            tool_name=names.get(key, EMPTY) or EMPTY,
            content=message.content,
            tool_call_id=ids[key],
            outcome="failed" if message.is_error else "success",
        )
    return UserPromptPart(content=message.content)


def _id_of(call: CallRequest, used: set[str]) -> str:
    """Return the provider's id of a call, or one of ours where it gave none, or the same one twice."""
    wanted = call.provider_id or ""
    chosen = (
        wanted if wanted and wanted not in used else f"call_{len(used)}_{call.call_key.replace('.', '_')}"
    )
    used.add(chosen)
    return chosen


def _answer(message: ours.RequestMessage, ids: dict[str, str]) -> ModelResponse:
    """Return an answer as the provider gave it; calls that have no result are left out, as in ours."""
    recorded = _recorded(message)
    if recorded is None:
        text = [TextPart(content=message.content)] if message.content else []
        calls = [ToolCallPart(c.name or EMPTY, c.arguments, ids[c.call_key]) for c in message.calls]
        return ModelResponse(parts=[*text, *calls])
    by_place = {_place(key): call_id for key, call_id in ids.items()}
    return replace(recorded, parts=list(_kept(recorded, by_place)))


def _kept(recorded: ModelResponse, by_place: dict[int, str]) -> Iterator[ModelResponsePart]:
    place = 0
    for part in recorded.parts:
        if not isinstance(part, ToolCallPart):
            yield part
            continue
        place += 1
        if place in by_place:
            yield replace(part, tool_call_id=by_place[place])


def _recorded(message: ours.RequestMessage) -> ModelResponse | None:
    """Return the provider's own answer; None where the record has none, or another adapter's."""
    if message.provider_state is None:
        return None
    try:
        found: Sequence[ModelMessage] = ModelMessagesTypeAdapter.validate_json(message.provider_state)
    except ValidationError:
        return None
    return found[0] if len(found) == 1 and isinstance(found[0], ModelResponse) else None


def _place(call_key: str) -> int:
    return int(call_key.partition(".")[2])
