"""
Heavy reading of a store, spread over the cores of this machine or the workers of a Dask cluster.

What is read is cut into portions, each done by itself in a process that opens the store for itself. Results
come in the order of what was asked for, however they were spread. A portion whose process died is done again.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Final, Generic, Protocol, TypeVar

from tachograph.adapters.stores.opening import open_store
from tachograph.domain.errors import ExtraMissing, StoreError
from tachograph.domain.ports import EventStore

PORTION: Final = 100
ALONE_S: Final = 1.0  # Seconds of work left for which other processes are not worth their start.
TRIES_MAX: Final = 3
_LOST: Final = "a worker process died {} times on one part of the store"

Item = TypeVar("Item")
Result = TypeVar("Result")
Of = TypeVar("Of", contravariant=True)
Progress = Callable[[int, int], None]


class Reading(Protocol[Of, Result]):
    """What is done with a portion. It is sent to other processes, and so are its results."""

    def __call__(self, store: EventStore, portion: Sequence[Of]) -> list[Result]:
        """Return the results of a portion, in its order."""
        ...


@dataclass(frozen=True, slots=True)
class Spread:
    """
    Where it is done.

    Args:
        cores: Processes on this machine; None: as many as this process may use.
        dask: Address of the scheduler of a Dask cluster whose workers can open the store by its URL.
    """

    cores: int | None = None
    dask: str | None = None


def cores_here() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    reading: Reading[Item, Result],
    items: Sequence[Item],
    store: EventStore,
    url: str,
    where: Spread,
    progress: Progress | None = None,
    at_once: int = PORTION,
) -> Iterator[Result]:
    """
    Yield the results of all items, in their order.

    Args:
        url: Of the store.
        at_once: Items in a portion.
        progress: Hears how many items are done, and how many there are.
    Raises:
        ExtraMissing: Dask is asked for and not installed.
        StoreError: The store failed, here or where it was opened by another process.
    """
    portions = [items[start : start + at_once] for start in range(0, len(items), at_once)]
    done = 0
    for portion, results in zip(portions, _results(reading, portions, store, url, where), strict=True):
        done += len(portion)
        if progress is not None:
            progress(done, len(items))
        yield from results


def _results(
    reading: Reading[Item, Result],
    portions: Sequence[Sequence[Item]],
    store: EventStore,
    url: str,
    where: Spread,
) -> Iterator[list[Result]]:
    if where.dask is not None:
        yield from _on_dask(reading, portions, url, where.dask)
        return
    cores = where.cores or cores_here()
    if getattr(store, "datastore", None) is None:  # Nobody else can open what is in memory.
        cores = 1
    began = time.monotonic()
    for place, portion in enumerate(portions):
        if cores > 1 and place and (time.monotonic() - began) / place * (len(portions) - place) > ALONE_S:
            yield from _InProcesses(reading, portions[place:], url, cores).results()
            return
        yield reading(store, portion)


class _InProcesses(Generic[Item, Result]):
    """Portions on a pool of processes, which is made anew when one of them dies."""

    def __init__(
        self, reading: Reading[Item, Result], portions: Sequence[Sequence[Item]], url: str, cores: int
    ) -> None:
        self._reading, self._portions, self._url, self._cores = reading, portions, url, cores
        self._pool = self._new_pool()
        self._waiting: dict[int, Future[list[Result]]] = {}

    def results(self) -> Iterator[list[Result]]:
        lost = 0
        place = 0
        try:
            while place < len(self._portions):
                try:
                    self._fill(place)
                    result = self._waiting[place].result()
                except BrokenProcessPool as exc:
                    lost += 1
                    if lost >= TRIES_MAX:
                        raise StoreError(_LOST.format(lost)) from exc
                    self._begin_anew()
                    continue
                del self._waiting[place]
                lost = 0
                place += 1
                yield result
        finally:
            self._pool.shutdown(cancel_futures=True)

    def _fill(self, place: int) -> None:
        """Keep the processes busy, but hold no more results than a few for each."""
        for ahead in range(place, min(len(self._portions), place + 4 * self._cores)):
            if ahead not in self._waiting:
                portion = self._portions[ahead]
                self._waiting[ahead] = self._pool.submit(done_elsewhere, self._reading, self._url, portion)

    def _begin_anew(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._pool = self._new_pool()
        self._waiting = {
            place: future
            for place, future in self._waiting.items()
            if future.done() and not future.cancelled() and future.exception() is None
        }

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._cores, mp_context=get_context("spawn"))


def _on_dask(
    reading: Reading[Item, Result], portions: Sequence[Sequence[Item]], url: str, address: str
) -> Iterator[list[Result]]:
    try:
        from distributed import Client
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker
    except ImportError as exc:
        raise ExtraMissing("dask") from exc
    try:
        client: Any = Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as exc:
        raise StoreError(f"no Dask scheduler answers at {address}: {exc}") from exc
    futures: list[Any] = []
    try:
        futures = [client.submit(done_elsewhere, reading, url, portion, pure=False) for portion in portions]
        for future in futures:
            try:
                yield future.result()
            except KilledWorker as exc:
                raise StoreError(_LOST.format("several")) from exc
            except FutureCancelledError as exc:
                raise StoreError(f"the Dask cluster at {address} went away") from exc
            future.release()
    finally:
        client.cancel(futures)
        client.close()


_opened: Final[dict[str, EventStore]] = {}  # Of another process: opened once, for all its portions.


def done_elsewhere(reading: Reading[Item, Result], url: str, portion: Sequence[Item]) -> list[Result]:
    """Do a portion in a process that is not the one which asked for it."""
    if url not in _opened:
        _opened[url] = open_store(url, create=False)
    return reading(_opened[url], portion)
