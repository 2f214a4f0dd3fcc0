"""The audit of a store as an MCP server: read-only tools for any client."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from tachograph.adapters.explaining import explain_run
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, read_run
from tachograph.adapters.screen.failures import without_secrets
from tachograph.domain.errors import ExtraMissing, TachographError
from tachograph.domain.ports import EventStore
from tachograph.domain.why.writing import explanation_json

LISTED_MAX: Final = 200


def audit_server(store: EventStore) -> Any:
    """
    Return an MCP server with the tools runs, steps, show and why. None of them changes anything.

    Raises:
        ExtraMissing: The package `mcp` isn't installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError as exc:
        raise ExtraMissing("mcp") from exc
    server = MCPServer("tachograph")

    @contextmanager
    def told() -> Iterator[None]:
        try:
            yield
        except (TachographError, click.UsageError) as exc:
            raise ToolError(without_secrets(str(exc))) from exc

    reads = ToolAnnotations(read_only_hint=True)

    @server.tool(annotations=reads)
    def runs(trace: str | None = None, limit: int = 20) -> str:
        """List runs, the latest first: how each began and ended. Of one trace, if it is named."""
        with told():
            return _of_view(store, lambda side: side.runs(trace_id=trace, limit=min(limit, LISTED_MAX)))

    @server.tool(annotations=reads)
    def steps(trace: str | None = None) -> str:
        """Count the steps of each trace, or of one: runs, turns, calls, errors, outcomes."""
        with told():
            return _of_view(store, lambda side: side.steps(trace))

    @server.tool(annotations=reads)
    def show(run: str) -> str:
        """Show the record of a run, event by event. A run is named by its id or the first 8 characters."""
        with told():
            run_id = find_run(store, run)
            entries = read_run(store, run_id)
            return "".join(machine.run_json(run_id, entries, entries[-1].version))

    @server.tool(annotations=reads)
    def why(run: str, call: str | None = None) -> str:
        """Explain how a run ended, or another call of it (such as 2.1): where each value came from."""
        with told():
            return explanation_json(explain_run(store, find_run(store, run), call))

    return server


def _of_view(store: EventStore, read: Any) -> str:
    side = open_read_side(store)
    try:
        side.catch_up()
        lines = [json.loads(machine.line(row)) for _, row in zip(range(LISTED_MAX), read(side), strict=False)]
    finally:
        side.close()
    return json.dumps(lines)
