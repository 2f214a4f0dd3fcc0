"""Pydantic AI with DBOS: the agent in a workflow, each model call and each tool a step of it."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from contestants import AsyncContestant
from dbos import DBOS, DBOSConfig, SetWorkflowID
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, ToolOutput
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from sqlalchemy import text
from workload import PLAN, TERMINAL_TOOL

POOL_SIZE_DEFAULT = 20


class Approval(BaseModel):
    """What the terminal tool takes."""

    order_id: str
    reason: str
    turn: int


class PydanticAiContestant(AsyncContestant):
    """The agent; the settings of the database are those that DBOS chooses."""

    @abstractmethod
    def system_database_url(self) -> str:
        """Name the place as SQLAlchemy does."""

    def open(self) -> None:
        """Define agent, steps and workflow, then launch, which creates the tables."""
        config = DBOSConfig(
            name="throughput",
            system_database_url=self.system_database_url(),
            sys_db_pool_size=max(POOL_SIZE_DEFAULT, min(self.concurrency, 64)),
            log_level="ERROR",
            run_admin_server=False,
        )
        DBOS(config=config)
        agent = Agent(
            FunctionModel(self._ask_model),
            name="refund",
            deps_type=str,
            output_type=ToolOutput(Approval, name=TERMINAL_TOOL),
            capabilities=[DBOSDurability()],
        )
        for name in sorted(set(PLAN) - {TERMINAL_TOOL}):
            agent.tool(self._tool(name), name=name)

        @DBOS.step(name=TERMINAL_TOOL)
        async def approve(run_id: str) -> dict[str, Any]:
            return self.workload.execute_tool(run_id, len(PLAN) - 1)

        @DBOS.workflow()
        async def refund(run_id: str) -> dict[str, Any]:
            result = await agent.run(run_id, deps=run_id)
            await approve(run_id)
            return result.output.model_dump()

        self._refund = refund
        DBOS.launch()

    async def run_one(self, run_id: str) -> None:
        """Execute the workflow."""
        with SetWorkflowID(run_id):
            await self._refund(run_id)
        self.workload.finish(run_id)

    def steps_stored(self, run_id: str) -> int:
        """Count the outputs that DBOS recorded."""
        steps = self.loop.run(DBOS.list_workflow_steps_async(run_id))
        return len([step["output"] for step in steps])

    def ask(self, statement: str) -> str:
        """Ask a connection of DBOS's own pool; it has no public way to one."""
        from dbos._dbos import _get_dbos_instance

        with _get_dbos_instance()._sys_db.engine.connect() as connection:
            return str(connection.execute(text(statement)).scalar_one())

    def close(self) -> None:
        """Stop the threads of DBOS."""
        DBOS.destroy()
        self.loop.close()

    async def _ask_model(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = (part for message in messages for part in message.parts)
        run_id = next(str(part.content) for part in parts if isinstance(part, UserPromptPart))
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        answer = await self.workload.ask_model_async(run_id, turn)
        usage = answer["usage"]
        call = ToolCallPart(answer["tool"], answer["arguments"] | {"turn": turn}, answer["call_id"])
        return ModelResponse(
            parts=[TextPart(answer["text"]), call],
            usage=RequestUsage(input_tokens=usage["tokens_in"], output_tokens=usage["tokens_out"]),
        )

    def _tool(self, name: str) -> Callable[..., Any]:
        @DBOS.step(name=name)
        async def step(run_id: str, turn: int) -> dict[str, Any]:
            return self.workload.execute_tool(run_id, turn)

        async def handler(ctx: RunContext[str], order_id: str, reason: str, turn: int) -> dict[str, Any]:
            return await step(ctx.deps, turn)

        return handler


class PydanticAiSqlite(PydanticAiContestant):
    """On a SQLite file."""

    def system_database_url(self) -> str:
        """Name the file."""
        return f"sqlite:///{self.place.sqlite_path}"


class PydanticAiPostgres(PydanticAiContestant):
    """On PostgreSQL."""

    def system_database_url(self) -> str:
        """Name the database."""
        return self.place.postgres_url
