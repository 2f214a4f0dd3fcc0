"""An agent's definition: what is refused when it is built, and the digests that identify it."""

import os
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from tachograph.domain.agent import Agent
from tachograph.domain.budget import Budget
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.tools import TerminalTool, ToolOffer

from .shop import AGENT, Answer, Order, Preview, mail_send, order_read
from .story import started

ANSWER_USER = AGENT.terminals[0]


def agent(**changes: Any) -> Agent:
    fields: dict[str, Any] = {"name": "a", "version": "1", "instructions": "", "terminals": (ANSWER_USER,)}
    return Agent(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": ""}, "an agent needs a name"),
        ({"name": " \t"}, "an agent needs a name"),
        ({"terminals": ()}, "a: without a terminal tool no run could end well"),
        ({"tools": (order_read, order_read)}, "a: two tools are named order_read"),
        ({"terminals": (ANSWER_USER, ANSWER_USER)}, "a: two tools are named answer_user"),
        (
            {"tools": (replace(order_read, name="answer_user"),)},
            "a: two tools are named answer_user",
        ),
        (
            {"tools": (order_read, mail_send), "allowed": frozenset({"order_read", "order_reed"})},
            "a: `allowed` names a tool that isn't in `tools`",
        ),
        ({"allowed": frozenset({"answer_user"})}, "a: `allowed` names a tool that isn't in `tools`"),
    ],
)
def test_a_definition_that_could_not_work_is_refused_when_it_is_built(
    changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidAgent) as caught:
        agent(**changes)
    assert str(caught.value) == why


def test_work_tools_by_name_include_those_the_agent_may_not_use() -> None:
    made = agent(tools=(order_read, mail_send), allowed=frozenset({"order_read"}))
    assert made.tools_by_name == {"order_read": order_read, "mail_send": mail_send}
    assert made.work_names == frozenset({"order_read"})
    assert made.terminals_by_name == {"answer_user": ANSWER_USER}


def test_the_model_is_offered_allowed_tools_in_order_and_then_the_terminals() -> None:
    made = agent(tools=(mail_send, order_read))
    assert made.offers(started().context) == (
        ToolOffer("mail_send", "Mail the customer.", Order.model_json_schema()),
        ToolOffer("order_read", "Read an order.", Order.model_json_schema()),
        ToolOffer("answer_user", "Answer.", Answer.model_json_schema()),
    )


def changed_tool(**changes: Any) -> dict[str, Any]:
    return {"tools": (replace(order_read, **changes), *AGENT.tools[1:])}


CATALOGUE_CHANGES: dict[str, dict[str, Any]] = {
    "a tool less": {"tools": AGENT.tools[:-1]},
    "another order of tools": {"tools": tuple(reversed(AGENT.tools))},
    "a tool's description": changed_tool(description="Read one order."),
    "a tool's schema": changed_tool(arguments=Preview),
    "a tool's effect": changed_tool(effect="once"),
    "a tool's timeout": changed_tool(timeout_s=1.0),
    "a tool's permission": changed_tool(permission="x"),
    "a terminal less": {"terminals": AGENT.terminals[:-1]},
    "a terminal's description": {
        "terminals": (replace(AGENT.terminals[0], description="x"), *AGENT.terminals[1:])
    },
    "a terminal's outcome": {
        "terminals": (replace(AGENT.terminals[0], outcome="handed_off"), *AGENT.terminals[1:])
    },
    "a terminal's schema": {
        "terminals": (replace(AGENT.terminals[0], arguments=Order), *AGENT.terminals[1:])
    },
    "a terminal's name": {"terminals": (replace(AGENT.terminals[0], name="say"), *AGENT.terminals[1:])},
}
DEFINITION_CHANGES: dict[str, dict[str, Any]] = {
    "name": {"name": "refunds"},
    "version": {"version": "2"},
    "instructions": {"instructions": "Refund by the policy!"},
    "model": {"model_name": "other"},
    "allowed": {"allowed": frozenset({"order_read"})},
    "max_steps": {"budget": Budget(max_steps=5)},
    "max_cost_usd": {"budget": Budget(max_cost_usd=Decimal("0.10"))},
    "shown_max": {"shown_max": 1},
    "output_max": {"output_max": 1},
}


def test_each_part_of_the_catalogue_changes_both_digests() -> None:
    changed = {what: replace(AGENT, allowed=None, **changes) for what, changes in CATALOGUE_CHANGES.items()}
    changed["nothing"] = replace(AGENT, allowed=None)
    assert len({made.catalogue_digest for made in changed.values()}) == len(changed)
    assert len({made.definition_digest for made in changed.values()}) == len(changed)


def test_each_other_part_of_the_definition_changes_its_digest_alone() -> None:
    changed = {what: replace(AGENT, **changes) for what, changes in DEFINITION_CHANGES.items()}
    changed["nothing"] = AGENT
    assert {made.catalogue_digest for made in changed.values()} == {AGENT.catalogue_digest}
    assert len({made.definition_digest for made in changed.values()}) == len(changed)


def test_the_handlers_code_is_not_part_of_the_definition() -> None:
    rewritten = replace(AGENT, **changed_tool(handler=lambda arguments: None))
    assert rewritten.definition_digest == AGENT.definition_digest


def test_a_list_of_all_tools_is_the_same_definition_as_no_list() -> None:
    every = frozenset(tool.name for tool in AGENT.tools)
    assert replace(AGENT, allowed=every).definition_digest == replace(AGENT, allowed=None).definition_digest


DIGESTS_OF_ANOTHER_PROCESS = """
from decimal import Decimal
from typing import Literal
from pydantic import BaseModel, Field
from tachograph.domain.agent import Agent
from tachograph.domain.tools import TerminalTool, tool
from tachograph.domain.values import json_text

class Filter(BaseModel):
    tags: set[str] = {"vip", "gold", "silver", "staff", "new"}
    kind: Literal["c", "b", "a"] = "a"
    amount: Decimal = Field(default=Decimal("19.90"), ge=0)

@tool(effect="read")
def search(arguments: Filter) -> None:
    "Search."

@tool(effect="read")
def read(arguments: Filter) -> None:
    "Read."

agent = Agent("a", "1", "", (TerminalTool("end", "", Filter, "answered"),), (search, read),
              frozenset({"search", "read"}))
print(agent.definition_digest, agent.catalogue_digest, json_text({"vip", "gold", ("a", 1), 7, None}),
      json_text(Filter()))
"""


def test_digests_and_texts_are_the_same_in_every_process() -> None:
    """Sets are in another order in each process, unless their order is fixed before it matters."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", DIGESTS_OF_ANOTHER_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(printed) == 1


def test_a_terminal_without_its_own_fields_is_still_a_terminal() -> None:
    class Nothing(BaseModel): ...

    assert TerminalTool("stop", "", Nothing, "answered").schema["properties"] == {}
