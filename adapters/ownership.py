"""Whether whoever took a run still works on it, as far as can be seen from here."""

import os
import socket
from datetime import datetime, timedelta
from typing import Final

SILENT_AFTER: Final = timedelta(minutes=15)


def abandoned(owner: str, last_recorded_at: datetime, now: datetime) -> bool:
    """
    Tell whether a run may be taken from its owner without asking.

    That is so when the owner was a process of this host that is gone; of another host's process, when
    nothing was recorded for SILENT_AFTER. A process of this host that lives keeps its run, however silent.
    """
    host, process = host_and_process(owner)
    if host == socket.gethostname() and process is not None:
        return not alive(process)
    return now - last_recorded_at > SILENT_AFTER


def is_this_process(owner: str) -> bool:
    """Tell whether the owner is this very process."""
    return host_and_process(owner) == (socket.gethostname(), os.getpid())


def host_and_process(owner: str) -> tuple[str, int | None]:
    """Return the host and process of an owner named as in `host:1234:9f86d081`; None where it has none."""
    host, _, process = owner.rpartition(":")[0].rpartition(":")
    return host, int(process) if process.isdecimal() else None


def alive(process: int) -> bool:
    """Tell whether this host has such a process."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
