"""Text that can be stored: lone surrogates, which UTF-8 can't hold, are replaced and said so."""

import re

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(field: str, text: str) -> tuple[str, list[str]]:
    """
    Replace each lone surrogate by U+FFFD.

    Returns:
        The text, and one note a replacement, such as "text: U+D83D at 3 replaced", from which the
        text as it was can be put together again.
    """
    if text.isascii() or not _LONE_SURROGATE.search(text):
        return text, []
    notes = [
        f"{field}: U+{ord(found[0]):04X} at {found.start()} replaced"
        for found in _LONE_SURROGATE.finditer(text)
    ]
    return _LONE_SURROGATE.sub("\ufffd", text), notes


def clipped(text: str, characters_max: int) -> str:
    """Return the text, cut at `characters_max` with a note of what is missing."""
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]}\n[cut: {len(text)} characters, the first {characters_max} shown]"
