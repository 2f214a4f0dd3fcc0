"""Text for a view's cell: one short line that says nothing to a terminal."""

from datetime import UTC, datetime
from typing import Final

CHARACTERS_MAX: Final = 200


def plain(text: str, characters_max: int = CHARACTERS_MAX) -> str:
    """Return the text on one line, what doesn't print as U+FFFD, cut with a `…` where it is too long."""
    if len(text) > characters_max:
        text = f"{text[: characters_max - 1]}…"
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else " " if character.isspace() else "\ufffd"
        for character in text
    )


def time_text(moment: datetime) -> str:
    """Return a time as text that sorts: UTC, always six decimals, as in 2026-12-01T12:00:00.000000Z."""
    text = moment.isoformat("T", "microseconds")
    if text.endswith("+00:00"):
        return f"{text[:-6]}Z"
    try:
        return time_text(moment.astimezone(UTC))
    except OverflowError:  # Within a day of the years 1 or 9999, so that UTC has no year for it.
        return text
