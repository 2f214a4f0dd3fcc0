"""
Runs in memory: for tests and for looking around. Gone with the process.

Also the shortest sample of the EventStore port. It keeps stored bytes, not objects, so that what
can't be stored elsewhere can't be stored here.
"""

import threading
from collections.abc import Sequence
from uuid import UUID

from tachograph.adapters.stores.append_log import logged
from tachograph.adapters.stores.mapper import entry_from, stored_bytes
from tachograph.domain.errors import VersionConflict
from tachograph.domain.events import Entry, Event
from tachograph.domain.ports import Append


class MemoryEventStore:
    """All runs in one list, in the order in which they were appended."""

    def __init__(self) -> None:
        self._log: list[tuple[UUID, int, str, bytes]] = []
        self._runs: dict[UUID, list[int]] = {}
        self._lock = threading.Lock()

    async def append(self, run_id: UUID, events: Sequence[Event], *, expected_version: int) -> int:
        """Add events to a run; see the port."""
        await self.append_together([Append(run_id, events, expected_version)])
        return expected_version + len(events)

    @logged
    async def append_together(self, appends: Sequence[Append]) -> None:
        """Add events to several runs, all or none; see the port."""
        rows = [
            (run_id, version, event.kind, stored_bytes(event))
            for run_id, events, expected_version in appends
            for version, event in enumerate(events, start=expected_version + 1)
        ]
        with self._lock:
            for run_id, events, expected_version in appends:
                if events and len(self._runs.get(run_id, ())) != expected_version:
                    raise VersionConflict(run_id, expected_version)
            for row in rows:
                self._runs.setdefault(row[0], []).append(len(self._log))
                self._log.append(row)

    def read(self, run_id: UUID, *, up_to: int | None = None) -> list[Entry]:
        """Return a run's events in order; see the port."""
        places = self._runs.get(run_id, [])
        last = len(places) if up_to is None else max(up_to, 0)
        return [self._entry(place) for place in places[:last]]

    def read_log(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return events of all runs in order; see the port."""
        first = max(after, 0)
        return [self._entry(place, place + 1) for place in range(first, min(first + limit, len(self._log)))]

    def head(self) -> int:
        """Return the position of the last event."""
        return len(self._log)

    def close(self) -> None:
        """Do nothing: what is stored goes with the object."""

    def _entry(self, place: int, position: int = 0) -> Entry:
        run_id, version, kind, stored = self._log[place]
        return entry_from(run_id, version, kind, stored, position)
