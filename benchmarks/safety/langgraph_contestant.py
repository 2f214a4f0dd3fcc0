"""
LangGraph: a model node and its `ToolNode` on `SqliteSaver` with durability="sync", resumed by `invoke(None)`.

As documented for agents: the graph goes from the model to the tools and back, and ends after a terminal
tool. A `task` inside a node would not help here: it too is recorded when it returns. `EncryptedSerializer`
authenticates what is stored with a key of the user's; it is an option, and not used here.
"""

import sqlite3
from pathlib import Path
from typing import Any

from common import AMOUNT, ANSWER, RUN, STEPS, TERMINALS, database, effect, effects
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

CONFIG: Any = {"configurable": {"thread_id": RUN}}
INPUT: Any = {"messages": [("user", "Refund #W1.")]}


def _graph(folder: Path, answers: list[list[str]], *, dies: bool = False) -> Any:
    def model(state: MessagesState) -> dict[str, list[AIMessage]]:
        names = answers[sum(message.type == "ai" for message in state["messages"])]
        calls = [{"name": name, "args": {"amount": AMOUNT}, "id": f"call-{name}"} for name in names]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    def made(name: str) -> StructuredTool:
        def handler(amount: str) -> str:
            effect(folder, name, dies=dies)
            return amount

        return StructuredTool.from_function(handler, name=name, description=name)

    def after_tools(state: MessagesState) -> str:
        return END if state["messages"][-1].name in (ANSWER, *TERMINALS) else "model"

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([made(name) for names in answers for name in names]))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.add_conditional_edges("tools", after_tools, ["model", END])
    connection = sqlite3.connect(database(folder), check_same_thread=False)
    return graph.compile(checkpointer=SqliteSaver(connection))


def _refund(folder: Path, *, dies: bool = False) -> Any:
    return _graph(folder, [[name] for name in STEPS], dies=dies)


def begin(folder: Path, *, dies: bool = False) -> None:
    """Start the thread."""
    _refund(folder, dies=dies).invoke(INPUT, CONFIG, durability="sync")


def go_on(folder: Path) -> str:
    """Resume the thread."""
    ended = _refund(folder).invoke(None, CONFIG, durability="sync")
    return f"ended with {ended['messages'][-1].name}"


def two_ends(folder: Path) -> str:
    """Let the model ask for two ends in one answer."""
    _graph(folder, [list(TERMINALS)]).invoke(INPUT, CONFIG, durability="sync")
    return f"{len(effects(folder))}: {', '.join(sorted(effects(folder)))}"


def read(folder: Path) -> str:
    """Load the thread's state, and give the amount that it ended with."""
    return str(_refund(folder).get_state(CONFIG).values["messages"][-1].content)
