"""Tools of real MCP servers, in runs that are recorded, refused and replayed like any other."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from mcp import Client, StdioServerParameters
from pydantic import BaseModel

from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, run
from tachograph.adapters.mcp_tools import mcp_tools
from tachograph.adapters.replaying import replay_run
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import Event, Recorded, ToolCall, ToolError, ToolStarted
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.domain.tools import Tool

TIME = StdioServerParameters(
    command=sys.executable, args=["-m", "mcp_server_time", "--local-timezone", "UTC"]
)
READ = {"order.read (v2)": "read"}
ODD = Path(__file__).with_name("odd_server.py")


class Answer(BaseModel):
    text: str


def agent_of(tools: tuple[Tool, ...]) -> Agent:
    return Agent(
        name="clerk",
        version="1",
        instructions="Help.",
        tools=tools,
        terminals=(TerminalTool("answer_user", "Answer.", Answer, "answered"),),
    )


def odd(*more: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(ODD), *more])


def told(
    server: Any, allowed: Any, *calls: tuple[str, Mapping[str, Any]], **settings: Any
) -> tuple[EventStore, UUID, list[Event], Agent]:
    """Run an agent that makes these calls, one a turn, and return what was recorded."""
    store = open_store("memory:")
    asks = [ModelReply(calls=(AskedCall(name, json.dumps(arguments)),)) for name, arguments in calls]
    end = ModelReply(calls=(AskedCall("answer_user", '{"text":"."}'),))

    async def work() -> tuple[UUID, Agent]:
        async with mcp_tools(server, allowed, **settings) as tools:
            agent = agent_of(tools)
            context = TrustedContext(trace_id="trace-1")
            outcome = await run(agent, "Go.", context, model=ScriptedModel([*asks, end]), store=store)
            return outcome.run_id, agent

    run_id, agent = asyncio.run(work())
    return store, run_id, [e.event for e in store.read(run_id) if isinstance(e, Recorded)], agent


def test_a_server_from_the_package_index_from_end_to_end() -> None:
    convert = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    store, run_id, events, agent = told(TIME, {"convert_time": "read"}, ("convert_time", convert))
    [call] = [event for event in events if isinstance(event, ToolCall)]
    assert json.loads(call.arguments) == convert
    [part] = json.loads(call.output)["content"]
    assert part["type"] == "text"
    assert "Asia/Tokyo" in part["text"]
    assert replay_run(store, run_id, {"clerk": agent}.get).drifts == ()


def test_arguments_are_validated_by_the_server_s_schema_before_it_is_called() -> None:
    missing, wrong = {"time": "12:00"}, {"time": 5, "source_timezone": "UTC"}
    calls = (("convert_time", missing), ("convert_time", wrong))
    _, _, events, _ = told(TIME, {"convert_time": "read"}, *calls)
    errors = [event for event in events if isinstance(event, ToolError)]
    assert [error.code for error in errors] == ["invalid_arguments"] * 2
    assert "'source_timezone' is a required property" in errors[0].message


def test_only_what_is_allowed_is_there() -> None:
    _, _, events, agent = told(TIME, {"convert_time": "read"}, ("get_current_time", {"timezone": "UTC"}))
    assert [tool.name for tool in agent.tools] == ["convert_time"]
    assert [event.code for event in events if isinstance(event, ToolError)] == ["unknown_tool"]


def test_a_name_alone_stands_for_once() -> None:
    _, _, events, _ = told(TIME, ["get_current_time"], ("get_current_time", {"timezone": "UTC"}))
    [start] = [event for event in events if isinstance(event, ToolStarted)]
    assert start.effect == "once"


def test_a_tool_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidAgent, match="it has: convert_time, get_current_time"):
        told(TIME, ["nothing"])


def test_every_part_of_a_result_is_recorded() -> None:
    _, _, events, _ = told(odd(), {"parts": "read"}, ("parts", {}))
    [call] = [event for event in events if isinstance(event, ToolCall)]
    kinds = [part["type"] for part in json.loads(call.output)["content"]]
    assert kinds == ["text", "image", "resource_link"]
    assert json.loads(call.output)["content"][1]["data"] == "iVBORw=="


def test_a_tool_that_fails_says_why() -> None:
    _, _, events, _ = told(odd(), {"fails": "read"}, ("fails", {}))
    [error] = [event for event in events if isinstance(event, ToolError)]
    assert error.code == "tool_execution_failed"
    assert "the shop is closed" in error.message


def test_a_server_that_hangs_is_left_at_the_timeout() -> None:
    _, _, events, _ = told(odd(), {"hangs": "read"}, ("hangs", {}), timeout_s=1)
    [error] = [event for event in events if isinstance(event, ToolError)]
    assert error.code in ("timed_out", "tool_execution_failed")


def test_a_server_that_dies_fails_its_calls_and_the_run_goes_on() -> None:
    _, _, events, _ = told(odd(), {"dies": "read", "parts": "read"}, ("dies", {}), ("parts", {}), timeout_s=5)
    errors = [event for event in events if isinstance(event, ToolError)]
    assert len(errors) == 2
    assert events[-1].kind == "terminal"


def test_a_name_becomes_one_that_every_provider_takes() -> None:
    _, _, events, agent = told(odd(), READ, ("order_read__v2_", {"order_id": "#W1"}))
    assert [tool.name for tool in agent.tools] == ["order_read__v2_"]
    assert [event.kind for event in events].count("tool_call") == 1


def test_a_schema_that_changed_under_a_run_is_noticed() -> None:
    store, run_id, _, before = told(odd(), READ, ("order_read__v2_", {"order_id": "#W1"}))
    _, _, _, after = told(odd("changed"), READ)
    assert before.catalogue_digest != after.catalogue_digest
    [drift] = replay_run(store, run_id, {"clerk": after}.get).drifts
    assert (drift.kind, drift.why) == ("request", "the tools that are offered differ")


def test_the_audit_is_served_to_any_client(tmp_path: Path) -> None:
    program = "from tachograph.cli import main; main()"
    url = f"sqlite:///{tmp_path / 'store.db'}"

    async def work() -> dict[str, Any]:

        done = subprocess.run(
            [sys.executable, "-c", program, "demo", "--store", url, "--json"], capture_output=True
        )
        run_id = json.loads(done.stdout)["run_id"]
        server = StdioServerParameters(command=sys.executable, args=["-c", program, "mcp", "--store", url])
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {"runs", "steps", "show", "why"}
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            found = {}
            for name, arguments in (
                ("runs", {}),
                ("steps", {"trace": "demo-approval_requested"}),
                ("show", {"run": run_id}),
                ("why", {"run": run_id[:8]}),
                ("why", {"run": "ffffffff"}),
            ):
                result = await client.call_tool(name, arguments)
                found[f"{name}{' failed' if result.is_error else ''}"] = result.content[0].text  # type: ignore[union-attr]
            return found

    found = asyncio.run(work())
    assert json.loads(found["runs"])[0]["outcome"] == "approval_requested"
    assert json.loads(found["steps"])[0]["model_turns"] == 4
    assert len(json.loads(found["show"])["events"]) == 9
    assert json.loads(found["why"])["arguments"][2]["verdict"] == "supported"
    assert "no run ffffffff" in found["why failed"]
