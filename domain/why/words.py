"""
Words of a text: their places, and a form in which two spellings of a word are equal.

A word is a run of letters, digits, underscores, combining marks and invisible joiners; a Chinese, Japanese
or Korean character is a word of its own, since nothing stands between the words there.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

EAST: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_INVISIBLE: Final = "\xad\u200b-\u200d\u2060\ufeff"
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
_WORD: Final = re.compile(rf"[{EAST}]|(?:(?![{EAST}])[\w\u0300-\u036f{_INVISIBLE}])+")
_JOINERS: Final = re.compile(f"[{_INVISIBLE}]")
_FIELD_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")

# Words of field names that say nothing about what the field holds.
_EMPTY: Final = frozenset(
    {"id", "ids", "name", "value", "values", "the", "of", "new", "old", "data", "result", "item", "type"}
)


class Word(NamedTuple):
    """A word of a text: its place, and its form for comparing."""

    start: int
    end: int
    form: str


def form(text: str) -> str:
    """Return a text in the form in which spellings are compared: NFKC, case folded, nothing invisible."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", _JOINERS.sub("", text)).casefold()


def word_forms(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each word of a text begins, and its form: what an index needs, quicker than `words`."""
    if text.isascii():
        for found in _ASCII_WORD.finditer(text.lower()):
            yield found.start(), found[0]
    else:
        for word in words(text):
            yield word.start, word.form


def words(text: str, start: int = 0, end: int | None = None) -> Iterator[Word]:
    """Yield the words of a text, or of a part of it."""
    pattern = _ASCII_WORD if text.isascii() else _WORD
    for found in pattern.finditer(text, start, len(text) if end is None else end):
        word = form(found[0])
        if word:  # Nothing is left of invisible characters alone.
            yield Word(found.start(), found.end(), word)


@lru_cache(maxsize=4096)
def field_words(name: str) -> frozenset[str]:
    """Return the words of a field's name that say what it holds: `unitPrices` gives unit and price."""
    found = (word.lower() for word in _FIELD_WORD.findall(name[:200]))
    return frozenset(_singular(word) for word in found if word not in _EMPTY)


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
