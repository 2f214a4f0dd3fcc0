"""Tools of an MCP server as tools of an agent: allow-listed, validated by their schema, recorded."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

from pydantic import RootModel, model_validator

from tachograph.domain.errors import ExtraMissing, InvalidAgent
from tachograph.domain.events import Effect
from tachograph.domain.tools import Tool

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_NAME_MAX: Final = 64
_CAREFUL: Final[Effect] = "once"
_PROBLEMS_MAX: Final = 5


class ToolFailed(Exception):
    """The server says that its tool failed; the model reads why."""


@asynccontextmanager
async def mcp_tools(
    server: Any,
    allowed: Mapping[str, Effect] | Iterable[str],
    *,
    prefix: str = "",
    timeout_s: float = 60.0,
    connect_timeout_s: float = 30.0,
) -> AsyncIterator[tuple[Tool, ...]]:
    """
    Connect to an MCP server, and give the tools that are allowed, for as long as the block lasts.

    Their schemas are part of the agent's catalogue digest, so a server that changes one under a run is seen:
    by a resume, a replay, and the record.

    Args:
        server: A URL (streamable HTTP), `mcp.StdioServerParameters`, or whatever `mcp.Client` takes.
        allowed: The tools that may be used, by the server's names, with what a crash may do with each; names
            alone stand for `once`. What a server says of its own tools is not believed.
        prefix: Goes before each name, for servers whose tools are named alike.
        timeout_s: Of one call.
    Raises:
        InvalidAgent: The server has no such tool, or two names are the same once they are safe.
        ExtraMissing: The package `mcp` isn't installed.
        Exception: What the client raises when there is no such server.
    """
    try:
        from mcp import Client
    except ImportError as exc:
        raise ExtraMissing("mcp") from exc
    effects = allowed if isinstance(allowed, Mapping) else dict.fromkeys(allowed, _CAREFUL)
    try:
        async with Client(server, read_timeout_seconds=connect_timeout_s) as client:
            yield _chosen(client, await _listed(client), effects, prefix, timeout_s)
    except BaseExceptionGroup as group:  # The client runs tasks; whoever uses it raised one exception.
        only = _only(group)
        if only is None:
            raise
        raise only from only.__cause__


def _chosen(
    client: Any, listed: Sequence[Any], effects: Mapping[str, Effect], prefix: str, timeout_s: float
) -> tuple[Tool, ...]:
    offered = {tool.name: tool for tool in listed}
    missing = sorted(effects.keys() - offered.keys())
    if missing:
        known = ", ".join(sorted(offered)) or "none"
        raise InvalidAgent(f"the MCP server has no tool {missing[0][:100]!r}; it has: {known[:500]}")
    tools = tuple(
        _tool(client, offered[name], f"{prefix}{name}", effect, timeout_s) for name, effect in effects.items()
    )
    names = [tool.name for tool in tools]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise InvalidAgent(f"two tools of the MCP server would be named {doubled}")
    return tools


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """Return the one exception of a group, however deep it stands; None for several."""
    [first, *more] = group.exceptions
    if more:
        return None
    return _only(first) if isinstance(first, BaseExceptionGroup) else first


async def _listed(client: Any) -> Sequence[Any]:
    tools: list[Any] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools


def _tool(client: Any, offered: Any, name: str, effect: Effect, timeout_s: float) -> Tool:
    arguments = _arguments(offered.name, offered.input_schema)

    async def handler(given: Any) -> dict[str, Any]:
        result = await client.call_tool(offered.name, given.root, read_timeout_seconds=timeout_s)
        return _output(result)

    return Tool(
        name=_UNSAFE.sub("_", name)[:_NAME_MAX],
        description=offered.description or "",
        arguments=arguments,
        handler=handler,
        effect=effect,
        timeout_s=timeout_s,
    )


def _arguments(name: str, schema: Mapping[str, Any]) -> type[RootModel[dict[str, Any]]]:
    """Return a model that takes what a JSON schema takes, and offers that schema to the LLM."""
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # it ships no types

    validator = validator_for(schema)(schema)

    class Arguments(RootModel[dict[str, Any]]):
        offered: ClassVar[dict[str, Any]] = dict(schema)

        @model_validator(mode="after")
        def _fits_schema(self) -> "Arguments":
            problems = [
                f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message[:200]}"
                for error in validator.iter_errors(self.root)
            ]
            if problems:
                raise ValueError("; ".join(problems[:_PROBLEMS_MAX]))
            return self

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return cls.offered

    Arguments.__name__ = name
    return Arguments


def _output(result: Any) -> dict[str, Any]:
    """Return a result as what is recorded: every part of its content, and what it has beside it."""
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content]
    if result.is_error:
        said = " ".join(str(part.get("text", "")) for part in parts).strip()
        raise ToolFailed(said or "the server gave no reason")
    output: dict[str, Any] = {"content": parts}
    if result.structured_content is not None:
        output["structured"] = result.structured_content
    return output
