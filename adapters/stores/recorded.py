"""The EventStore port over a recorder of `eventsourcing`, whichever database stands behind it."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, cast
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import EventSourcingError
from eventsourcing.persistence import IntegrityError, Mapper, StoredEvent
from eventsourcing.utils import Environment, EnvType

from tachograph.adapters.collector import collector_paused
from tachograph.adapters.stores.append_log import logged
from tachograph.adapters.stores.group_commit import RETRY_S, GroupCommit, Part
from tachograph.adapters.stores.mapper import EventMapper, entry_from
from tachograph.adapters.stores.rows import RowRecorder
from tachograph.domain.errors import StoreError, VersionConflict
from tachograph.domain.events import Entry, Event, Recorded
from tachograph.domain.ports import Append

NUMBER_MAX: Final = 2**62  # The databases refuse integers from 2**63 on.


class EventLog(Application[UUID]):
    """The library's application, without what it would read from the process's environment."""

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Take settings from the caller alone: CIPHER_KEY in a shell must not change the format."""
        return Environment(name, env)

    def construct_mapper(self) -> Mapper[UUID]:
        """Return our own mapper."""
        return EventMapper(transcoder=self.construct_transcoder())


class RecordedEventStore:
    """
    Runs in a database.

    Args:
        settings: For the library's factory; PERSISTENCE_MODULE names one of this package's.
        retry_s: Seconds for which an append tries again when the database fails.
    Raises:
        StoreError: The database can't be opened.
    """

    def __init__(self, settings: Mapping[str, str], *, retry_s: float = RETRY_S) -> None:
        with _translated("open"):
            self._log = EventLog(dict(settings))
        self._mapper = self._log.mapper
        self._rows = cast(RowRecorder, self._log.recorder)
        self._writer = GroupCommit(self._log.recorder, retry_s)
        self._pid = os.getpid()
        self._closed = False

    async def append(self, run_id: UUID, events: Sequence[Event], *, expected_version: int) -> int:
        """Add events to a run; see the port."""
        await self.append_together([Append(run_id, events, expected_version)])
        return expected_version + len(events)

    @logged
    async def append_together(self, appends: Sequence[Append]) -> None:
        """Add events to several runs, all or none; see the port."""
        self._check_usable()
        parts = self._parts_of(appends)
        if parts:
            try:
                await self._writer.append(parts)
            except asyncio.CancelledError:
                # It can't be taken back: whoever cancelled goes on when its fate is settled.
                with suppress(StoreError):
                    await self._writer.append([])
                raise

    def append_beside(self, appends: Sequence[Append], beside: Callable[[Any], object]) -> None:
        """
        Add events to several runs in one transaction with what `beside` does on its connection.

        For databases whose recorder has `insert_beside`.

        Raises:
            VersionConflict: One is not at its expected version.
            StoreError: It may or may not be stored; both or neither.
        """
        self._check_usable()
        parts = self._parts_of(appends)
        recorder: Any = self._log.recorder
        with _translated("append"):
            try:
                recorder.insert_beside([row for part in parts for row in part.rows], beside)
            except IntegrityError as exc:
                for part in parts:
                    if self._rows.has_version(part.run_id, part.expected_version + 1):
                        raise VersionConflict(part.run_id, part.expected_version) from exc
                raise

    def read(self, run_id: UUID, *, up_to: int | None = None) -> list[Entry]:
        """Return a run's events in order; see the port."""
        self._check_usable()
        last = None if up_to is None else min(up_to, NUMBER_MAX)
        with _translated("read"):
            rows = self._rows.run_rows(run_id, 0, last)
        with collector_paused():
            return [entry_from(run_id, *row) for row in rows]

    def read_log(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return events of all runs in order; see the port."""
        self._check_usable()
        start, count = min(max(after, 0), NUMBER_MAX), min(max(limit, 0), NUMBER_MAX)
        with _translated("read"), collector_paused():
            return [entry_from(*row) for row in self._rows.log_rows(start + 1, count)]

    def head(self) -> int:
        """Return the position of the last event."""
        self._check_usable()
        with _translated("read"):
            return self._log.recorder.max_notification_id() or 0

    def close(self) -> None:
        """Wait for appends under way and let go of connections."""
        if self._pid == os.getpid():
            self._closed = True
            self._writer.close()
            self._log.close()

    @property
    def datastore(self) -> Any:
        """The library's datastore, which read models in the same database share."""
        return self._log.factory.datastore  # type: ignore[attr-defined]  # every factory here has one

    def _parts_of(self, appends: Sequence[Append]) -> list[Part]:
        return [
            Part(run_id, expected_version, self._rows_of(run_id, events, expected_version))
            for run_id, events, expected_version in appends
            if events
        ]

    def _rows_of(self, run_id: UUID, events: Sequence[Event], expected_version: int) -> list[StoredEvent]:
        return [
            self._mapper.to_stored_event(Recorded(run_id, version, event))  # type: ignore[arg-type]  # see EventMapper
            for version, event in enumerate(events, start=expected_version + 1)
        ]

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreError("this store is closed")
        if self._pid != os.getpid():
            raise StoreError("this store was opened before a fork; open it again in the child")


@contextmanager
def _translated(verb: str) -> Iterator[None]:
    try:
        yield
    except EventSourcingError as exc:
        raise StoreError(f"the store could not {verb}: {_first_line(exc)}") from exc


def _first_line(exc: Exception) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__)
