"""
Text from outside, made fit to be shown: what a terminal would obey, or an eye would miss, is spelled out.

Customer text, model text and tool output are hostile. Control characters (C0, C1, with them every escape
and OSC sequence), bidi controls, zero-width and other invisible characters, line and paragraph
separators, the BOM, tags, private-use and unassigned code points and lone surrogates are shown as \\xNN,
\\uNNNN or \\UNNNNNNNN. A line feed starts a new line only where a block is meant. What is shown so is not
exact (a backslash stays one backslash); `--json` is.
"""

import re
import unicodedata
from typing import Final

_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Characters that Unicode counts as letters, marks or symbols and that show as nothing.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)
_EMOJI_STYLE: Final = "\ufe0f"
_EMOJI: Final = re.compile("[\u2190-\u2bff\u3030-\u3299\U0001f000-\U0001faff]")


def visible(text: str, *, block: bool = False) -> str:
    """
    Return the text with everything spelled out that isn't plainly visible.

    Args:
        block: Whether a line feed, alone or after a carriage return, starts a new line.
    """
    if not block:
        return _line(text)
    return "\n".join(_line(line) for line in text.replace("\r\n", "\n").split("\n"))


def _line(text: str) -> str:
    if text.isprintable() and (text.isascii() or not _INVISIBLE.search(text)):
        return text
    shown: list[str] = []
    before = ""
    for character in text:
        shown.append(character if _plain(character, before) else _spelled(character))
        before = character
    return "".join(shown)


def _plain(character: str, before: str) -> bool:
    if _INVISIBLE.match(character):
        return character == _EMOJI_STYLE and bool(_EMOJI.match(before))
    return character.isprintable() or unicodedata.category(character) not in _REFUSED


def _spelled(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
