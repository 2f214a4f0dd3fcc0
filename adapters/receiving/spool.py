"""
A folder in which received spans wait until their trace is complete: a file a trace, a span a line.

What `add` has taken is on the disk when it returns, and a spool that is opened again goes on with it. A
line that a crash cut off was never acknowledged, and goes. A file that is being imported is called
`.taken`: spans that come later begin a new one. One that can't be imported is kept as `.rejected`.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tachograph.adapters.importers.otlp import spans_of
from tachograph.adapters.receiving.requests import ReceivedSpan
from tachograph.adapters.syncing import sync
from tachograph.domain.errors import ImportRejected, TachographError

SPANS_MAX: Final = 10_000  # of a trace
BYTES_MAX: Final = 100_000_000  # of a trace
TRACES_MAX: Final = 10_000  # that are not complete

_OPEN: Final = ".jsonl"
_TAKEN: Final = ".taken"
_REJECTED: Final = ".rejected"


class SpoolFull(TachographError):
    """Too many traces are open, or the disk is full: what came is not taken, and can be sent again."""


class SpoolUnusable(TachographError):
    """The folder can't be made, read or written."""


@dataclass(slots=True)
class _Trace:
    """An open trace. `last_at`: when something of it came, by the clock of the caller."""

    spans: int
    size: int
    root_ended: bool
    last_at: float


class Spool:
    """
    The folder, for one process.

    Args:
        now: Seconds of a clock that only goes forward.
    Raises:
        SpoolUnusable: It can't be read or written.
    """

    def __init__(self, folder: Path, now: float) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._closed = False
        self._open: dict[str, _Trace] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob(f"*{_OPEN}")):
                self._open[path.stem] = _opened_again(path, now)
        except (OSError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else str(exc)
            raise SpoolUnusable(f"the spool {folder} can't be used: {why}") from exc

    @property
    def open_traces(self) -> int:
        """How many traces are not complete."""
        return len(self._open)

    def add(self, traces: Mapping[str, Sequence[ReceivedSpan]], now: float) -> int:
        """
        Keep the spans of each trace, and return how many of them are too many for theirs.

        Raises:
            SpoolFull: Not all of them are kept; those that are do no harm when they are sent again.
        """
        refused = 0
        with self._lock:
            if self._closed:
                raise SpoolFull("the receiver is ending")
            if len(self._open.keys() | traces.keys()) > TRACES_MAX:
                raise SpoolFull(f"more than {TRACES_MAX} traces are open")
            for trace_id, spans in traces.items():
                trace = self._open.get(trace_id) or _Trace(0, 0, False, now)
                taken, size = 0, trace.size
                for span in spans:
                    if trace.spans + taken >= SPANS_MAX or size + len(span.line) > BYTES_MAX:
                        break
                    taken, size = taken + 1, size + len(span.line)
                refused += len(spans) - taken
                if taken:
                    self._write(trace_id, trace, spans[:taken])
                    trace.last_at = now
                    self._open[trace_id] = trace
        return refused

    def take(self, now: float, quiet_s: float) -> list[Path]:
        """
        Take what can be imported, and return its files: the traces whose root has ended and of which
        nothing came for some seconds, and what was taken before and is not done.
        """
        with self._lock:
            for trace_id, trace in list(self._open.items()):
                if trace.root_ended and now - trace.last_at >= quiet_s:
                    self._take(trace_id)
            return sorted(self._folder.glob(f"*{_TAKEN}"))

    def close(self) -> list[Path]:
        """Take nothing more, and return the files of all that is there."""
        with self._lock:
            self._closed = True
            for trace_id in list(self._open):
                self._take(trace_id)
            return [*sorted(self._folder.glob(f"*{_TAKEN}")), *sorted(self._folder.glob(f"*{_OPEN}"))]

    def done(self, path: Path) -> None:
        """Let go of a file that was imported."""
        path.unlink()

    def reject(self, path: Path) -> Path:
        """Keep a file that can't be imported, and return its new path."""
        number = 1
        while (kept := path.with_name(f"{path.stem}.{number}{_REJECTED}")).exists():
            number += 1
        path.rename(kept)
        return kept

    def _take(self, trace_id: str) -> None:
        path = self._folder / f"{trace_id}{_OPEN}"
        taken = path.with_suffix(_TAKEN)
        if not taken.exists():
            path.rename(taken)
            del self._open[trace_id]

    def _write(self, trace_id: str, trace: _Trace, spans: Sequence[ReceivedSpan]) -> None:
        path = self._folder / f"{trace_id}{_OPEN}"
        data = b"".join(span.line for span in spans)
        try:
            with open(path, "ab") as file:
                try:
                    file.truncate(trace.size)  # Of a write before that failed and could not be undone.
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    _undo(path, trace)
                    raise
            if not trace.spans:
                sync(self._folder)
        except OSError as exc:
            raise SpoolFull(f"the spool can't be written: {exc.strerror}") from exc
        trace.spans += len(spans)
        trace.size += len(data)
        trace.root_ended = trace.root_ended or any(span.is_root for span in spans)


def _undo(path: Path, trace: _Trace) -> None:
    """Leave of a write that failed nothing, so that what was there before can still be read."""
    if trace.spans:
        os.truncate(path, trace.size)
    else:
        path.unlink()


def _opened_again(path: Path, now: float) -> _Trace:
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    try:
        roots = any(span.parent_id is None for span in spans_of(str(path), whole))
    except ImportRejected:
        roots = True  # So that it is taken, told and set aside like any other that can't be imported.
    return _Trace(whole.count(b"\n"), len(whole), roots, now)
