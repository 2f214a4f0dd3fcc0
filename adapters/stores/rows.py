"""Rows as they come from a database, before anything is made of them: what reading in bulk needs."""

from typing import Protocol
from uuid import UUID

RunRow = tuple[int, str, bytes]
LogRow = tuple[UUID, int, str, bytes, int]


class RowReader(Protocol):
    """What a recorder offers beside the library's own methods, which make an object of every row."""

    def run_rows(self, run_id: UUID | str, after: int = 0, up_to: int | None = None) -> list[RunRow]:
        """Return (version, topic, state) of a run, in order of version."""
        ...

    def log_rows(self, first: int, limit: int, last: int | None = None) -> list[LogRow]:
        """Return (run id, version, topic, state, position), in order of position."""
        ...
