"""Where the words of a value stand in a text, and whether they are only a piece of something longer."""

import re
from itertools import pairwise
from typing import Final

from tachograph.domain.why.words import Word, words

PREFIX_BEFORE: Final = re.compile(r"(?<![\w-])[A-Za-z]{1,4}-\Z")
_SLACK: Final = 24


def aligned(text: str, at: int, value: str, parts: list[Word], pivot: Word) -> tuple[int, int] | None:
    """Return where all words of a value stand around one of them, None if they don't."""
    first, last = parts[0], parts[-1]
    start = at - (pivot.start - first.start)
    end = start + last.end - first.start
    if start >= 0 and text[start:end] == value[first.start : last.end] and _ends_words(text, start, end):
        return start, end
    lead, follow = pivot.start - first.start, last.end - pivot.start
    from_ = max(0, at - 2 * lead - _SLACK)
    while from_ > 0 and text[from_ - 1].isalnum() and at - from_ < 4 * lead + 200:
        from_ -= 1
    around = list(words(text, from_, at + 2 * follow + _SLACK))
    place = next((number for number, word in enumerate(around) if word.start == at), None)
    if place is None:
        return None
    begin = place - parts.index(pivot)
    chosen = around[begin : begin + len(parts)] if begin >= 0 else []
    if [word.form for word in chosen] != [part.form for part in parts]:
        return None
    for (one, other), (here, there) in zip(pairwise(parts), pairwise(chosen), strict=True):
        wanted, found = value[one.end : other.start], text[here.end : there.start]
        digits = one.form[-1].isdigit() and other.form[0].isdigit()
        if wanted != found and (digits or len(found) > 3 or "\n\n" in found):
            return None
    return chosen[0].start, chosen[-1].end


def _ends_words(text: str, start: int, end: int) -> bool:
    before_ok = start == 0 or not (text[start - 1].isalnum() or text[start - 1] == "_")
    return before_ok and (end == len(text) or not (text[end].isalnum() or text[end] == "_"))


def is_cut(text: str, start: int, end: int) -> bool:
    """Tell whether a span is a piece of something longer: of a number, a date, an address, an id."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if len(before) == 2 and before[0].isalnum():
        sign, digits = before[1], before[0].isdigit() and text[start].isdigit()
        if sign in "@." or (sign in "-/:,+" and digits):
            return True
        any_digit = any(map(str.isdigit, text[start:end]))
        if sign == "-" and any_digit and not PREFIX_BEFORE.search(text, max(0, start - 8), start):
            return True
    if len(after) == 2 and after[1].isalnum():
        digits = after[1].isdigit() and text[end - 1].isdigit()
        if after[0] in "@." or (after[0] in "-/:,+" and digits):
            return not (after[0] == "." and not digits and text[end - 1].isalpha() and after[1].isupper())
        return after[0] == "-" and any(map(str.isdigit, text[start:end]))
    return False
