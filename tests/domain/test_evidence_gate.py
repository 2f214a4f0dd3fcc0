"""The evidence gate: no run ends on a declared value that stands in no evidence."""

from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import BaseModel

from tachograph import Agent, Evidence, From, TerminalTool, tool
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.messages import History
from tachograph.domain.next_action import ExecuteCalls, Finish, next_action
from tachograph.domain.ports import AskedCall

from .story import RUN_ID, failure, folded, given, refused, result, turn


class Order(BaseModel):
    order_id: str = ""


class Refund(BaseModel):
    order_id: Annotated[str, Evidence()]
    amount: Annotated[float, From("preview", "/amount")]
    why: Annotated[str, Evidence()] = "as previewed"
    note: str = ""


@tool(effect="read")
def preview(order: Order) -> dict[str, object]:
    """Work a refund out."""
    return {"amount": 175.77}


GATED = Agent(
    name="gated",
    version="1",
    instructions="Refund.",
    tools=(preview,),
    terminals=(TerminalTool("request_refund", "Ask a person.", Refund, "approval_requested"),),
    evidence_gate=True,
)
OPEN = replace(GATED, evidence_gate=False)
PREVIEW = AskedCall("preview", '{"order_id": "#W1"}')
PREVIEWED = (
    turn(1, PREVIEW),
    result("1.1", '{"amount": 175.77, "order": {"ref": "A-77120"}}', name="preview"),
)


def asks(arguments: str) -> AskedCall:
    return AskedCall("request_refund", arguments)


GOOD = '{"order_id": "A-77120", "amount": 175.77}'


def test_values_with_evidence_pass_and_are_recorded_with_their_verdicts() -> None:
    given(*PREVIEWED, turn(2, asks(GOOD)), agent=GATED).judges(
        order_id="supported", amount="supported", why="constant", note="constant"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        '{"order_id": "A-77120", "amount": 180.0}',
        '{"order_id": "A-77121", "amount": 175.77}',
        '{"order_id": "A-77120", "amount": 175.77, "why": "The customer wants 190.00 back for the order."}',
    ],
)
def test_a_made_up_value_is_answered_and_the_run_goes_on(arguments: str) -> None:
    given(*PREVIEWED, turn(2, asks(arguments)), agent=GATED).executes(refused("2.1", "unsupported_argument"))


def test_the_model_is_told_the_argument_and_the_nearest_evidence() -> None:
    given(*PREVIEWED, turn(2, asks('{"order_id": "A-77120", "amount": 180.0}')), agent=GATED).refuses_with(
        "2.1",
        "unsupported_argument",
        "Not carried out: the call rests on values without evidence. /amount '180.0': preview 1.1 has "
        "175.77 at /amount. Use values that a tool returned or the customer said, or look them up first.",
    )


def test_what_is_not_declared_is_never_refused() -> None:
    arguments = '{"order_id": "A-77120", "amount": 175.77, "note": "Z-99999"}'
    given(*PREVIEWED, turn(2, asks(arguments)), agent=GATED).judges(
        order_id="supported", amount="supported", why="constant", note="unsupported"
    )


def test_without_the_gate_the_verdict_is_recorded_and_nothing_refused() -> None:
    arguments = '{"order_id": "B-1", "amount": 1.0}'
    given(turn(1, asks(arguments)), agent=OPEN).judges(
        order_id="unsupported", amount="unsupported", why="constant", note="constant"
    )


def test_a_tool_that_declares_nothing_is_not_judged() -> None:
    class Plain(BaseModel):
        text: str

    plain = replace(OPEN, terminals=(TerminalTool("request_refund", "Ask.", Plain, "approval_requested"),))
    action = next_action(plain, folded(turn(1, asks('{"text": "Q-12345"}'))))
    assert isinstance(action, Finish)
    assert action.provenance is None


def test_the_refusal_itself_is_no_evidence_for_the_next_attempt() -> None:
    first = turn(2, asks('{"order_id": "A-77121", "amount": 175.77}'))
    told = failure("2.1", "unsupported_argument", "nearest: A-77121")
    again = turn(3, asks('{"order_id": "A-77121", "amount": 175.77}'))
    given(*PREVIEWED, first, told, again, agent=GATED).executes(refused("3.1", "unsupported_argument"))


def test_what_an_earlier_run_of_the_conversation_saw_counts() -> None:
    earlier = replace(folded(*PREVIEWED), run_id=RUN_ID)
    run = folded(turn(1, asks(GOOD)))
    assert isinstance(next_action(GATED, run), ExecuteCalls)
    assert isinstance(next_action(GATED, run, History((earlier,))), Finish)


def test_a_source_must_be_a_tool_of_the_agent() -> None:
    with pytest.raises(InvalidAgent, match="takes a value from preview, which is no tool"):
        replace(GATED, tools=())


def test_declarations_and_the_gate_are_part_of_the_digests_and_nothing_else_changes() -> None:
    class Bare(BaseModel):
        order_id: str
        amount: float
        why: str = "as previewed"
        note: str = ""

    Bare.__name__, Bare.__qualname__ = "Refund", "Refund"
    bare = replace(OPEN, terminals=(replace(OPEN.terminals[0], arguments=Bare),))
    assert bare.catalogue_digest != OPEN.catalogue_digest == GATED.catalogue_digest
    assert OPEN.definition_digest != GATED.definition_digest
