"""Whether an open run is still worked on, as far as can be seen from here."""

import os
import socket
from datetime import UTC, datetime, timedelta
from typing import Final

SILENT_AFTER: Final = timedelta(minutes=15)


def open_status(owner: str, last_recorded_at: datetime, now: datetime | None = None) -> str:
    """
    Return `open`, or `interrupted` when nobody seems to work on the run any more.

    That is so when its owner was a process of this host that is gone, or when nothing was recorded for
    SILENT_AFTER. Why a process ended can't be seen, so nobody is named for it.

    Args:
        owner: Host, process id and something unique, as in `host:1234:9f86d081`.
    """
    silent = (now or datetime.now(UTC)) - last_recorded_at > SILENT_AFTER
    return "interrupted" if silent or _gone(owner) else "open"


def _gone(owner: str) -> bool:
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    return host == socket.gethostname() and rest.isdecimal() and not _alive(int(rest))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
