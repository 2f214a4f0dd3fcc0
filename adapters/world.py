"""The clock and the ids of the real world."""

import os
import secrets
import socket
import time
from datetime import UTC, datetime
from uuid import UUID


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class SystemIds:
    """Ids that no other process gives out."""

    def run_id(self) -> UUID:
        """Return a UUID of version 7: its order is that of its time. Source: RFC 9562, 5.7."""
        value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
        value = value & ~(0xF << 76) | 0x7 << 76
        value = value & ~(0x3 << 62) | 0x2 << 62
        return UUID(int=value)

    def owner(self) -> str:
        """Return host, process and a random part, as in `host:1234:9f86d081`."""
        return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
