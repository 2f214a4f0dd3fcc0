"""
The manifest of an export: which files there are, what each holds, and how far they go.

One JSON object a line, only ever added to, each line durable before the next part begins:

    {"export": 1, "format", "columns", "tenant", "after", "begins"}   `begins`: digest of the first event
    {"goal": POSITION}                                                an export up to there has begun
    {"position", "events", "unreadable",                              a part is whole
     "files": [{"name", "events", "bytes", "sha256"}]}

A line that a kill has cut off is dropped, and its part is written again, the same.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tachograph.domain.errors import ExportRefused
from tachograph.domain.text import clipped

MANIFEST: Final = "_manifest.jsonl"  # Spark passes over names that begin so.
LINE_MAX: Final = 1_000_000
_NAME: Final = re.compile(r"(month=(\d{4}-\d\d|unknown)/)?events-\d{12,19}-\d{12,19}\.[a-z]{3,7}\Z", re.ASCII)


def _check_name(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError("not a name of an exported file")
    return name


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Header(_Line):
    """What an export is of: the same in each run of it. `tenant`: None, of all of them."""

    export: int = Field(default=1, ge=1, le=1)
    format: str
    columns: int
    tenant: str | None
    after: int = Field(ge=0)
    begins: str


class Goal(_Line):
    """An export up to a position has begun."""

    goal: int = Field(ge=0)


class File(_Line):
    """One file of a part. `name`: relative to the folder."""

    name: Annotated[str, AfterValidator(_check_name)]
    events: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str


class Part(_Line):
    """A part that is whole: everything after the part before, up to a position."""

    position: int = Field(ge=0)
    events: int = Field(ge=0)
    unreadable: int = Field(ge=0)
    files: tuple[File, ...]


Line = Header | Goal | Part


class Manifest:
    """
    A manifest that nobody else writes to.

    Args:
        header: None while nothing was exported.
        position: How far the parts go.
        goal: How far the export that has begun goes; `position` when it has come there.
    """

    def __init__(self, folder: Path, stream: IO[bytes]) -> None:
        self.folder = folder
        self._stream = stream
        self.header: Header | None = None
        self.position = self.goal = self.events = self.files = 0
        whole = 0
        for line, end in _lines(folder, stream):
            whole = end
            self._take(line)
        stream.truncate(whole)
        stream.seek(whole)

    def add(self, line: Line) -> None:
        """Add a line, durably."""
        self._stream.write(line.model_dump_json().encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._take(line)

    def _take(self, line: Line) -> None:
        if isinstance(line, Header) == (self.header is not None):
            raise ExportRefused(f"{self.folder / MANIFEST}: a header where none should be, or none")
        if isinstance(line, Header):
            self.header = line
            self.position = self.goal = line.after
        elif isinstance(line, Goal):
            self.goal = line.goal
        else:
            self.position = line.position
            self.events += line.events
            self.files += len(line.files)


@contextmanager
def opened(folder: Path) -> Iterator[Manifest]:
    """
    Open the manifest of a folder, which is made if it isn't there, for this process alone.

    Raises:
        ExportRefused: The folder holds something else, or another process exports into it.
        OSError: It can't be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / MANIFEST
    if not path.exists() and any(folder.iterdir()):
        raise ExportRefused(f"{folder} is not empty, and is no export: name another folder")
    with path.open("a+b") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise ExportRefused(f"another process exports into {folder}") from exc
        _remove_partial(folder)
        stream.seek(0)
        try:
            yield Manifest(folder, stream)
        finally:
            _remove_partial(folder)


def partial_name(after: int) -> str:
    """Return the name of a file that isn't whole yet: of this process, so that no other one moves it."""
    return f".partial-{os.getpid()}-{after}"


def _remove_partial(folder: Path) -> None:
    for left in folder.glob(".partial-*"):
        left.unlink(missing_ok=True)


def parts(folder: Path) -> Iterator[Part]:
    """
    Yield the parts that a folder's manifest has.

    Raises:
        ExportRefused: It has none, or one that can't be read.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ExportRefused(f"{folder} is no export: it has no {MANIFEST}")
    with path.open("rb") as stream:
        for line, _ in _lines(folder, stream):
            if isinstance(line, Part):
                yield line


def header(folder: Path) -> Header:
    """Return the header of a folder's manifest. Raises ExportRefused: As `parts`."""
    path = folder / MANIFEST
    if path.is_file():
        with path.open("rb") as stream:
            for line, _ in _lines(folder, stream):
                if isinstance(line, Header):
                    return line
    raise ExportRefused(f"{folder} is no export: it has no {MANIFEST}")


def _lines(folder: Path, stream: IO[bytes]) -> Iterator[tuple[Line, int]]:
    """Yield each whole line with the place where it ends."""
    end = 0
    while (line := stream.readline(LINE_MAX)).endswith(b"\n"):
        end += len(line)
        yield _parsed(folder, line), end
    if len(line) == LINE_MAX:
        raise ExportRefused(f"{folder / MANIFEST}: a line of more than {LINE_MAX} bytes")


def _parsed(folder: Path, line: bytes) -> Line:
    kind: type[Line] = (
        Header if line.startswith(b'{"export"') else Goal if line.startswith(b'{"goal"') else Part
    )
    try:
        return kind.model_validate_json(line)
    except ValidationError as exc:
        what = exc.errors(include_url=False, include_input=False)[0]["msg"]
        raise ExportRefused(f"{folder / MANIFEST}: {clipped(what, 200)}") from exc
