"""What a tool says about its arguments: read from its model, checked exactly."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from tachograph import Evidence, From
from tachograph.domain.arguments import canonical_arguments, parse_arguments
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.why.annotations import declared
from tachograph.domain.why.declared import declared_of

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


class Address(BaseModel):
    street: str
    kind: Literal["home", "work"] = "home"


class Wholes(BaseModel):
    ids: Annotated[list[str], Evidence()]
    lines: Annotated[tuple[Line, ...], Evidence(required=False)] = ()
    address: Annotated[Address, From("profile", "/address")]
    picked: Annotated[list[str], From("search", "/ids")]
    named: dict[str, Annotated[str, Evidence()]] = {}
    pair: tuple[Annotated[str, Evidence()], int] | None = None


def test_what_is_said_of_a_whole_holds_for_all_in_it() -> None:
    raw = """{"ids": ["A", "B"], "lines": [{"item_id": "C", "quantity": 2}],
              "address": {"street": "Elm", "kind": "work"}, "picked": ["D"], "named": {"x": "E"},
              "pair": ["F", 1]}"""
    arguments = parse_arguments(raw, Wholes)
    assert declared_of(arguments, canonical_arguments(arguments)) == {
        "/ids/0": "evidence",
        "/ids/1": "evidence",
        "/lines/0/item_id": "evidence",
        "/lines/0/quantity": "evidence optional",
        "/address/street": "from profile /address/street",
        "/address/kind": "choice",
        "/picked/0": "from search /ids/*",
        "/named/x": "evidence",
        "/pair/0": "evidence",
    }


def test_a_list_of_which_nothing_was_taken_needs_no_source() -> None:
    raw = '{"ids": [], "address": {"street": "Elm"}, "picked": []}'
    arguments = parse_arguments(raw, Wholes)
    roles = declared_of(arguments, canonical_arguments(arguments))
    assert roles["/ids"] == "evidence"
    assert "/picked" not in roles


def test_each_level_of_a_model_that_holds_itself_has_its_roles() -> None:
    arguments = parse_arguments('{"name": "a", "children": [{"name": "b"}]}', _Tree)
    assert declared_of(arguments, canonical_arguments(arguments)) == {
        "/name": "evidence",
        "/children/0/name": "evidence",
        "/children/0/children": "constant",
    }


class _Root(RootModel[Annotated[str, Evidence()]]):
    pass


class _Cat(BaseModel):
    name: Annotated[str, Evidence()]


class _Dog(BaseModel):
    name: str
    age: int


class _Rooted(BaseModel):
    root: _Root
    pet: _Cat | _Dog


@pytest.mark.parametrize(
    ("pet", "roles"),
    [
        ('{"name": "Tom"}', {"/root": "evidence", "/pet/name": "evidence"}),
        ('{"name": "Rex", "age": 3}', {"/root": "evidence"}),
    ],
)
def test_the_model_that_was_given_says_it(pet: str, roles: dict[str, str]) -> None:
    arguments = parse_arguments(f'{{"root": "A", "pet": {pet}}}', _Rooted)
    assert declared_of(arguments, canonical_arguments(arguments)) == roles


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")


@dataclass
class _Plain:
    name: Annotated[str, Evidence()]


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[Any, Evidence()],
        Annotated[dict[str, str], Evidence()],
        Annotated[list[dict[str, int]], Evidence()],
        Annotated[list, Evidence()],
        Annotated[_Open, Evidence()],
        dict[Annotated[str, Evidence()], int],
        list[_Plain],
    ],
)
def test_what_could_not_be_traced_is_refused_with_the_definition(annotation: Any) -> None:
    model = create_model("Wanted", field=(annotation, ...))
    with pytest.raises(InvalidAgent, match=r"/field"):
        declared(model)


def test_an_output_without_text_or_number_is_the_latest_all_the_same() -> None:
    trace = said("Hello").called("preview", {}, {"amount": 50.25})
    trace = trace.called("preview", {}, {"amount": None, "refundable": False})
    [argument] = trace.judged({"amount": 50.25}, DECLARED).values()
    assert (argument.verdict, argument.why) == ("unsupported", "preview 2.1 has None at /amount")


def test_a_bool_may_have_a_declared_source() -> None:
    trace = said("Hello").called("preview", {}, {"refundable": True})
    roles = {"/ok": "from preview /refundable"}
    assert trace.verdicts({"ok": True}, roles) == {"ok": "supported"}
    assert trace.verdicts({"ok": False}, roles) == {"ok": "unsupported"}
