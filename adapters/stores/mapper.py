"""
Between events and rows: the codec's bytes, compressed when that makes them smaller.

A row's state is either the JSON itself, which begins with `{`, or a zlib stream, which never does.
Both are readable without knowing when they were written. Unlike the library's own mapper, this
one resolves no topic: a row that names an unknown kind becomes an Unreadable.
"""

import zlib
from typing import Final
from uuid import UUID

from eventsourcing.persistence import Mapper, StoredEvent

from tachograph.domain.codec import Undecodable, decode, encode
from tachograph.domain.errors import UnknownEvent
from tachograph.domain.events import Entry, Event, Recorded, Unreadable

COMPRESS_FROM: Final = 1024
EXPANDED_MAX: Final = 512_000_000
_LEVEL: Final = 1
# A window of 4 KiB costs a fifth of the time of zlib's default where the text is as short as that.
_SHORT: Final = 16_384
_SHORT_WINDOW: Final = (12, 5)
_LONG_WINDOW: Final = (15, 8)
_HARMLESS: Final = EXPANDED_MAX // 1032  # No zlib stream expands to more than 1,032 times its size.


def stored_bytes(event: Event) -> bytes:
    """Return the bytes that a row holds for an event."""
    plain = encode(event)
    if len(plain) < COMPRESS_FROM:
        return plain
    window_bits, memory_level = _SHORT_WINDOW if len(plain) < _SHORT else _LONG_WINDOW
    pack = zlib.compressobj(_LEVEL, zlib.DEFLATED, window_bits, memory_level)
    packed = pack.compress(plain) + pack.flush()
    return packed if len(packed) < len(plain) else plain


def plain_bytes(stored: bytes) -> bytes:
    """
    Return the codec's bytes of a row.

    Raises:
        Undecodable: Not a zlib stream, or one that expands past EXPANDED_MAX.
    """
    if not isinstance(stored, bytes):  # SQLite keeps what somebody put there, whatever the column says.
        raise Undecodable(f"{type(stored).__name__} where bytes should be")
    if stored[:1] == b"{":
        return stored
    try:
        if len(stored) < _HARMLESS:
            return zlib.decompress(stored)
        expand = zlib.decompressobj()
        plain = expand.decompress(stored, EXPANDED_MAX)
    except zlib.error as exc:
        raise Undecodable(f"neither JSON nor a zlib stream: {exc}") from exc
    if not expand.eof:
        raise Undecodable("a zlib stream that is cut off or expands too far")
    return plain


def entry_from(run_id: UUID, version: int, kind: str, stored: bytes, position: int = 0) -> Entry:
    """Return what a row holds: a Recorded event, or an Unreadable that says why."""
    try:
        return Recorded(run_id, version, decode(kind, plain_bytes(stored)), position)
    except (Undecodable, UnknownEvent) as exc:
        return Unreadable(run_id, version, kind, str(exc), position)


class EventMapper(Mapper[UUID]):
    """The library's mapper seam, over our events at their places."""

    def to_stored_event(self, domain_event: Recorded) -> StoredEvent:  # type: ignore[override]  # events carry their place as Recorded
        """Return the row for an event."""
        event = domain_event.event
        return StoredEvent(domain_event.run_id, domain_event.version, event.kind, stored_bytes(event))

    def to_domain_event(self, stored_event: StoredEvent) -> Entry:  # type: ignore[override]  # the same
        """Return what a row holds."""
        run_id = stored_event.originator_id
        assert isinstance(run_id, UUID)
        return entry_from(
            run_id,
            stored_event.originator_version,
            stored_event.topic,
            stored_event.state,
            getattr(stored_event, "id", 0),
        )
