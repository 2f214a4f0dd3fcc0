"""Whatever a handler raises, or however long it takes, the run goes on and the record says what happened."""

import asyncio
import inspect
import threading
import time
from typing import Any

import pytest

from tachograph.adapters import executing
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import resume
from tachograph.domain.events import Effect, ToolCall, ToolError
from tachograph.domain.ports import EventStore
from tachograph.domain.tools import tool

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

    def test_the_next_step_waits_until_it_has_cleaned_up(self, memory: EventStore) -> None:
        order: list[str] = []

        @tool(effect="read", timeout_s=0.02)
        async def slow(arguments: Nothing) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(0.05)
                order.append("cleaned up")

        tell(memory, agent(slow, probe(lambda: order.append("next"))), turn(ask("slow"), ask("probe")), DONE)
        assert order == ["cleaned up", "next"]

    def test_one_that_will_not_stop_is_left_behind(
        self, memory: EventStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(executing, "CLEAN_UP_S", 0.05)
        stubborn = threading.Event()

        @tool(effect="read", timeout_s=0.02)
        async def probe(arguments: Nothing) -> None:
            for _ in range(100):
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    stubborn.set()

        told_error(called(memory, probe), "timed_out", "probe did not answer within 0.02 s.")
        assert stubborn.is_set()

    @pytest.mark.parametrize("loop_is_open", [True, False])
    def test_a_coroutine_that_a_thread_returns_too_late_is_closed(
        self, memory: EventStore, loop_is_open: bool
    ) -> None:
        release = threading.Event()
        made: list[Any] = []

        async def never_awaited() -> None:
            return None

        def late() -> Any:
            release.wait(10)
            made.append(never_awaited())
            return made[0]

        def wait_for_it() -> None:
            release.set()
            while not made:
                time.sleep(0.001)
            time.sleep(0.05)

        @tool(effect="read")
        def second(arguments: Nothing) -> None:
            if loop_is_open:
                wait_for_it()

        tell(memory, agent(probe(late, timeout_s=0.02), second), turn(ask("probe"), ask("second")), DONE)
        wait_for_it()
        assert inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED

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
