"""Put a report's files where they belong, and hand them to a command."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tachograph.adapters.syncing import sync
from tachograph.adapters.workers.report_schedules import FILES

COMMAND_S_MAX: Final = 600
_STDERR: Final = 2


class FileInTheWay(OSError):
    """Another file has the name; nothing was written over it."""


def put(path: Path, content: bytes) -> None:
    """
    Put a file in its place, whole and durable. The same one there already is fine.

    Raises:
        FileInTheWay: Another file has the name.
        OSError: It could not be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)  # A rename would replace what is there.
        except FileExistsError as exc:
            if not _holds(path, content):
                raise FileInTheWay(f"{path} is there, and is another file") from exc
    finally:
        for left in path.parent.glob(f".{path.name}.*"):  # Also those of processes that were killed.
            left.unlink(missing_ok=True)
    sync(path.parent)


async def call(command: Sequence[str], files: Sequence[Path], timeout_s: float = COMMAND_S_MAX) -> int:
    """
    Call a command with files, without a shell, and return its exit code.

    It reads nothing, and what it prints goes to standard error. With whoever calls it, it ends too.

    Returns:
        Its exit code; of one that a signal ended, minus the signal's number.
    Raises:
        OSError: It can't be started.
        TimeoutError: It took longer, and was ended.
    """
    words = [part for word in command for part in (map(str, files) if word == FILES else [word])]
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=_STDERR, start_new_session=True
    )
    try:
        return await asyncio.wait_for(process.wait(), timeout_s)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
