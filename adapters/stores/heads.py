"""
No gaps: an append at version n needs version n - 1 to be there.

Rows never go away, so it is enough to have seen that version once, before the insert and outside of
its transaction. The versions that this process stored itself are remembered, so that most appends
ask the database nothing.
"""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from eventsourcing.persistence import IntegrityError, StoredEvent

RUNS_REMEMBERED_MAX: Final = 20_000


class KnownHeads:
    """
    The highest version known of each run.

    Args:
        exists: Asks the database whether a run has a version.
    """

    def __init__(self, exists: Callable[[UUID | str, int], bool]) -> None:
        self._exists = exists
        self._versions: dict[UUID | str, int] = {}

    def check(self, rows: Sequence[StoredEvent]) -> None:
        """Raise IntegrityError if one of the rows would leave a gap behind it."""
        reached: dict[UUID | str, int] = {}
        for row in rows:
            run_id, before = row.originator_id, row.originator_version - 1
            known = reached.get(run_id) or self._versions.get(run_id, 0)
            if before > known and not self._exists(run_id, before):
                raise IntegrityError(f"{run_id} has no version {before}")
            reached[run_id] = row.originator_version

    def learn(self, rows: Sequence[StoredEvent]) -> None:
        """Remember rows that have been stored."""
        if len(self._versions) > RUNS_REMEMBERED_MAX:
            self._versions.clear()
        for row in rows:
            self._versions[row.originator_id] = row.originator_version
