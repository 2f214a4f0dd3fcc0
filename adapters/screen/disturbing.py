"""
Injected errors for simulations: a model whose next reply is altered, and tools whose next call fails.

They stand in the ports' places, so the loop meets them as it would meet the real thing. A turn that was
spoilt is asked for again afterwards: the scripted model corrects itself, at the cost of one more turn.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from tachograph.domain.agent import Agent
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import AskedCall, Model, ModelReply
from tachograph.domain.tools import Tool

Alteration = Literal["unknown tool", "invalid argument", "second terminal"]

UNKNOWN_TOOL: Final = "wire_money_now"


class InjectedFailure(Exception):
    """What a tool raises when a simulation asks it to fail."""


@dataclass(slots=True)
class Disturbance:
    """What is to go wrong next. Each happens once. `spoilt`: something did in the last turn."""

    next_reply: Alteration | None = None
    next_call_fails: bool = False
    spoilt: bool = False


class DisturbedModel:
    """Passes requests on to a scripted model, and alters its next reply when told to."""

    def __init__(self, model: Model, agent: Agent, disturbance: Disturbance) -> None:
        self._model = model
        self._agent = agent
        self._disturbance = disturbance
        self._turns_spoilt = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer with the script's next reply; a turn that was spoilt comes again."""
        self._turns_spoilt += self._disturbance.spoilt
        reply = await self._model.complete(replace(request, step=request.step - self._turns_spoilt))
        alteration, self._disturbance.next_reply = self._disturbance.next_reply, None
        self._disturbance.spoilt = alteration is not None
        if alteration is None:
            return reply
        calls = _ALTERATIONS[alteration](reply.calls, self._agent)
        return replace(reply, calls=calls, finish_reason="tool_calls")


def disturbed(agent: Agent, disturbance: Disturbance) -> Agent:
    """Return the agent with tools that fail once when told to."""
    return replace(agent, tools=tuple(_disturbed_tool(tool, disturbance) for tool in agent.tools))


def _disturbed_tool(tool: Tool, disturbance: Disturbance) -> Tool:
    def handler(*arguments: Any) -> Any:
        if disturbance.next_call_fails:
            disturbance.next_call_fails = False
            disturbance.spoilt = True
            raise InjectedFailure(f"{tool.name} does not answer")
        return tool.handler(*arguments)

    return replace(tool, handler=handler)


def _with_unknown_tool(calls: tuple[AskedCall, ...], _: Agent) -> tuple[AskedCall, ...]:
    first = calls[0] if calls else AskedCall("", "{}")
    return (replace(first, name=UNKNOWN_TOOL), *calls[1:])


def _with_invalid_argument(calls: tuple[AskedCall, ...], agent: Agent) -> tuple[AskedCall, ...]:
    first = calls[0] if calls else AskedCall(sorted(agent.work_names)[0], "{}")
    try:
        arguments = json.loads(first.arguments or "{}")
    except ValueError:
        arguments = {}
    kept = dict(list(arguments.items())[1:]) if isinstance(arguments, dict) else {}
    spoilt = json.dumps({**kept, "injected": True}, ensure_ascii=False)
    return (replace(first, arguments=spoilt), *calls[1:])


def _with_second_terminal(calls: tuple[AskedCall, ...], agent: Agent) -> tuple[AskedCall, ...]:
    terminal = AskedCall(agent.terminals[0].name, '{"text": "All done, the money is on its way."}')
    return (*calls, terminal) if calls else (terminal, terminal)


_ALTERATIONS: Final[Mapping[Alteration, Callable[[tuple[AskedCall, ...], Agent], tuple[AskedCall, ...]]]] = {
    "unknown tool": _with_unknown_tool,
    "invalid argument": _with_invalid_argument,
    "second terminal": _with_second_terminal,
}
