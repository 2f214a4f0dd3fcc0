"""Tachograph: the public library, many runs on one event loop."""

import json
from abc import abstractmethod
from uuid import UUID

from contestants import AsyncContestant
from pydantic import BaseModel
from workload import PLAN, TERMINAL_TOOL, Workload

import tachograph
from tachograph.adapters.loading import load
from tachograph.domain.budget import Usage
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import AskedCall, ModelReply


class Arguments(BaseModel):
    """What the model sends with each call."""

    order_id: str
    reason: str


class ScriptedTurns:
    """The model of one run."""

    def __init__(self, workload: Workload, run_id: str) -> None:
        self._workload = workload
        self._run_id = run_id

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the turn of this step."""
        turn = await self._workload.ask_model_async(self._run_id, request.step - 1)
        return ModelReply(
            text=turn["text"],
            calls=(AskedCall(turn["tool"], json.dumps(turn["arguments"]), turn["call_id"]),),
            finish_reason="tool_calls",
            usage=Usage(**turn["usage"]),
        )


class TachographContestant(AsyncContestant):
    """The refund agent with async tools, each run with its own scripted model."""

    @abstractmethod
    def url(self) -> str:
        """Return the URL of the store."""

    def open(self) -> None:
        """Open the store."""
        self._store = tachograph.open_store(self.url())
        self._agent = _refund_agent(self.workload)
        self._ids: dict[str, UUID] = {}

    def steps_stored(self, run_id: str) -> int:
        """Fold the run and count its turns, calls and terminal."""
        run = load(self._store, self._ids[run_id])
        return len(run.steps) + run.totals.tool_calls + run.ended

    def close(self) -> None:
        """Close the store and stop the event loop."""
        self._store.close()
        self.loop.close()

    async def run_one(self, run_id: str) -> None:
        """Run the agent to its end."""
        outcome = await tachograph.run(
            self._agent,
            "refund please",
            tachograph.TrustedContext(trace_id=run_id),
            model=ScriptedTurns(self.workload, run_id),
            store=self._store,
        )
        self.workload.finish(run_id)
        self._ids[run_id] = outcome.run_id


class TachographSqlite(TachographContestant):
    """The embedded store."""

    def url(self) -> str:
        """Return the URL of the file."""
        return f"sqlite:///{self.place.sqlite_path}"

    def ask(self, statement: str) -> str:
        """Ask a connection of the store's pool."""
        with self._store.datastore.transaction(commit=False) as cursor:
            cursor.execute(statement)
            return str(cursor.fetchone()[0])


class TachographPostgres(TachographContestant):
    """The server store."""

    def url(self) -> str:
        """Return the URL of the database."""
        return self.place.postgres_url

    def ask(self, statement: str) -> str:
        """Ask a connection of the store's pool."""
        with self._store.datastore.transaction(commit=False) as cursor:
            return str(next(iter(cursor.execute(statement).fetchone().values())))


def _refund_agent(workload: Workload) -> tachograph.Agent:
    class TerminalArguments(Arguments):
        """A terminal has no handler: its step begins when its arguments are looked at."""

        def model_post_init(self, context: object) -> None:
            """Mark the step, as a handler would."""
            workload.execute_tool(self.order_id.removeprefix("ORD-"), len(PLAN) - 1)

    def work_tool(name: str) -> tachograph.Tool:
        async def handler(arguments: Arguments, call: tachograph.ToolContext) -> dict[str, object]:
            turn = int(call.call_key.partition(".")[0]) - 1
            return workload.execute_tool(call.trusted.trace_id, turn)

        return tachograph.tool(effect="read", name=name)(handler)

    return tachograph.Agent(
        name="refund",
        version="1",
        instructions="Refund what the policy allows.",
        tools=tuple(work_tool(name) for name in dict.fromkeys(PLAN) if name != TERMINAL_TOOL),
        terminals=(
            tachograph.TerminalTool(
                TERMINAL_TOOL, "Ask for approval.", TerminalArguments, "approval_requested"
            ),
        ),
    )
