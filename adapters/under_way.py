"""The runs that this process is driving, so that one which is cancelled here stops at once."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from tachograph.domain.errors import RunTakenOver


class _Driving:
    """A task that drives a run, and whether it was told to stop."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "a run is driven by a task"
        self._task = task
        self._loop = asyncio.get_running_loop()
        self.told = False
        self.over = False

    def stop(self) -> None:
        """Let the task stop; from any thread."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if not self.over:
            self.told = True
            self._task.cancel()

    def is_cancelled_by_stop_alone(self) -> bool:
        return self.told and self._task.uncancel() == 0


_under_way: Final[dict[UUID, _Driving]] = {}


@contextmanager
def under_way(run_id: UUID) -> Iterator[None]:
    """
    Let this task be stopped by `stop` while the block lasts.

    Raises:
        RunTakenOver: It was.
    """
    driving = _under_way[run_id] = _Driving()
    try:
        yield
    except asyncio.CancelledError as exc:
        if driving.is_cancelled_by_stop_alone():
            raise RunTakenOver(run_id) from exc
        raise
    finally:
        driving.over = True
        if _under_way.get(run_id) is driving:
            del _under_way[run_id]


def stop(run_id: UUID) -> None:
    """Stop what this process does for a run, if it does anything."""
    driving = _under_way.get(run_id)
    if driving is not None:
        driving.stop()
