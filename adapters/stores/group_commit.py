"""
Group commit: all appends that wait are stored in one transaction, each keeping its own fate.

The recorder is called from one thread. While it waits for the disk, further appends gather and go
together in the next transaction, so the cost of a commit is shared and no append waits for more than
the commit before its own. Runs that have fallen into step are answered in two halves: from then on one
half computes while the other is on its way to the disk, and no thread has to be woken in between.

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
from typing import Final, NamedTuple
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


class Part(NamedTuple):
    """The rows of one run in an append."""

    run_id: UUID
    expected_version: int
    rows: list[StoredEvent]


@dataclass(slots=True)
class _Append:
    parts: Sequence[Part]
    rows: list[StoredEvent]
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
        self._closed = False
        self._lock = threading.Lock()  # Nothing is handed over once the thread is told to stop.
        self._queue: SimpleQueue[list[_Append] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="tachograph-writer", daemon=True)
        self._thread.start()

    def append(self, parts: Sequence[Part]) -> asyncio.Future[None]:
        """Return a future that ends once all rows are durable, or with VersionConflict or StoreError."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        waiting = _Append(parts, [row for part in parts for row in part.rows], future, loop)
        with self._lock:
            if self._closed:
                raise StoreError("the store could not append: it is closed")
            self._waiting[loop] += 1
            gathering = self._gathering.get(loop)
            if gathering is None:
                self._gathering[loop] = [waiting]
                loop.call_soon(self._hand_over, loop)
            else:
                gathering.append(waiting)
        return future

    def close(self) -> None:
        """Store what waits, then stop the thread. Later appends are refused."""
        with self._lock:
            self._closed = True
            for batch in self._gathering.values():
                self._queue.put(batch)
            self._gathering.clear()
            self._queue.put(None)
        self._thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            batch = self._gathering.pop(loop, None)
            if batch is not None:
                self._queue.put(batch)

    def _write(self) -> None:
        while (batch := self._queue.get()) is not None:
            count = sum(len(append.rows) for append in batch)
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
                count += sum(len(append.rows) for append in more)
            self._store(batch)
            self._answer(batch)
            if closing:
                return

    def _store(self, batch: list[_Append]) -> None:
        try:
            self._recorder.insert_events([row for append in batch for row in append.rows])
        except Exception as exc:  # Whatever it is, every append gets its own answer.
            self._store_each(batch, exc)

    def _store_each(self, batch: list[_Append], batch_error: Exception) -> None:
        """Find out for each append of a batch that failed what becomes of it."""
        deadline = time.monotonic() + self._retry_s
        for place, append in enumerate(batch, start=1):
            if len(batch) > 1 and isinstance(batch_error, IntegrityError):
                self._store_alone(append, deadline)
            else:
                self._settle(append, batch_error, deadline)
            cause = append.error.__cause__ if append.error else None
            if cause is not None and _may_pass(cause):  # It was tried long enough: not for each again.
                for other in batch[place:]:
                    other.error = _store_error(cause)
                return

    def _store_alone(self, append: _Append, deadline: float) -> None:
        try:
            self._recorder.insert_events(append.rows)
        except Exception as exc:  # As above.
            self._settle(append, exc, deadline)

    def _settle(self, append: _Append, error: Exception, deadline: float) -> None:
        """Find out what became of a failed append, and try again while that can help."""
        if isinstance(error, IntegrityError):
            append.error = self._conflict(append)
            return
        pause = _PAUSE_FIRST_S
        while True:
            try:
                if self._stored(append):
                    return
                if isinstance(error, IntegrityError):
                    append.error = self._conflict(append)
                    return
                self._recorder.insert_events(append.rows)
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
                self._waiting.pop(loop, None)

    def _resolve(self, loop: asyncio.AbstractEventLoop, appends: list[_Append]) -> None:
        if self._waiting[loop] == len(appends) >= HALVED_FROM:
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

    def _conflict(self, append: _Append) -> VersionConflict:
        """Name the run that has moved: the only one, or the first of several."""
        for part in append.parts[:-1]:
            version = self._recorder.select_events(part.run_id, gt=part.expected_version, limit=1)
            if version:
                return VersionConflict(part.run_id, part.expected_version)
        last = append.parts[-1]
        return VersionConflict(last.run_id, last.expected_version)

    def _stored(self, append: _Append) -> bool:
        """Tell whether exactly these rows stand in the store."""
        return all(self._stands(part) for part in append.parts)

    def _stands(self, part: Part) -> bool:
        first, last = part.expected_version, part.expected_version + len(part.rows)
        found = self._recorder.select_events(part.run_id, gt=first, lte=last)
        return [(row.originator_version, row.topic, row.state) for row in found] == [
            (row.originator_version, row.topic, row.state) for row in part.rows
        ]


def _may_pass(error: BaseException) -> bool:
    """Whether trying again can help: a lost connection or a lock can pass, a full disk can't."""
    hopeless = any(word in str(error) for word in ("full", "readonly"))
    return isinstance(error, (OperationalError, InterfaceError)) and not hopeless


def _store_error(error: BaseException) -> StoreError:
    wrapped = StoreError(f"the store could not append: {str(error).strip() or type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped
