"""OpenAI Agents SDK: a local model and a SQLiteSession, which another `Runner.run` goes on with."""

import asyncio
import os
from pathlib import Path
from typing import Any

from common import AMOUNT, RUN, STEPS, TERMINALS, effect, effects, forge

os.environ.setdefault("OPENAI_API_KEY", "none")


def _session(folder: Path) -> Any:
    from agents import SQLiteSession

    return SQLiteSession(RUN, str(folder / "store.db"))


def _agent(folder: Path, asked: list[list[str]], *, die: bool, ends: tuple[str, ...] = ()) -> Any:
    from agents import Agent, StopAtTools, function_tool, set_tracing_disabled
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
            done = sum(1 for item in input if item.get("type") == "function_call_output")
            if done < len(asked):
                output: list[Any] = [
                    ResponseFunctionToolCall(
                        id=f"f{name}", call_id=f"c{name}", type="function_call", name=name, arguments="{}"
                    )
                    for name in asked[done]
                ]
            else:
                said = ResponseOutputText(type="output_text", text="Done.", annotations=[])
                output = [
                    ResponseOutputMessage(
                        id="m", role="assistant", type="message", status="completed", content=[said]
                    )
                ]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    def made(name: str) -> Any:
        def handler() -> str:
            effect(folder, name, die=die)
            return f"{name} {AMOUNT}"

        handler.__name__ = name
        return function_tool(handler, name_override=name)

    names = dict.fromkeys(name for turn in asked for name in turn)
    behavior: Any = StopAtTools(stop_at_tool_names=list(ends)) if ends else "run_llm_again"
    return Agent(
        name="safety", model=Scripted(), tools=[made(name) for name in names], tool_use_behavior=behavior
    )


def _run(folder: Path, agent: Any, said: str) -> Any:
    from agents import Runner

    return asyncio.run(Runner.run(agent, said, session=_session(folder)))


def crash(folder: Path) -> None:
    """Die within the tool."""
    _run(folder, _agent(folder, [[name] for name in STEPS], die=True), "Refund #W1.")


def after(folder: Path) -> str:
    """Go on with the session."""
    result = _run(folder, _agent(folder, [[name] for name in STEPS], die=False), "Go on.")
    return f"final: {result.final_output}"


def two_terminals(folder: Path) -> str:
    """Let the model ask for two ends at once."""
    _run(folder, _agent(folder, [list(TERMINALS)], die=False, ends=TERMINALS), "Refund #W1.")
    return f"{len(effects(folder))} handlers ran"


def forged(folder: Path) -> str:
    """Run to the end, edit the amount, and load the session."""
    _run(folder, _agent(folder, [[name] for name in STEPS], die=False), "Refund #W1.")
    assert forge(folder / "store.db"), "there was an amount to forge"
    items = asyncio.run(_session(folder).get_items())
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    return f"no: gives {outputs[-1].split()[-1]}"
