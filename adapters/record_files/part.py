"""
One part of an export as it is written: under other names until it is whole, then in its place for good.

Where a part ends depends on the record alone, so that the same export gives the same files.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from tachograph.adapters.record_files.manifest import File, Part
from tachograph.adapters.record_files.reading import Placed
from tachograph.adapters.syncing import sync

BYTES_MAX: Final = 256_000_000
FILES_MAX: Final = 24


class Written(Protocol):
    """The files of a part, in some format."""

    def write(self, placed: Placed) -> None:
        """Add an event."""
        ...

    def __len__(self) -> int:
        """Return how many files there are so far."""
        ...

    def files(self) -> dict[Path, tuple[str, int]]:
        """Return each file with the place where it belongs, `{}` for the range, and its number of events."""
        ...

    def finish(self) -> None:
        """Write what is still in memory, and close the files."""
        ...

    def abandon(self) -> None:
        """Close the files as they are."""
        ...


class OpenPart:
    """
    A part that events are still added to.

    Args:
        after: The position before its first event.
    """

    def __init__(self, folder: Path, after: int, written: Written) -> None:
        self._folder = folder
        self._after = after
        self._written = written
        self._events = self._bytes = self._unreadable = 0

    @property
    def is_full(self) -> bool:
        """Whether the next event belongs into the next part."""
        return self._bytes >= BYTES_MAX or len(self._written) >= FILES_MAX

    def write(self, placed: Placed) -> None:
        """Add an event."""
        self._written.write(placed)
        self._events += 1
        self._bytes += len(placed.json or "")
        self._unreadable += placed.json is None

    def seal(self, position: int) -> Part:
        """Put the files in their places, durably, and return what the manifest says of them."""
        self._written.finish()
        span = f"{self._after + 1:012}-{position:012}"
        files = [
            _placed(self._folder, partial, place.format(span), events)
            for partial, (place, events) in self._written.files().items()
        ]
        for folder in {self._folder, *((self._folder / file.name).parent for file in files)}:
            sync(folder)
        return Part(position=position, events=self._events, unreadable=self._unreadable, files=tuple(files))

    def abandon(self) -> None:
        """Let go of a part that won't be whole."""
        with suppress(OSError):
            self._written.abandon()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _placed(folder: Path, partial: Path, name: str, events: int) -> File:
    sync(partial)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    os.replace(partial, path)
    return File(name=name, events=events, bytes=path.stat().st_size, sha256=digest_of(path))
