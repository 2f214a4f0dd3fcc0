"""Tools: what the decorator takes and refuses, names, and permissions."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tachograph.domain.errors import InvalidAgent, TachographError
from tachograph.domain.tools import TerminalTool, Tool, ToolContext, permitted, tool

from .shop import Order
from .story import started


def read(arguments: Order) -> str:
    """Read an order."""
    return arguments.order_id


def test_a_function_becomes_a_tool_with_the_most_careful_effect() -> None:
    assert tool(read) == Tool(
        name="read",
        description="Read an order.",
        arguments=Order,
        handler=read,
        effect="once",
        timeout_s=60.0,
        permission=None,
        takes_context=False,
    )


def test_what_the_decorator_says_is_what_the_tool_has() -> None:
    decorated = tool(effect="read", name="order-read_2", timeout_s=2.5, permission="audit")(read)
    assert decorated == Tool("order-read_2", "Read an order.", Order, read, "read", 2.5, "audit")


def test_a_function_without_a_docstring_has_no_description() -> None:
    def bare(arguments: Order) -> None: ...

    assert tool(bare).description == ""


def test_the_description_is_the_docstring_without_its_indentation() -> None:
    def documented(arguments: Order) -> None:
        """
        Read an order.

            indented
        """

    assert tool(documented).description == "Read an order.\n\n    indented"


async def fetch(arguments: Order, context: ToolContext) -> str:
    return context.call_key


def test_a_tool_may_be_async_and_may_take_its_context() -> None:
    assert (tool(fetch).is_async, tool(fetch).takes_context, tool(read).is_async) == (True, True, False)


class Desk:
    def read(self, arguments: Order) -> str:
        """Read at the desk."""
        return arguments.order_id


def test_a_bound_method_can_be_a_tool() -> None:
    assert (tool(Desk().read).name, tool(Desk().read).arguments) == ("read", Order)


def generator(arguments: Order) -> Iterator[int]:
    yield 1


async def async_generator(arguments: Order) -> AsyncIterator[int]:
    yield 1


def no_arguments() -> None: ...


def unannotated(arguments) -> None:  # type: ignore[no-untyped-def]  # that it fails is the point
    ...


def of_dict(arguments: dict[str, Any]) -> None: ...


def of_two_models(arguments: Order, more: Order) -> None: ...


def of_three(arguments: Order, context: ToolContext, more: int = 1) -> None: ...


def context_first(context: ToolContext, arguments: Order) -> None: ...


def unannotated_context(arguments: Order, context=None) -> None:  # type: ignore[no-untyped-def]  # the same
    ...


def unknown_annotation(arguments: "NotThere") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the same


def keyword_only(*, arguments: Order) -> None: ...


def keyword_only_context(arguments: Order, *, context: ToolContext) -> None: ...


def variadic(*arguments: Order) -> None: ...


def keywords(**arguments: Order) -> None: ...


def optional_model(arguments: Order | None) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (generator, "is a generator; a tool returns one value"),
        (async_generator, "is a generator; a tool returns one value"),
        (no_arguments, "the first parameter must be annotated with a pydantic model"),
        (unannotated, "the first parameter must be annotated with a pydantic model"),
        (of_dict, "the first parameter must be annotated with a pydantic model"),
        (optional_model, "the first parameter must be annotated with a pydantic model"),
        (context_first, "the first parameter must be annotated with a pydantic model"),
        (Desk.read, "the first parameter must be annotated with a pydantic model"),
        (of_two_models, "after the arguments it may take one ToolContext, no more"),
        (of_three, "after the arguments it may take one ToolContext, no more"),
        (unannotated_context, "after the arguments it may take one ToolContext, no more"),
        (unknown_annotation, "its signature can't be read"),
        (print, "its parameters are given by position"),
        (Desk(), "its signature can't be read"),
        (functools.partial(read), "its signature can't be read"),
        (keyword_only, "its parameters are given by position"),
        (keyword_only_context, "its parameters are given by position"),
        (variadic, "its parameters are given by position"),
        (keywords, "its parameters are given by position"),
    ],
    ids=lambda value: getattr(value, "__qualname__", type(value).__name__),
)
def test_a_function_of_another_form_is_refused_when_it_is_declared(
    function: Callable[..., Any], why: str
) -> None:
    with pytest.raises(InvalidAgent) as caught:
        tool(function)
    assert why in str(caught.value)


NAMES = ["order_read", "a", "A-b_9", "x" * 64]
BAD_NAMES = [
    "",
    " ",
    "   ",
    "a b",
    "a.b",
    "functions:a",
    "é",
    "x" * 65,
    "a\n",
    "a\x00",
    "order/read",
    "\u0663",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_all_providers_take_is_accepted(name: str) -> None:
    assert (
        tool(effect="read", name=name)(read).name,
        TerminalTool(name, "", Order, "answered").name,
    ) == (name, name)


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_any_other_name_is_refused_for_tools_and_terminals_alike(name: str) -> None:
    with pytest.raises(InvalidAgent, match="a tool can't be named"):
        tool(effect="read", name=name)(read)
    with pytest.raises(InvalidAgent, match="a tool can't be named"):
        TerminalTool(name, "", Order, "answered")


def test_an_invalid_agent_is_an_error_of_this_package_and_a_value_error() -> None:
    assert (issubclass(InvalidAgent, TachographError), issubclass(InvalidAgent, ValueError)) == (True, True)


def test_the_schema_offered_is_that_of_the_arguments() -> None:
    assert (tool(read).schema, TerminalTool("a", "", Order, "answered").schema) == (
        Order.model_json_schema(),
        Order.model_json_schema(),
    )


@pytest.mark.parametrize(
    ("permission", "held", "allowed"),
    [
        (None, (), True),
        (None, ("audit",), True),
        ("audit", ("audit",), True),
        ("audit", ("refund", "audit"), True),
        ("audit", (), False),
        ("audit", ("refund",), False),
        ("audit", ("Audit", "audit ", "audit.read", "*"), False),
    ],
)
def test_a_permission_is_held_or_not(permission: str | None, held: tuple[str, ...], allowed: bool) -> None:
    tested = tool(effect="read", permission=permission)(read)
    assert permitted(tested, started(permissions=held).context) is allowed
