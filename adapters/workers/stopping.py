"""How a worker is told to stop: once to end in order, twice to end at once."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """`asked`: take nothing more. `at_once`: don't wait for what is under way either."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def ask(self) -> None:
        """Ask to stop; the second time, to stop at once."""
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()

    async def grace_over(self, grace_s: float) -> None:
        """Return when it was asked for and the time that is left for what is under way has passed."""
        await self.asked.wait()
        try:
            await asyncio.wait_for(self.at_once.wait(), grace_s)
        except TimeoutError:
            return


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """Ask to stop on SIGTERM and Ctrl-C, for as long as the block lasts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        loop.add_signal_handler(number, stop.ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
