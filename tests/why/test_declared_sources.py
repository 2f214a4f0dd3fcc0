"""What a tool says about its arguments: read from its model, checked exactly."""

from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from tachograph import Evidence, From
from tachograph.domain.arguments import canonical_arguments, parse_arguments
from tachograph.domain.why.declared import declared, declared_of

from .evidence_story import Trace, found, said


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    item_id: Annotated[str, Evidence()]
    quantity: int = 1


class Refund(BaseModel):
    order_id: Annotated[str, Evidence(required=True)]
    amount: Annotated[Decimal, From("preview", "/amount")]
    reason: Literal["faulty", "late"] = Field(description="Why.")
    kind: Literal["refund"] = "refund"
    colour: Colour | None = None
    urgent: bool = False
    note: Annotated[str | None, Evidence(required=False)] = None
    lines: tuple[Line, ...] = ()
    tags: list[Annotated[str, From("preview", "/tags/*")]] = []


def test_each_leaf_has_one_role() -> None:
    assert dict(declared(Refund)) == {
        "/order_id": "evidence",
        "/amount": "from preview /amount",
        "/reason": "choice",
        "/kind": "constant",
        "/colour": "choice",
        "/urgent": "choice",
        "/note": "evidence optional",
        "/lines/*/item_id": "evidence",
        "/tags/*": "from preview /tags/*",
    }


def test_what_was_not_given_is_constant() -> None:
    raw = '{"order_id": "#1", "amount": "5.00", "reason": "late", "lines": [{"item_id": "A"}], "tags": ["x"]}'
    arguments = parse_arguments(raw, Refund)
    assert declared_of(arguments, canonical_arguments(arguments)) == {
        "/order_id": "evidence",
        "/amount": "from preview /amount",
        "/reason": "choice",
        "/kind": "constant",
        "/colour": "constant",
        "/urgent": "constant",
        "/note": "constant",
        "/lines/0/item_id": "evidence",
        "/lines/0/quantity": "constant",
        "/tags/0": "from preview /tags/*",
    }


def test_a_model_that_holds_itself_ends() -> None:
    assert dict(declared(_Tree)) == {"/name": "evidence"}


class _Tree(BaseModel):
    name: Annotated[str, Evidence()]
    children: "list[_Tree]" = []


DECLARED = {"/amount": "from preview /amount"}


@pytest.mark.parametrize(
    ("amount", "verdict"),
    [(175.77, "supported"), ("175.77", "unsupported"), (175.78, "unsupported"), (229.55, "unsupported")],
)
def test_a_declared_source_is_checked_exactly(amount: object, verdict: str) -> None:
    trace = said("I want 229.55 back").called("preview", {}, '{"amount": 175.770, "paid": 229.55}')
    assert trace.verdicts({"amount": amount}, DECLARED) == {"amount": verdict}


def test_the_latest_output_counts() -> None:
    trace = said("Hello").called("preview", {}, {"amount": 100.5}).called("preview", {}, {"amount": 200.5})
    assert trace.verdicts({"amount": 200.5}, DECLARED) == {"amount": "supported"}
    [argument] = trace.judged({"amount": 100.5}, DECLARED).values()
    assert (argument.verdict, argument.why) == ("unsupported", "preview 2.1 has 200.5 at /amount")


def test_a_tool_that_was_never_called_supports_nothing() -> None:
    [argument] = found({"amount": 100.5}).judged({"amount": 100.5}, DECLARED).values()
    assert (argument.verdict, argument.why) == (
        "unsupported",
        "preview was not called before, or did not succeed",
    )


def test_any_row_of_a_list_may_be_meant() -> None:
    trace = said("Hello").called("preview", {}, {"tags": ["a1", "b2"]})
    declared_tag = {"/tags/0": "from preview /tags/*"}
    assert trace.verdicts({"tags": ["b2"]}, declared_tag) == {"tags/0": "supported"}
    assert trace.verdicts({"tags": ["c3"]}, declared_tag) == {"tags/0": "unsupported"}


def test_choice_and_constant_are_as_declared() -> None:
    roles = {"/reason": "choice", "/limit": "constant"}
    assert Trace().start(("user", "Hi")).verdicts({"reason": "late", "limit": 4}, roles) == {
        "reason": "choice",
        "limit": "constant",
    }


def test_an_output_that_is_no_json_has_no_such_value() -> None:
    trace = said("Hello").called("preview", {}, "amount: 175.77")
    [argument] = trace.judged({"amount": 175.77}, DECLARED).values()
    assert (argument.verdict, argument.why) == ("unsupported", "preview 1.1 has nothing at /amount")
