"""
Group commit: all appends that wait are stored in one transaction, each keeping its own fate.

The recorder is called from one thread. While it waits for the disk, further appends gather and go
together in the next transaction, so the cost of a commit is shared and no append waits for more than
the commit before its own. Runs that have fallen into step are answered in two halves, so that one
half computes while the other is on its way to the disk.

If one append of a batch conflicts, the batch is stored one by one and only that append fails. If it
is not known whether a commit happened, the rows are read back and compared.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    InterfaceError,
    OperationalError,
    StoredEvent,
)

from tachograph.domain.errors import StoreError, VersionConflict

BATCH_EVENTS_MAX: Final = 1000
HALVED_FROM: Final = 4
RETRY_S: Final = 10.0
_PAUSE_FIRST_S: Final = 0.05
_PAUSE_MAX_S: Final = 1.0


@dataclass(slots=True)
class _Append:
    run_id: UUID
    expected_version: int
    events: list[StoredEvent]
    future: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop
    error: StoreError | None = None


class GroupCommit:
    """
    The one writer of a store in this process.

    Args:
        retry_s: Seconds for which a failing database is tried again before an append gives up.
    """

    def __init__(self, recorder: ApplicationRecorder, retry_s: float = RETRY_S) -> None:
        self._recorder = recorder
        self._retry_s = retry_s
        self._gathering: dict[asyncio.AbstractEventLoop, list[_Append]] = {}
        self._waiting: Counter[asyncio.AbstractEventLoop] = Counter()
        self._queue: SimpleQueue[list[_Append] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="tachograph-writer", daemon=True)
        self._thread.start()

    async def append(self, run_id: UUID, events: Sequence[StoredEvent], expected_version: int) -> None:
        """Return once the rows are durable. Raises VersionConflict or StoreError."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        waiting = _Append(run_id, expected_version, list(events), future, loop)
        self._waiting[loop] += 1
        gathering = self._gathering.get(loop)
        if gathering is None:
            self._gathering[loop] = [waiting]
            loop.call_soon(self._hand_over, loop)
        else:
            gathering.append(waiting)
        await future

    def close(self) -> None:
        """Store what waits, then stop the thread."""
        self._queue.put(None)
        self._thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        self._queue.put(self._gathering.pop(loop))

    def _write(self) -> None:
        while (batch := self._queue.get()) is not None:
            count = sum(len(append.events) for append in batch)
            closing = False
            while count < BATCH_EVENTS_MAX:
                try:
                    more = self._queue.get_nowait()
                except Empty:
                    break
                if more is None:
                    closing = True
                    break
                batch += more
                count += sum(len(append.events) for append in more)
            self._store(batch)
            self._answer(batch)
            if closing:
                return

    def _store(self, batch: list[_Append]) -> None:
        try:
            self._recorder.insert_events([event for append in batch for event in append.events])
        except Exception as exc:  # Whatever it is, every append gets its own answer.
            if len(batch) > 1:
                for append in batch:
                    self._store_alone(append, exc)
            else:
                self._settle(batch[0], exc)

    def _store_alone(self, append: _Append, batch_error: Exception) -> None:
        """Store one append of a batch that failed; the batch's outcome may be unknown."""
        if not isinstance(batch_error, IntegrityError):
            self._settle(append, batch_error)
            return
        try:
            self._recorder.insert_events(append.events)
        except Exception as exc:
            self._settle(append, exc)

    def _settle(self, append: _Append, error: Exception) -> None:
        """Find out what became of a failed append, and try again while that can help."""
        if isinstance(error, IntegrityError):
            append.error = VersionConflict(append.run_id, append.expected_version)
            return
        deadline = time.monotonic() + self._retry_s
        pause = _PAUSE_FIRST_S
        while True:
            try:
                if self._stored(append):
                    return
                if isinstance(error, IntegrityError):
                    append.error = VersionConflict(append.run_id, append.expected_version)
                    return
                self._recorder.insert_events(append.events)
                return
            except IntegrityError as exc:
                error = exc
                continue
            except Exception as exc:  # As above: the thread goes on, the append gets its answer.
                error = exc
            if not _may_pass(error) or time.monotonic() + pause > deadline:
                append.error = _store_error(error)
                return
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE_MAX_S)

    def _answer(self, batch: list[_Append]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Append]] = {}
        for append in batch:
            by_loop.setdefault(append.loop, []).append(append)
        for loop, appends in by_loop.items():
            try:
                loop.call_soon_threadsafe(self._resolve, loop, appends)
            except RuntimeError:  # The loop was closed: nobody waits any more.
                continue

    def _resolve(self, loop: asyncio.AbstractEventLoop, appends: list[_Append]) -> None:
        in_step = self._waiting[loop] == len(appends) >= HALVED_FROM
        if in_step:
            half = len(appends) // 2
            loop.call_soon(self._resolve, loop, appends[half:])
            appends = appends[:half]
        self._waiting[loop] -= len(appends)
        if not self._waiting[loop]:
            del self._waiting[loop]
        for append in appends:
            if append.future.done():
                continue
            if append.error is not None:
                append.future.set_exception(append.error)
            else:
                append.future.set_result(None)

    def _stored(self, append: _Append) -> bool:
        """Tell whether exactly these rows stand in the store."""
        first, last = append.expected_version, append.expected_version + len(append.events)
        found = self._recorder.select_events(append.run_id, gt=first, lte=last)
        return [(row.originator_version, row.topic, row.state) for row in found] == [
            (row.originator_version, row.topic, row.state) for row in append.events
        ]


def _may_pass(error: Exception) -> bool:
    """Whether trying again can help: a lost connection or a lock can pass, a full disk can't."""
    return isinstance(error, (OperationalError, InterfaceError)) and "full" not in str(error)


def _store_error(error: Exception) -> StoreError:
    wrapped = StoreError(f"the store could not append: {str(error).strip() or type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped
