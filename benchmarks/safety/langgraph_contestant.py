"""LangGraph: a graph on SqliteSaver with durability="sync", resumed by `invoke(None)`; its ReAct agent."""

import operator
import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

from common import AMOUNT, RUN, STEPS, TERMINALS, effect, effects, forge

CONFIG: Any = {"configurable": {"thread_id": RUN}}


class _State(TypedDict):
    log: Annotated[list[str], operator.add]


def _saver(folder: Path) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver(sqlite3.connect(folder / "store.db", check_same_thread=False))


def _graph(folder: Path, *, die: bool) -> Any:
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(_State)
    for name in STEPS:

        def node(state: _State, name: str = name) -> dict[str, list[str]]:
            effect(folder, name, die=die)
            return {"log": [f"{name} {AMOUNT}"]}

        graph.add_node(name, node)
    for one, other in zip((START, *STEPS), (*STEPS, END), strict=True):
        graph.add_edge(one, other)
    return graph.compile(checkpointer=_saver(folder))


def crash(folder: Path) -> None:
    """Die within the node."""
    _graph(folder, die=True).invoke({"log": []}, CONFIG, durability="sync")


def after(folder: Path) -> str:
    """Resume the thread."""
    return f"log: {_graph(folder, die=False).invoke(None, CONFIG, durability='sync')['log'][-1]}"


def two_terminals(folder: Path) -> str:
    """Let the model ask for two ends at once."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import StructuredTool
    from langgraph.prebuilt import create_react_agent

    class Model(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    def ends(name: str) -> Any:
        def handler() -> str:
            effect(folder, name)
            return name

        return StructuredTool.from_function(handler, name=name, description="End.", return_direct=True)

    calls = [{"name": name, "args": {}, "id": name} for name in TERMINALS]
    model = Model(messages=iter([AIMessage(content="", tool_calls=calls)]))
    agent = create_react_agent(model, [ends(name) for name in TERMINALS], checkpointer=_saver(folder))
    agent.invoke({"messages": [("user", "Refund #W1.")]}, CONFIG)
    return f"{len(effects(folder))} handlers ran"


def forged(folder: Path) -> str:
    """Run to the end, edit the amount, and ask for the state."""
    _graph(folder, die=False).invoke({"log": []}, CONFIG, durability="sync")
    assert forge(folder / "store.db"), "there was an amount to forge"
    return f"no: gives {_graph(folder, die=False).get_state(CONFIG).values['log'][-1].split()[-1]}"
