"""OpenAI Agents SDK: `Runner.run` with a local model and a session, which it saves turn by turn."""

import json
from abc import abstractmethod
from typing import Any

from agents import (
    Agent,
    ModelResponse,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    StopAtTools,
    function_tool,
    set_tracing_disabled,
)
from agents.models.interface import Model
from agents.usage import Usage
from contestants import AsyncContestant
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from workload import PLAN, TERMINAL_TOOL, Workload

TURNS_MAX = 12
POOL_SIZE = 20

set_tracing_disabled(True)


class Scripted(Model):
    """Answers with the turn whose call isn't among the input yet."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        """Return the turn of this step."""
        run_id = next(item["content"] for item in input if item.get("role") == "user")
        turn = sum(item.get("type") == "function_call" for item in input)
        answer = await self._workload.ask_model_async(run_id, turn)
        text = ResponseOutputText(type="output_text", text=answer["text"], annotations=[])
        said = ResponseOutputMessage(
            id=f"m{turn}", role="assistant", type="message", status="completed", content=[text]
        )
        call = ResponseFunctionToolCall(
            id=f"f{turn}",
            call_id=answer["call_id"],
            type="function_call",
            name=answer["tool"],
            arguments=json.dumps(answer["arguments"] | {"turn": turn}),
        )
        usage = answer["usage"]
        used = Usage(requests=1, input_tokens=usage["tokens_in"], output_tokens=usage["tokens_out"])
        return ModelResponse(output=[said, call], usage=used, response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError


class AgentsSdkContestant(AsyncContestant):
    """The runner, with a session for each run."""

    @abstractmethod
    def session(self, run_id: str) -> Any:
        """Open a session."""

    def open(self) -> None:
        """Define the agent."""

        def made(name: str) -> Any:
            async def handler(ctx: RunContextWrapper[str], order_id: str, reason: str, turn: int) -> str:
                return json.dumps(self.workload.execute_tool(ctx.context, turn))

            return function_tool(handler, name_override=name, description_override=name)

        self._agent = Agent(
            name="refund",
            model=Scripted(self.workload),
            tools=[made(name) for name in sorted(set(PLAN))],
            tool_use_behavior=StopAtTools(stop_at_tool_names=[TERMINAL_TOOL]),
        )

    async def run_one(self, run_id: str) -> None:
        """Run the agent with a session of its own."""
        session = self.session(run_id)
        await Runner.run(self._agent, run_id, session=session, context=run_id, max_turns=TURNS_MAX)
        self.workload.finish(run_id)
        if isinstance(session, SQLiteSession):
            session.close()

    def steps_stored(self, run_id: str) -> int:
        """Count the calls and outputs of the session: its messages come with the calls."""
        items: list[Any] = self.loop.run(self.session(run_id).get_items())
        return sum(item.get("type") in ("function_call", "function_call_output") for item in items)

    def close(self) -> None:
        """Stop the event loop."""
        self.loop.close()


class AgentsSdkSqlite(AgentsSdkContestant):
    """SQLiteSession."""

    def session(self, run_id: str) -> SQLiteSession:
        """Open a session in the file."""
        return SQLiteSession(run_id, str(self.place.sqlite_path))

    def ask(self, statement: str) -> str:
        """Ask a connection of a session."""
        session = self.session("asked")
        try:
            return str(session._get_connection().execute(statement).fetchone()[0])
        finally:
            session.close()


class AgentsSdkPostgres(AgentsSdkContestant):
    """SQLAlchemySession on asyncpg."""

    def open(self) -> None:
        """Connect, and create the tables once."""
        from agents.extensions.memory import SQLAlchemySession
        from sqlalchemy.ext.asyncio import create_async_engine

        super().open()
        url = self.place.postgres_url.replace("postgresql://", "postgresql+asyncpg://", 1)
        self._sessions = SQLAlchemySession
        self._engine = create_async_engine(url, pool_size=POOL_SIZE)
        first = SQLAlchemySession("first", engine=self._engine, create_tables=True)
        self.loop.run(first.get_items())

    def session(self, run_id: str) -> Any:
        """Open a session on the shared engine."""
        return self._sessions(run_id, engine=self._engine)

    def ask(self, statement: str) -> str:
        """Ask a connection of the engine."""
        from sqlalchemy import text

        async def asked() -> str:
            async with self._engine.connect() as connection:
                return str((await connection.execute(text(statement))).scalar_one())

        return self.loop.run(asked())

    def close(self) -> None:
        """Close the connections."""
        self.loop.run(self._engine.dispose())
        super().close()
