"""Import a file of recorded conversations into a store."""

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final
from uuid import UUID

from tachograph.adapters.importers import openinference, otel, tau2, tau_bench
from tachograph.adapters.importers.conversation import Conversation
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.codec import encode
from tachograph.domain.errors import ImportRejected, VersionConflict
from tachograph.domain.events import Event, Recorded
from tachograph.domain.ports import EventStore

FILE_SIZE_MAX: Final = 250_000_000
IN_FLIGHT_MAX: Final = 256

Parser = Callable[[str, bytes], list[Conversation]]
Progress = Callable[[int, int], None]

FORMATS: Final[Mapping[str, Parser]] = MappingProxyType(
    {
        tau_bench.FORMAT: tau_bench.parse,
        tau2.FORMAT: tau2.parse,
        otel.FORMAT: otel.parse,
        openinference.FORMAT: openinference.parse,
    }
)


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did. `digest`: SHA-256 of the file, in hexadecimal."""

    digest: str
    conversations: int
    runs_added: int
    runs_already_there: int
    events_added: int


async def import_file(
    store: EventStore,
    format_name: str,
    path: str | os.PathLike[str],
    progress: Progress | None = None,
) -> ImportSummary:
    """
    Append every run of a file to the store, each whole; runs that are there already stay as they are.

    The file is read and checked as a whole before anything is stored. An import that was cut short
    can simply be repeated.

    Args:
        progress: Called with the conversations done and the conversations in all.
    Raises:
        ImportRejected: The format is unknown, the file can't be read or breaks the format, or the
            store holds one of its runs with other events.
        StoreError: The store failed; the runs before that are in it.
    """
    file = os.fspath(path)
    if format_name not in FORMATS:
        raise ImportRejected(f"no format {format_name[:50]!r}; formats: {', '.join(FORMATS)}")
    data = await asyncio.to_thread(_read, file)
    conversations = await asyncio.to_thread(FORMATS[format_name], file, data)
    digest = hashlib.sha256(data).hexdigest()
    del data
    runs_added = runs_there = events_added = 0
    runs = _runs(conversations)
    while chunk := list(islice(runs, IN_FLIGHT_MAX)):
        appended = await asyncio.gather(
            *(_append(store, file, run_id, events) for _, run_id, events in chunk), return_exceptions=True
        )
        for (_, _, events), added in zip(chunk, appended, strict=True):
            if isinstance(added, BaseException):
                raise added
            runs_added += added
            runs_there += not added
            events_added += len(events) if added else 0
        if progress:
            progress(chunk[-1][0], len(conversations))
    return ImportSummary(digest, len(conversations), runs_added, runs_there, events_added)


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            data = stream.read(FILE_SIZE_MAX + 1)
    except (OSError, ValueError) as exc:
        why = (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
        raise ImportRejected(f"{file}: can't be read: {why}") from exc
    if len(data) > FILE_SIZE_MAX:
        raise ImportRejected(f"{file}: more than {FILE_SIZE_MAX} bytes; import it in parts")
    return data


def _runs(conversations: list[Conversation]) -> Iterator[tuple[int, UUID, list[Event]]]:
    """Yield each run with the number of conversations that are complete with it."""
    for done, conversation in enumerate(conversations):
        runs = to_events(conversation)
        for place, (run_id, events) in enumerate(runs, start=1):
            yield done + (place == len(runs)), run_id, events


async def _append(store: EventStore, file: str, run_id: UUID, events: list[Event]) -> bool:
    """Append a new run and return True; return False if the store holds this very run."""
    try:
        await store.append(run_id, events, expected_version=0)
    except VersionConflict as conflict:
        stored = [
            (entry.event.kind, encode(entry.event)) if isinstance(entry, Recorded) else None
            for entry in store.read(run_id)
        ]
        if stored != [(event.kind, encode(event)) for event in events]:
            raise ImportRejected(
                f"{file}: run {run_id} is in the store already, with other events; it was left as it is"
            ) from conflict
        return False
    return True
