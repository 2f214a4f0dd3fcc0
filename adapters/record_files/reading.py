"""The log as an export reads it: in order, some megabytes at a time, each event with whose it is."""

from collections.abc import Iterator
from typing import Final, NamedTuple
from uuid import UUID

from tachograph.domain.codec import encode
from tachograph.domain.events import Entry, Recorded
from tachograph.domain.ports import EventStore
from tachograph.projections.whose import NOBODYS, Whose, whose

EVENTS_AT_ONCE_MAX: Final = 1_000
BYTES_AT_ONCE: Final = 16_000_000
RUNS_KNOWN_MAX: Final = 10_000
_EVENTS_AT_FIRST: Final = 50


class Placed(NamedTuple):
    """An event, whose it is, and its fields as JSON text; None: it can't be read."""

    entry: Entry
    whose: Whose
    json: str | None


class LogReader:
    """Reads a store's log between two positions."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._known: dict[UUID, Whose] = {}

    def between(self, after: int, goal: int) -> Iterator[Placed]:
        """
        Yield the events past one position and up to another.

        Raises:
            StoreError: The store failed.
        """
        limit = _EVENTS_AT_FIRST
        while after < goal:
            entries = self._store.read_log(after=after, limit=limit)
            if not entries:
                return
            size = 1
            for entry in entries:
                if entry.position > goal:
                    return
                text = encode(entry.event).decode() if isinstance(entry, Recorded) else None
                size += len(text or "")
                yield Placed(entry, self._whose(entry), text)
            after = entries[-1].position
            limit = max(1, min(EVENTS_AT_ONCE_MAX, 2 * limit, limit * BYTES_AT_ONCE // size))

    def _whose(self, entry: Entry) -> Whose:
        known = self._known.get(entry.run_id)
        if known is None:
            if len(self._known) >= RUNS_KNOWN_MAX:
                del self._known[next(iter(self._known))]
            known = self._known[entry.run_id] = self._read_whose(entry)
        return known

    def _read_whose(self, entry: Entry) -> Whose:
        first = entry if entry.version == 1 else next(iter(self._store.read(entry.run_id, up_to=1)), None)
        return whose(first.event) if isinstance(first, Recorded) else NOBODYS
