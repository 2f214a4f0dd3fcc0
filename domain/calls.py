"""The checks that a call passes before its handler runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from tachograph.domain.agent import Agent
from tachograph.domain.arguments import ArgumentsRefused, canonical_arguments, parse_arguments
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import CallRequest, ErrorCode
from tachograph.domain.tools import Tool, permitted
from tachograph.domain.why.declared import declared_of


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """
    A call that passed every check.

    Args:
        canonical: Its validated arguments as JSON text.
        declared: What the tool says about them, by pointer.
    """

    request: CallRequest
    tool: Tool
    arguments: BaseModel
    canonical: str
    declared: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that never reaches a handler; `message` goes to the model."""

    request: CallRequest
    code: ErrorCode
    message: str


def check_call(
    agent: Agent, trusted: TrustedContext, call: CallRequest, *, rehearsal: bool = False
) -> ReadyCall | RefusedCall:
    """
    Find the tool, check that it may be used, parse and validate the arguments: in that order.

    Args:
        rehearsal: Nothing that changes the world is allowed.
    """
    if not call.name.strip():
        message = f"A call needs a tool's name. {_offered(agent, trusted)}"
        return RefusedCall(call, "empty_tool_name", message)
    tool = agent.tools_by_name.get(call.name)
    if tool is None:
        message = f"There is no tool {call.name[:100]!r}. {_offered(agent, trusted)}"
        return RefusedCall(call, "unknown_tool", message)
    if tool.name not in agent.work_names or not permitted(tool, trusted):
        return RefusedCall(call, "not_allowed", f"{tool.name} may not be used in this run.")
    if rehearsal and tool.effect != "read":
        return RefusedCall(call, "not_allowed", f"{tool.name} changes the world, which a fork doesn't.")
    try:
        arguments = parse_arguments(call.arguments, tool.arguments)
        canonical = canonical_arguments(arguments)
        return ReadyCall(call, tool, arguments, canonical, declared_of(arguments, canonical))
    except ArgumentsRefused as refused:
        return RefusedCall(call, refused.code, str(refused))


def _offered(agent: Agent, trusted: TrustedContext) -> str:
    return f"Tools: {', '.join(offer.name for offer in agent.offers(trusted))}."
