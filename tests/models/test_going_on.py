"""A run on a provider's model: what it is sent from turn to turn, and from process to process."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from tachograph import Agent, TerminalTool, TrustedContext, resume, run, tool
from tachograph.adapters.models.naming import provider_model
from tachograph.adapters.replaying import replay_run
from tachograph.domain.errors import InvalidAgent, ModelError
from tachograph.domain.events import ModelTurn, Recorded
from tachograph.domain.ports import EventStore

from .wire import Reply, Server, model_at, replies_of, served

CONTEXT = TrustedContext(trace_id="trace-1")


class Anything(BaseModel):
    """Whatever the recorded calls hold."""

    city: str = ""
    path: str = ""
    location: str = ""
    text: str = ""


def working(name: str) -> Any:
    def handler(arguments: Anything) -> str:
        return f"{name} done"

    return tool(effect="read", name=name)(handler)


AGENT = Agent(
    name="clerk",
    version="1",
    instructions="Help.",
    tools=tuple(map(working, ("get_weather", "get_elevation", "delete_file", "create_file"))),
    terminals=(TerminalTool("answer_user", "Answer.", Anything, "answered"),),
    model_name="m",
)
CALL = {"id": "c-end", "type": "function", "function": {"name": "answer_user", "arguments": '{"text":"."}'}}
END = Reply(
    json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
                }
            ],
        }
    )
)
CLAUDE_END = Reply(
    json.dumps(
        {
            "id": "1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "tool_use", "id": "t-end", "name": "answer_user", "input": {"text": "."}}],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
)


def turns(store: EventStore, run_id: UUID) -> list[ModelTurn]:
    events = [entry.event for entry in store.read(run_id) if isinstance(entry, Recorded)]
    return [event for event in events if isinstance(event, ModelTurn)]


def test_a_run_on_an_openai_compatible_server(shared_data: Path, store: EventStore) -> None:
    asks = replies_of(shared_data, "openai_chat_temporal_hitl")[0]
    with served(asks, END) as server:
        outcome = asyncio.run(
            run(AGENT, "Tidy up.", CONTEXT, model=model_at(server, "openai-chat:m"), store=store)
        )
    assert outcome.outcome == "answered"
    first, second = (request["body"] for request in server.requests)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["tools"] == first["tools"]
    *_, asked, one, other = second["messages"]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids == [call.provider_id for call in turns(store, outcome.run_id)[0].calls]
    assert [(one["tool_call_id"], one["content"]), (other["tool_call_id"], other["content"])] == [
        (ids[0], '"delete_file done"'),
        (ids[1], '"create_file done"'),
    ]
    assert replay_run(store, outcome.run_id, {"clerk": AGENT}.get).drifts == ()


def died_and_resumed(store: EventStore, name: str, asks: Reply, ends: Reply) -> tuple[UUID, Server]:
    """The provider is down for the second turn; another model object, as in another process, goes on."""
    down = Reply('{"error": {"message": "no", "type": "invalid_request_error"}}', 400)
    with served(asks, down) as server, pytest.raises(ModelError):
        asyncio.run(run(AGENT, "Go.", CONTEXT, model=model_at(server, name), store=store))
    run_id = store.read_log(after=store.head() - 1)[0].run_id
    with served(ends) as server:
        resumed = resume(AGENT, run_id, model=model_at(server, name), store=store)
        assert asyncio.run(resumed).outcome == "answered"
    return run_id, server


def test_another_process_goes_on_with_the_provider_s_own_answer(shared_data: Path, store: EventStore) -> None:
    asks = replies_of(shared_data, "anthropic_mixed_output_tool")[0]
    _, server = died_and_resumed(store, "anthropic:m", asks, CLAUDE_END)
    [request] = (one["body"] for one in server.requests)
    said = json.loads(asks.body)["content"]
    answered = next(message for message in request["messages"] if message["role"] == "assistant")
    assert [part["type"] for part in answered["content"]] == [part["type"] for part in said]
    calls = [part for part in answered["content"] if part["type"] == "tool_use"]
    assert [(call["id"], call["input"]) for call in calls] == [
        (part["id"], part["input"]) for part in said if part["type"] == "tool_use"
    ]
    results = request["messages"][-1]["content"]
    assert [part["tool_use_id"] for part in results] == [call["id"] for call in calls]


def test_thinking_with_its_signature_goes_back(store: EventStore) -> None:
    thinking = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmF0dXJl"}
    call = {"type": "tool_use", "id": "t-1", "name": "get_weather", "input": {"city": "Denver"}}
    body = json.loads(CLAUDE_END.body) | {"content": [thinking, call]}
    _, server = died_and_resumed(store, "anthropic:m", Reply(json.dumps(body)), CLAUDE_END)
    answered = server.requests[0]["body"]["messages"][1]["content"]
    assert answered[0] == thinking


def test_empty_and_doubled_ids_become_one_each(store: EventStore) -> None:
    calls = [{**CALL, "id": "same", "function": {"name": "get_weather", "arguments": "{}"}}] * 2
    body = json.loads(END.body)
    body["choices"][0]["message"]["tool_calls"] = calls
    with served(Reply(json.dumps(body)), END) as server:
        asyncio.run(run(AGENT, "Go.", CONTEXT, model=model_at(server, "openai-chat:m"), store=store))
    *_, asked, one, other = server.requests[1]["body"]["messages"]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids[0] == "same" != ids[1]
    assert [one["tool_call_id"], other["tool_call_id"]] == ids


def test_arguments_that_were_cut_off_are_never_executed(store: EventStore) -> None:
    call = {**CALL, "function": {"name": "get_weather", "arguments": "{}"}}
    body = json.loads(END.body)
    body["choices"][0] |= {"finish_reason": "length"}
    body["choices"][0]["message"]["tool_calls"] = [call]
    with served(Reply(json.dumps(body)), END) as server:
        outcome = asyncio.run(
            run(AGENT, "Go.", CONTEXT, model=model_at(server, "openai-chat:m"), store=store)
        )
    codes = [getattr(entry.event, "code", None) for entry in store.read(outcome.run_id)]  # type: ignore[union-attr]
    assert "truncated_turn" in codes


@pytest.mark.parametrize("name", ["nobody:m", "openai:", "openai", "", "anthropic:x", "openai:x", "google:x"])
def test_a_model_that_can_not_be_had_says_why(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(InvalidAgent):
        provider_model(name)
