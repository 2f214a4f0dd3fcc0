"""What an open run is waiting for, as far as can be seen from here."""

import socket
from datetime import UTC, datetime
from typing import Final

from tachograph.adapters.ownership import SILENT_AFTER, alive, host_and_process
from tachograph.domain.origins import ASIDE, QUEUE

_NOBODY: Final = {QUEUE: "queued", ASIDE: "set_aside"}


def open_status(owner: str, last_recorded_at: datetime, now: datetime | None = None) -> str:
    """
    Return `open`; `queued` or `set_aside`; or `interrupted` when nobody seems to work on the run any more.

    That is so when its owner was a process of this host that is gone, or when nothing was recorded for
    SILENT_AFTER. Why a process ended can't be seen, so nobody is named for it.

    Args:
        owner: Host, process id and something unique, as in `host:1234:9f86d081`, or the queue.
    """
    if owner in _NOBODY:
        return _NOBODY[owner]
    silent = (now or datetime.now(UTC)) - last_recorded_at > SILENT_AFTER
    host, process = host_and_process(owner)
    gone = host == socket.gethostname() and process is not None and not alive(process)
    return "interrupted" if silent or gone else "open"
