"""Tools: functions that an agent may call, and the terminals that end a run."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, get_type_hints, overload
from uuid import UUID

from pydantic import BaseModel

from tachograph.domain.approvals.definition import Approval
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import Effect, Outcome

TOOL_NAME_RULE: Final = "1 to 64 letters, digits, '_' or '-'"
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_BY_POSITION: Final = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a handler may know besides its arguments: who the run acts for, and the call's key."""

    trusted: TrustedContext
    run_id: UUID
    call_key: str
    tool: str
    arguments: str

    @property
    def idempotency_key(self) -> str:
        """The key under which the call may be made again; the same for the same arguments."""
        return idempotency_key(self.run_id, self.tool, self.arguments)


@dataclass(frozen=True)
class Tool:
    """A work tool. `effect` says what a crash may do: run it again, or only with its key, or not."""

    name: str
    description: str
    arguments: type[BaseModel]
    handler: Handler
    effect: Effect
    timeout_s: float = 60.0
    permission: str | None = None
    takes_context: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        check_tool_name(self.name)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, as offered to the model."""
        return self.arguments.model_json_schema()

    @cached_property
    def is_async(self) -> bool:
        """Whether the handler runs on the event loop; others run in a thread."""
        return inspect.iscoroutinefunction(self.handler)


@dataclass(frozen=True)
class TerminalTool:
    """A tool that ends the run with an outcome; it has no handler. `approval`: people decide on it."""

    name: str
    description: str
    arguments: type[BaseModel]
    outcome: Outcome
    approval: Approval | None = None

    def __post_init__(self) -> None:
        check_tool_name(self.name)
        problem = self.approval.problem(self.arguments) if self.approval else None
        if problem:
            raise InvalidAgent(f"{self.name}: {problem}")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, as offered to the model."""
        return self.arguments.model_json_schema()


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as offered to the model."""

    name: str
    description: str
    schema: dict[str, Any]


def check_tool_name(name: str) -> None:
    """Raise InvalidAgent unless the name follows TOOL_NAME_RULE, which all providers accept."""
    if not _TOOL_NAME.match(name):
        raise InvalidAgent(f"a tool can't be named {name!r}: {TOOL_NAME_RULE}")


@overload
def tool(
    *,
    effect: Effect,
    name: str | None = None,
    timeout_s: float = 60.0,
    permission: str | None = None,
) -> Callable[[Handler], Tool]: ...
@overload
def tool(handler: Handler, /) -> Tool: ...
def tool(
    handler: Handler | None = None,
    /,
    *,
    effect: Effect = "once",
    name: str | None = None,
    timeout_s: float = 60.0,
    permission: str | None = None,
) -> Tool | Callable[[Handler], Tool]:
    """
    Turn a function, sync or async, into a Tool.

    The function takes its arguments as one pydantic model, named in its annotation, and if it wants
    it a ToolContext after that. Its docstring is the description that the model reads.

    Args:
        effect: `read` changes nothing and may run again; `idempotent` may run again with the same
            idempotency key; `once` never runs again by itself. The default is the careful one.
        timeout_s: Seconds until the call counts as `timed_out`.
        permission: What the trusted context must hold for the tool to be allowed.
    Raises:
        InvalidAgent: The function doesn't have that form.
    """

    def wrap(function: Handler) -> Tool:
        arguments, takes_context = _signature(function)
        return Tool(
            name=name if name is not None else function.__name__,
            description=inspect.getdoc(function) or "",
            arguments=arguments,
            handler=function,
            effect=effect,
            timeout_s=timeout_s,
            permission=permission,
            takes_context=takes_context,
        )

    return wrap(handler) if handler is not None else wrap


def permitted(tool: Tool, trusted: TrustedContext) -> bool:
    """Tell whether the caller's session holds the permission that the tool asks for."""
    return tool.permission is None or tool.permission in trusted.permissions


def idempotency_key(run_id: UUID, name: str, arguments: str) -> str:
    """
    Derive a call's idempotency key from the run, the tool and its canonical arguments.

    The position of the call plays no part, so a resume or a model that repeats itself gives the
    same key.
    """
    seed = json.dumps([str(run_id), name, arguments])
    return f"tg1-{hashlib.sha256(seed.encode()).hexdigest()[:40]}"


def _signature(function: Handler) -> tuple[type[BaseModel], bool]:
    title = getattr(function, "__qualname__", repr(function))
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidAgent(f"{title} is a generator; a tool returns one value")
    try:
        hints = get_type_hints(function)
        parameters = list(inspect.signature(function).parameters.values())
    except (NameError, TypeError, ValueError) as exc:
        raise InvalidAgent(f"{title}: its signature can't be read: {exc}") from exc
    if any(parameter.kind not in _BY_POSITION for parameter in parameters):
        raise InvalidAgent(f"{title}: its parameters are given by position, so it can't take them otherwise")
    arguments = hints.get(parameters[0].name) if parameters else None
    if not (isinstance(arguments, type) and issubclass(arguments, BaseModel)):
        raise InvalidAgent(f"{title}: the first parameter must be annotated with a pydantic model")
    if len(parameters) > 2 or (len(parameters) == 2 and hints.get(parameters[1].name) is not ToolContext):
        raise InvalidAgent(f"{title}: after the arguments it may take one ToolContext, no more")
    return arguments, len(parameters) == 2
