"""
Rows as they come from a database, before anything is made of them.

Reading in bulk takes them as they are; the library's own methods, which make an object of every row,
are put on top of them here, once for all databases.
"""

from abc import abstractmethod
from collections.abc import Sequence
from uuid import UUID

from eventsourcing.persistence import ApplicationRecorder, Notification, StoredEvent

RunRow = tuple[int, str, bytes]
LogRow = tuple[UUID, int, str, bytes, int]


class RowRecorder(ApplicationRecorder):
    """A recorder that can give its rows as they are."""

    @abstractmethod
    def run_rows(self, run_id: UUID | str, after: int = 0, up_to: int | None = None) -> list[RunRow]:
        """Return (version, topic, state) of a run, in order of version."""

    @abstractmethod
    def log_rows(self, first: int, limit: int, last: int | None = None) -> list[LogRow]:
        """Return (run id, version, topic, state, position), in order of position."""

    def has_version(self, run_id: UUID | str, version: int) -> bool:
        """Tell whether a run has an event of this version."""
        return bool(self.run_rows(run_id, version - 1, version))

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return a run's rows in order of version."""
        rows = self.run_rows(originator_id, gt or 0, lte)
        return [StoredEvent(originator_id, *row) for row in (reversed(rows) if desc else rows)][:limit]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return rows of the whole log in order of position. `topics` is not supported."""
        assert not topics, "the log is read whole"
        first = (start or 0) + (0 if inclusive_of_start else 1)
        return [Notification(*row) for row in self.log_rows(first, limit, stop)]
