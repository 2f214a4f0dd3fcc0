"""Whatever a handler returns has one documented treatment; nothing of it is lost or ends the run."""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import Effect
from tachograph.domain.ports import EventStore
from tachograph.domain.tools import ToolContext, tool

from .story import CONTEXT, DONE, Nothing, Told, agent, ask, called, probe, tell, turn


def told_error(told: Told, code: str, message: str) -> None:
    """The error is recorded as it is shown, with a traceback of bounded size for the auditor."""
    assert (told.error.code, told.error.message) == (code, message)
    assert told.shown == [(message, True)]
    if told.error.detail is not None:
        assert len(told.error.detail) < 8_200


class TestReturning:
    @pytest.mark.case("C027")
    def test_C027_an_async_handler_is_awaited(self, store: EventStore) -> None:
        @tool(effect="read")
        async def probe(arguments: Nothing) -> dict[str, int]:
            await asyncio.sleep(0)
            return {"stock": 3}

        assert called(store, probe).output == '{"stock":3}'

    @pytest.mark.case("C027")
    def test_C027_a_coroutine_from_a_sync_handler_is_awaited_too(self, store: EventStore) -> None:
        async def stock() -> dict[str, int]:
            await asyncio.sleep(0)
            return {"stock": 3}

        assert called(store, probe(stock)).output == '{"stock":3}'

    @pytest.mark.case("C027")
    def test_C027_so_is_a_coroutine_that_gives_a_coroutine(self, memory: EventStore) -> None:
        async def inner() -> str:
            return "inner"

        async def outer() -> Any:
            return inner()

        assert called(memory, probe(outer)).output == '"inner"'

    @pytest.mark.case("C027")
    def test_C027_an_exception_in_the_awaited_coroutine(self, memory: EventStore) -> None:
        async def fail() -> None:
            raise ValueError("boom")

        told_error(called(memory, probe(fail)), "tool_execution_failed", "ValueError: boom")

    @pytest.mark.case("C027")
    def test_C027_a_coroutine_inside_a_value_is_never_stored_as_a_success(self, memory: EventStore) -> None:
        async def stock() -> int:
            return 3

        inside = stock()
        told = called(memory, probe(lambda: {"items": [1, inside]}))
        inside.close()
        told_error(
            told,
            "unserializable_output",
            "The tool ran, but its output can't be recorded: it holds a builtins.coroutine at /items/1.",
        )

    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (lambda: (n for n in (1, 2)), "builtins.generator"),
            (lambda: iter([1]), "builtins.list_iterator"),
            (lambda: ValueError("x"), "builtins.ValueError"),
            (lambda: int, "builtins.type"),
            (lambda: len, "builtins.builtin_function_or_method"),
            (lambda: 1 + 2j, "builtins.complex"),
            (object, "builtins.object"),
        ],
    )
    def test_what_has_no_json_form_is_an_error_that_names_its_type(
        self, memory: EventStore, make: Callable[[], Any], kind: str
    ) -> None:
        told_error(
            called(memory, probe(make)),
            "unserializable_output",
            f"The tool ran, but its output can't be recorded: it holds a {kind} at the top.",
        )

    @pytest.mark.case("C034")
    def test_C034_an_instance_of_ones_own_class_is_named_with_its_path(self, store: EventStore) -> None:
        class Order:
            secret = "s3cret"

        told = called(store, probe(lambda: {"orders": [{"first": Order()}]}))
        assert told.error.code == "unserializable_output"
        assert "at /orders/0/first" in told.error.message
        assert "Order" in told.error.message
        assert "s3cret" not in told.error.message

    def test_an_object_that_raises_while_it_is_read(self, memory: EventStore) -> None:
        class Trap(dict[str, int]):
            def items(self) -> Any:
                raise RuntimeError("trapped")

        told = called(memory, probe(lambda: Trap(a=1)))
        assert told.error.code == "unserializable_output"
        assert told.error.message == "The tool ran, but reading its output raised RuntimeError."
        assert "trapped" in (told.error.detail or "")

    @pytest.mark.case("C025")
    @pytest.mark.parametrize("effect", ["read", "once"])
    def test_C025_a_cycle_is_an_error_after_the_handler_ran_and_the_call_counts_as_done(
        self, store: EventStore, effect: Effect
    ) -> None:
        ran: list[int] = []

        def make() -> dict[str, Any]:
            ran.append(1)
            around: dict[str, Any] = {"order": "#W1"}
            around["self"] = around
            return around

        told = called(store, probe(make, effect))
        told_error(
            told,
            "unserializable_output",
            "The tool ran, but its output can't be recorded: "
            "it holds a cycle, which contains itself, at /self.",
        )
        assert ran == [1]

    @pytest.mark.case("C026")
    def test_C026_a_thousand_levels_are_an_error_with_a_limit_that_is_ours(self, store: EventStore) -> None:
        def nested(levels: int) -> Any:
            value: Any = 1
            for _ in range(levels):
                value = {"in": value}
            return value

        assert called(store, probe(lambda: nested(100))).output == '{"in":' * 100 + "1" + "}" * 100
        for levels in (101, 1_000, 200_000):
            told = called(store, probe(lambda levels=levels: nested(levels)))  # type: ignore[misc]  # lambda default
            assert told.error.code == "unserializable_output"
            assert "more than 100 levels" in told.error.message

    @pytest.mark.case("C113")
    def test_C113_ten_megabytes_are_recorded_whole_and_the_model_sees_a_cut(self, store: EventStore) -> None:
        text = "refund " * 1_500_000
        told = tell(store, agent(probe(lambda: text)), turn(ask("probe")), DONE)
        assert told.output == f'"{text}"'
        [(shown, is_error)] = told.shown
        assert not is_error
        assert shown == f'"{text}"'[:100_000] + f"\n[cut: {len(text) + 2} characters, the first 100000 shown]"

    @pytest.mark.case("C113")
    def test_C113_above_the_limit_it_is_an_error_and_not_tried_again(self, store: EventStore) -> None:
        ran: list[int] = []

        def make() -> str:
            ran.append(1)
            return "x" * 1_000

        told = called(store, probe(make), output_max=999)
        assert told.error.code == "output_too_large"
        assert told.error.message == "The tool ran, but its output has 1002 bytes; at most 999 are kept."
        assert ran == [1]

    def test_the_limit_counts_bytes_and_not_characters(self, memory: EventStore) -> None:
        assert called(memory, probe(lambda: "\xe9" * 10), output_max=22).output == f'"{"é" * 10}"'
        assert called(memory, probe(lambda: "\xe9" * 10), output_max=21).error.code == "output_too_large"

    def test_a_handler_that_prints_and_sets_context_variables_disturbs_nothing(
        self, memory: EventStore, capsys: pytest.CaptureFixture[str]
    ) -> None:
        variable = contextvars.ContextVar("variable", default="outside")

        def make() -> str:
            print("noise")
            variable.set("inside")
            return variable.get()

        assert called(memory, probe(make)).output == '"inside"'
        assert variable.get() == "outside"
        capsys.readouterr()

    def test_a_handler_sees_the_callers_context_variables(self, memory: EventStore) -> None:
        variable = contextvars.ContextVar("variable", default="nobody")
        variable.set("caller")
        assert called(memory, probe(variable.get)).output == '"caller"'


class TestDefining:
    def test_a_generator_can_not_be_a_tool(self) -> None:
        def numbers(arguments: Nothing) -> Iterator[int]:
            yield 1

        async def more(arguments: Nothing) -> AsyncIterator[int]:
            yield 1

        for function in (numbers, more):
            with pytest.raises(InvalidAgent, match="generator"):
                tool(effect="read")(function)

    def test_the_context_comes_from_the_caller_and_the_runtime(self, memory: EventStore) -> None:
        seen: list[ToolContext] = []

        @tool(effect="read")
        def probe(arguments: Nothing, context: ToolContext) -> None:
            seen.append(context)

        told = called(memory, probe)
        assert [(context.trusted, context.run_id, context.call_key) for context in seen] == [
            (CONTEXT, told.run_id, "1.1")
        ]
