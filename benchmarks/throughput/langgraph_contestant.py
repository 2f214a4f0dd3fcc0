"""LangGraph: a graph of a model and a tools node, checkpointed after each node (durability="sync")."""

import json
import sqlite3
from abc import abstractmethod
from typing import Annotated, Any, TypedDict

from contestants import ThreadedContestant
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from workload import TERMINAL_TOOL


class Conversation(TypedDict):
    """The state of the graph."""

    run_id: str
    messages: Annotated[list[AnyMessage], add_messages]


class LangGraphContestant(ThreadedContestant):
    """The graph, over either saver."""

    @abstractmethod
    def saver(self) -> BaseCheckpointSaver[Any]:
        """Connect, create the tables, and return the checkpoint saver."""

    def open(self) -> None:
        """Compile the graph."""
        graph = StateGraph(Conversation)
        graph.add_node("model", self._ask_model)
        graph.add_node("tools", self._execute_tool)
        graph.add_edge(START, "model")
        graph.add_edge("model", "tools")
        graph.add_conditional_edges("tools", _after_tools, ["model", END])
        self._graph = graph.compile(checkpointer=self.saver())

    def run_one(self, run_id: str) -> None:
        """Invoke the graph on a thread of its own."""
        question = HumanMessage("Please refund my order.")
        self._graph.invoke(
            {"run_id": run_id, "messages": [question]}, config=_config(run_id), durability="sync"
        )
        self.workload.finish(run_id)

    def steps_stored(self, run_id: str) -> int:
        """Count the messages of the last checkpoint, without the user's."""
        return len(self._graph.get_state(_config(run_id)).values["messages"]) - 1

    def _ask_model(self, state: Conversation) -> dict[str, list[AIMessage]]:
        answer = self.workload.ask_model(state["run_id"], _turns(state))
        usage = answer["usage"]
        message = AIMessage(
            content=answer["text"],
            tool_calls=[{"name": answer["tool"], "args": answer["arguments"], "id": answer["call_id"]}],
            usage_metadata={
                "input_tokens": usage["tokens_in"],
                "output_tokens": usage["tokens_out"],
                "total_tokens": usage["tokens_in"] + usage["tokens_out"],
            },
        )
        return {"messages": [message]}

    def _execute_tool(self, state: Conversation) -> dict[str, list[ToolMessage]]:
        output = self.workload.execute_tool(state["run_id"], _turns(state) - 1)
        request = state["messages"][-1].tool_calls[0]
        message = ToolMessage(json.dumps(output), tool_call_id=request["id"], name=request["name"])
        return {"messages": [message]}


class LangGraphSqlite(LangGraphContestant):
    """SqliteSaver: one connection behind a lock."""

    def saver(self) -> BaseCheckpointSaver[Any]:
        """Return the saver on the file."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._connection = sqlite3.connect(self.place.sqlite_path, check_same_thread=False)
        saver = SqliteSaver(self._connection)
        saver.setup()
        return saver

    def ask(self, statement: str) -> str:
        """Ask the one connection."""
        return str(self._connection.execute(statement).fetchone()[0])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class LangGraphPostgres(LangGraphContestant):
    """PostgresSaver over a pool with a connection for each run at once."""

    def saver(self) -> BaseCheckpointSaver[Any]:
        """Return the saver on the pool, with the connection settings its documentation asks for."""
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool

        self._pool = ConnectionPool(
            self.place.postgres_url,
            min_size=self.concurrency,
            max_size=self.concurrency,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            open=True,
        )
        saver = PostgresSaver(self._pool)
        saver.setup()
        return saver

    def ask(self, statement: str) -> str:
        """Ask a connection of the pool."""
        with self._pool.connection() as connection:
            return str(next(iter(connection.execute(statement).fetchone().values())))

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


def _turns(state: Conversation) -> int:
    return sum(message.type == "ai" for message in state["messages"])


def _after_tools(state: Conversation) -> str:
    return END if state["messages"][-1].name == TERMINAL_TOOL else "model"


def _config(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}, "recursion_limit": 50}
