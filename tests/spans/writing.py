"""Spans for the tests, written as OTLP in JSON."""

import json
from typing import Any

Json = Any
TRACE = "0af7651916cd43dd8448eb211c80319c"


def value(of: Json) -> Json:
    if isinstance(of, bool):
        return {"boolValue": of}
    if isinstance(of, int):
        return {"intValue": str(of)}
    if isinstance(of, float):
        return {"doubleValue": of}
    if isinstance(of, list):
        return {"arrayValue": {"values": [value(each) for each in of]}}
    if isinstance(of, dict):
        return {"kvlistValue": {"values": attributes(of)}}
    return {"stringValue": of}


def attributes(named: dict[str, Json]) -> list[Json]:
    return [{"key": name, "value": value(each)} for name, each in named.items()]


def span(number: int, parent: int | None = None, trace: str = TRACE, **members: Json) -> Json:
    """A span; it begins at second `number` and takes half a second. `said`, `events`: by name."""
    said, events = members.pop("said", {}), members.pop("events", [])
    failed = members.pop("failed", False)
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "startTimeUnixNano": str(number * 1_000_000_000),
        "endTimeUnixNano": str(number * 1_000_000_000 + 500_000_000),
        "attributes": attributes(said),
        "events": [{"name": name, "attributes": attributes(of)} for name, of in events],
        "status": {"code": 2} if failed else {},
        **members,
    }


def request(*spans: Json) -> Json:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def file_of(*spans: Json) -> bytes:
    return json.dumps(request(*spans)).encode()


def text(role: str, content: str) -> Json:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def asks(call_id: str, name: str, arguments: Json) -> Json:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part], "finish_reason": "tool_call"}


def answers(call_id: str, response: Json) -> Json:
    part = {"type": "tool_call_response", "id": call_id, "response": response}
    return {"role": "tool", "parts": [part]}


def chat(given: list[Json] | None, answer: Json | None, **more: Json) -> dict[str, Json]:
    """Attributes of a model call in the current convention."""
    said: dict[str, Json] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", **more}
    if given is not None:
        said["gen_ai.input.messages"] = json.dumps(given)
    if answer is not None:
        said["gen_ai.output.messages"] = json.dumps([answer])
    return said


def tool(name: str, **more: Json) -> dict[str, Json]:
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **more}


def agent(name: str, **more: Json) -> dict[str, Json]:
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more}
