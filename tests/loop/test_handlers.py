"""Whatever a handler does has one documented treatment; nothing of it ends the run or is lost."""

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import resume
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import Effect, ToolCall, ToolError
from tachograph.domain.ports import EventStore
from tachograph.domain.tools import ToolContext, tool

from .story import CONTEXT, DONE, Nothing, Told, agent, ask, called, probe, raising, tell, turn


class NeedsKeywords(Exception):
    def __init__(self, *, code: int, reason: str) -> None:
        super().__init__()
        self.code, self.reason = code, reason

    def __str__(self) -> str:
        return f"{self.reason} ({self.code})"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __repr__(self) -> str:
        raise RuntimeError("no text either")


class NotQuiteAnException(BaseException):
    pass


def told_error(told: Told, code: str, message: str) -> None:
    """The error is recorded as it is shown, with a traceback of bounded size for the auditor."""
    assert (told.error.code, told.error.message) == (code, message)
    assert told.shown == [(message, True)]
    if told.error.detail is not None:
        assert len(told.error.detail) < 8_200


class TestRaising:
    @pytest.mark.case("C119")
    @pytest.mark.parametrize("effect", ["read", "idempotent", "once"])
    def test_C119_an_exception_is_recorded_and_told_to_the_model(
        self, store: EventStore, effect: Effect
    ) -> None:
        told = called(store, probe(raising(ValueError("boom")), effect))
        told_error(told, "tool_execution_failed", "ValueError: boom")
        assert told.error.detail is not None
        assert told.error.detail.startswith("Traceback (most recent call last):")
        assert told.error.detail.endswith("ValueError: boom\n")

    @pytest.mark.case("C032")
    def test_C032_an_exception_with_a_constructor_of_its_own_is_plain_text(self, store: EventStore) -> None:
        told = called(store, probe(raising(NeedsKeywords(code=7, reason="no such card"))))
        told_error(told, "tool_execution_failed", "NeedsKeywords: no such card (7)")

    def test_an_exception_whose_text_can_not_be_read(self, memory: EventStore) -> None:
        told = called(memory, probe(raising(Unspeakable())))
        told_error(told, "tool_execution_failed", "Unspeakable: (its text can't be read)")

    def test_an_exception_without_a_text(self, memory: EventStore) -> None:
        told_error(called(memory, probe(raising(ValueError()))), "tool_execution_failed", "ValueError")

    @pytest.mark.parametrize("error", [NotQuiteAnException("x"), GeneratorExit("x"), StopIteration("x")])
    def test_other_kinds_than_exceptions(self, memory: EventStore, error: BaseException) -> None:
        told = called(memory, probe(raising(error)))
        told_error(told, "tool_execution_failed", f"{type(error).__name__}: x")

    def test_a_cancelled_error_that_the_handler_itself_raises_cancels_nothing(
        self, memory: EventStore
    ) -> None:
        told = called(memory, probe(raising(asyncio.CancelledError("not now"))))
        told_error(told, "tool_execution_failed", "CancelledError: not now")

    def test_the_same_from_an_async_handler(self, memory: EventStore) -> None:
        @tool(effect="read")
        async def probe(arguments: Nothing) -> None:
            raise asyncio.CancelledError("not now")

        told_error(called(memory, probe), "tool_execution_failed", "CancelledError: not now")

    def test_a_chain_of_exceptions_is_kept_for_the_auditor(self, memory: EventStore) -> None:
        def make() -> None:
            try:
                raise KeyError("order")
            except KeyError as exc:
                raise ValueError("no order") from exc

        told = called(memory, probe(make))
        told_error(told, "tool_execution_failed", "ValueError: no order")
        assert told.error.detail is not None
        assert "KeyError: 'order'" in told.error.detail

    def test_a_text_of_megabytes_is_cut(self, memory: EventStore) -> None:
        told = called(memory, probe(raising(ValueError("x" * 5_000_000))))
        assert told.error.message.startswith("ValueError: xxx")
        assert len(told.error.message) < 2_200
        assert len(told.error.detail or "") < 8_200

    def test_endless_recursion(self, memory: EventStore) -> None:
        def down() -> Any:
            return down()

        told = called(memory, probe(down))
        assert told.error.message.startswith("RecursionError: maximum recursion depth exceeded")

    def test_a_lone_surrogate_in_the_text_of_an_error(self, store: EventStore) -> None:
        told = called(store, probe(raising(ValueError("ok \ud83d"))))
        told_error(told, "tool_execution_failed", "ValueError: ok \ufffd")

    def test_an_exception_group(self, memory: EventStore) -> None:
        told = called(memory, probe(raising(ExceptionGroup("several", [ValueError("a"), KeyError("b")]))))
        told_error(told, "tool_execution_failed", "ExceptionGroup: several (2 sub-exceptions)")


@pytest.mark.case("C114")
class TestInterrupting:
    @pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
    @pytest.mark.parametrize("effect", ["read", "once"])
    def test_C114_it_is_recorded_as_interrupted_and_raised_again_and_the_run_stays_open(
        self, store: EventStore, error: BaseException, effect: Effect
    ) -> None:
        told = tell(store, agent(probe(raising(error), effect)), turn(ask("probe")), DONE)
        assert told.raised is error
        assert told.error.code == "interrupted"
        assert "terminal" not in told.kinds
        assert told.kinds[-1] == "tool_error"

    def test_C114_from_an_async_handler(self, memory: EventStore) -> None:
        @tool(effect="read")
        async def probe(arguments: Nothing) -> None:
            raise SystemExit(3)

        told = tell(memory, agent(probe), turn(ask("probe")), DONE)
        assert isinstance(told.raised, SystemExit)
        assert told.error.code == "interrupted"

    def test_C114_the_calls_after_it_are_left_for_the_resume(self, store: EventStore) -> None:
        ran: list[str] = []

        @tool(effect="read")
        def after(arguments: Nothing) -> str:
            ran.append("after")
            return "after"

        clerk = agent(probe(raising(KeyboardInterrupt())), after)
        told = tell(store, clerk, turn(ask("probe"), ask("after")), DONE)
        assert ran == []
        outcome = asyncio.run(
            resume(clerk, told.run_id, model=ScriptedModel([DONE, DONE]), store=store, actor="ops")
        )
        assert (outcome.outcome, ran) == ("answered", ["after"])
        assert told.kinds == [
            "run_started",
            "model_turn",
            "tool_error",
            "run_resumed",
            "tool_call",
            "model_turn",
            "terminal",
        ]


class TestTimeout:
    @pytest.mark.parametrize(
        ("effect", "message"),
        [
            ("read", "probe did not answer within 0.05 s."),
            ("once", "probe did not answer within 0.05 s. It may have taken effect all the same."),
        ],
    )
    def test_a_sync_handler_that_hangs_is_left_behind(
        self, memory: EventStore, effect: Effect, message: str
    ) -> None:
        release = threading.Event()
        told = called(memory, probe(lambda: release.wait(10), effect, timeout_s=0.05))
        release.set()
        told_error(told, "timed_out", message)

    def test_an_async_handler_that_hangs_is_cancelled(self, memory: EventStore) -> None:
        cancelled: list[bool] = []

        @tool(effect="read", timeout_s=0.05)
        async def probe(arguments: Nothing) -> None:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                cancelled.append(True)
                raise

        told_error(called(memory, probe), "timed_out", "probe did not answer within 0.05 s.")
        assert cancelled == [True]

    def test_a_coroutine_that_a_sync_handler_returns_is_under_the_same_timeout(
        self, memory: EventStore
    ) -> None:
        told = called(memory, probe(lambda: asyncio.sleep(10), timeout_s=0.05))
        told_error(told, "timed_out", "probe did not answer within 0.05 s.")

    def test_what_comes_too_late_is_not_recorded(self, memory: EventStore) -> None:
        release, returned = threading.Event(), threading.Event()

        def late() -> str:
            release.wait(10)
            returned.set()
            return "late"

        @tool(effect="read")
        def wait_for_it(arguments: Nothing) -> bool:
            release.set()
            return returned.wait(10)

        told = tell(
            memory,
            agent(probe(late, timeout_s=0.02), wait_for_it),
            turn(ask("probe"), ask("wait_for_it")),
            DONE,
        )
        first, second = told.results
        assert isinstance(first, ToolError)
        assert isinstance(second, ToolCall)
        assert (first.code, second.output) == ("timed_out", "true")
        assert told.outcome is not None

    def test_a_slow_handler_in_a_thread_does_not_hold_up_other_runs(self, memory: EventStore) -> None:
        from tachograph.adapters.running import run

        together = threading.Barrier(4, timeout=10)
        clerk = agent(probe(together.wait))

        async def four() -> list[str]:
            model = ScriptedModel([turn(ask("probe")), DONE])
            runs = [run(clerk, "Help.", CONTEXT, model=model, store=memory) for _ in range(4)]
            return [outcome.outcome for outcome in await asyncio.gather(*runs)]

        assert asyncio.run(four()) == ["answered"] * 4


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


def test_durations_are_measured_and_never_negative(memory: EventStore) -> None:
    class Backwards:
        def now(self) -> Any:
            from .story import NOON

            return NOON

        def monotonic(self) -> float:
            return -time.monotonic()

    from tachograph.adapters.running import run

    clerk = agent(probe(lambda: time.sleep(0.01)))
    model = ScriptedModel([turn(ask("probe")), DONE])
    outcome = asyncio.run(run(clerk, "Help.", CONTEXT, model=model, store=memory, clock=Backwards()))
    told = Told(memory, outcome.run_id, [])
    assert [result.duration_ms for result in told.results] == [0]
