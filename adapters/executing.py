"""
One handler, run under its timeout, with whatever it does caught and named.

A sync handler runs in a thread of its own, an async one on the event loop. An async handler that is still
running at its timeout, or when its run is cancelled, is cancelled and given CLEAN_UP_S to clean up. Else it
is left behind, as is a thread, which can't be killed: it ends with the process at the latest. An async
handler that blocks the loop blocks it past its timeout too.
"""

import asyncio
import contextvars
import inspect
import threading
import traceback
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final

from tachograph.domain.calls import ReadyCall
from tachograph.domain.recording import Failed
from tachograph.domain.text import clipped
from tachograph.domain.tools import ToolContext
from tachograph.domain.values import Unserializable, json_text

CLEAN_UP_S: Final = 5.0
_MESSAGE_MAX: Final = 2_000
_DETAIL_MAX: Final = 8_000


@dataclass(frozen=True, slots=True)
class Succeeded:
    """A handler's return value as JSON text."""

    output: str


async def execute(call: ReadyCall, context: ToolContext, output_max: int) -> Succeeded | Failed:
    """
    Run a call's handler and return what came of it. Raises nothing but CancelledError.

    Args:
        output_max: Bytes of JSON text above which an output is refused.
    """
    arguments = (call.arguments, context) if call.tool.takes_context else (call.arguments,)
    answering = call.tool.handler(*arguments) if call.tool.is_async else _in_thread(call, arguments)
    running = asyncio.ensure_future(_on_loop(answering))
    try:
        done, _ = await asyncio.wait((running,), timeout=call.tool.timeout_s)
    except asyncio.CancelledError:
        await _cancelled(running)
        raise
    if not done:
        await _cancelled(running)
        return _timed_out(call)
    result = running.result()
    if isinstance(result, _Raised):
        return _failure(call, result.error)
    return _as_text(result, output_max)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


async def _cancelled(running: asyncio.Task[Any]) -> None:
    running.cancel()
    await asyncio.wait((running,), timeout=CLEAN_UP_S)


async def _on_loop(awaitable: Awaitable[Any]) -> Any:
    try:
        value = await awaitable
        while inspect.isawaitable(value):  # A handler may return a coroutine in place of a value.
            value = await value
        return value
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _Raised(exc)
    except BaseException as exc:  # A handler may raise anything; nothing of it ends the loop.
        return _Raised(exc)


def _in_thread(call: ReadyCall, arguments: tuple[Any, ...]) -> asyncio.Future[Any]:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any) -> None:
        if not future.done():
            future.set_result(result)
        else:
            _drop(result)

    def work() -> None:
        try:
            result = context.run(call.tool.handler, *arguments)
        except BaseException as exc:  # As on the loop.
            result = _Raised(exc)
        try:
            loop.call_soon_threadsafe(settle, result)
        except RuntimeError:  # The loop was closed while the handler ran: nobody waits any more.
            _drop(result)

    threading.Thread(target=work, name=f"tool-{call.tool.name}", daemon=True).start()
    return future


def _drop(result: Any) -> None:
    if inspect.iscoroutine(result):
        result.close()


def _timed_out(call: ReadyCall) -> Failed:
    message = f"{call.tool.name} did not answer within {call.tool.timeout_s:g} s."
    return Failed("timed_out", message + _perhaps_effective(call))


def _perhaps_effective(call: ReadyCall) -> str:
    return "" if call.tool.effect == "read" else " It may have taken effect all the same."


def _failure(call: ReadyCall, error: BaseException) -> Failed:
    name, text = type(error).__name__, _text_of(error)
    detail = clipped(_traceback_of(error), _DETAIL_MAX)
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        message = f"The call was interrupted.{_perhaps_effective(call)}"
        return Failed("interrupted", message, detail, raised=error)
    message = clipped(f"{name}: {text}" if text else name, _MESSAGE_MAX)
    return Failed("tool_execution_failed", message, detail)


def _as_text(result: Any, output_max: int) -> Succeeded | Failed:
    try:
        output = json_text(result)
    except Unserializable as exc:
        message = f"The tool ran, but its output can't be recorded: it holds {exc}."
        return Failed("unserializable_output", message)
    except Exception as exc:  # Properties and iterators of a foreign object are code too.
        detail = clipped(_traceback_of(exc), _DETAIL_MAX)
        message = f"The tool ran, but reading its output raised {type(exc).__name__}."
        return Failed("unserializable_output", message, detail)
    size = len(output) if output.isascii() else len(output.encode())
    if size > output_max:
        message = f"The tool ran, but its output has {size} bytes; at most {output_max} are kept."
        return Failed("output_too_large", message, clipped(output, _DETAIL_MAX))
    return Succeeded(output)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text can't be read)"


def _traceback_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error, limit=-20))
    except Exception:
        return type(error).__name__
