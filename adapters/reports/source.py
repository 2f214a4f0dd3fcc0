"""What reports are made from: facts as they stood at a position, and people's words from the record."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tachograph.adapters.read_side import ReadSide
from tachograph.adapters.read_side.as_of import Span
from tachograph.domain.events import Event, Recorded
from tachograph.domain.ports import EventStore


@dataclass(frozen=True)
class Source:
    """
    A store as it stood at a position.

    Names, reasons and arguments can be personal, so no view has them. They are read from the record when a
    report is made; what was erased there is missing here.
    """

    store: EventStore
    side: ReadSide
    span: Span
    recorded_at: str | None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query: see `read_side.as_of`."""
        return self.side.facts(query, self.span)

    def events(self, run_id: str, up_to: int) -> Iterator[tuple[int, Event]]:
        """Yield a run's or an approval's readable events up to a version, each with its version."""
        for entry in self.store.read(UUID(run_id), up_to=up_to):
            if isinstance(entry, Recorded):
                yield entry.version, entry.event
