"""
OpenAI Agents SDK: `Runner.run` with a local model and a `SQLiteSession`, and another that goes on with it.

A session is what it saves by itself while a run is under way (`RunState` exists only where a run stops for an
approval); recovery from crashes is left to engines that it can be run on, DBOS among them. The model asks for
the first step whose output it doesn't see. Terminal tools are `StopAtTools`.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from agents import Agent, Runner, SQLiteSession, StopAtTools, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from common import AMOUNT, ANSWER, RUN, STEPS, TERMINALS, database, effect, effects
from openai.types.responses import ResponseFunctionToolCall

set_tracing_disabled(True)


class Scripted(Model):
    """Answers with the calls whose turn it is, by the outputs among the input."""

    def __init__(self, answers: list[list[str]]) -> None:
        self._answers = answers

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        """Ask for the next calls."""
        done = sum(item.get("type") == "function_call_output" for item in input)
        calls = [
            ResponseFunctionToolCall(
                call_id=f"call-{name}",
                type="function_call",
                name=name,
                arguments=json.dumps({"amount": AMOUNT}),
            )
            for name in self._answers[done]
        ]
        return ModelResponse(output=[*calls], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError


def _run(folder: Path, said: str, answers: list[list[str]], *, dies: bool = False) -> Any:
    def made(name: str) -> Any:
        def handler(amount: str) -> str:
            effect(folder, name, dies=dies)
            return amount

        return function_tool(handler, name_override=name)

    agent = Agent(
        name="safety",
        model=Scripted(answers),
        tools=[made(name) for names in answers for name in names],
        tool_use_behavior=StopAtTools(stop_at_tool_names=[ANSWER, *TERMINALS]),
    )
    return asyncio.run(Runner.run(agent, said, session=_session(folder)))


def begin(folder: Path, *, dies: bool = False) -> None:
    """Start the run."""
    _run(folder, "Refund #W1.", [[name] for name in STEPS], dies=dies)


def go_on(folder: Path) -> str:
    """Go on with the session."""
    result = _run(folder, "Go on.", [[name] for name in STEPS])
    return f"ended with {result.final_output}"


def two_ends(folder: Path) -> str:
    """Let the model ask for two ends in one answer."""
    _run(folder, "Refund #W1.", [list(TERMINALS)])
    return f"{len(effects(folder))}: {', '.join(sorted(effects(folder)))}"


def read(folder: Path) -> str:
    """Load the session, and give the amount that it ended with."""
    items: list[Any] = asyncio.run(_session(folder).get_items())
    return str([item["output"] for item in items if item.get("type") == "function_call_output"][-1])


def _session(folder: Path) -> SQLiteSession:
    return SQLiteSession(RUN, database(folder))
