"""Where the words of a value stand in a text, and whether they are only a piece of something longer."""

import re
from itertools import pairwise
from typing import Final

from tachograph.domain.why.words import Word, words

PREFIX_BEFORE: Final = re.compile(r"(?<![\w-])[A-Za-z]{1,4}-\Z")
_SLACK: Final = 24
_DIGITS_MAX: Final = 60
_DIGITS_BEFORE: Final = re.compile(r"(?<!\w)[0-9]+\Z")
_DIGITS_AFTER: Final = re.compile(r"[0-9]+(?!\w)")
_GROUP_BEFORE: Final = re.compile(r"(?<![\w.,])[0-9]{1,3} \Z")  # 1 234,56
_LAST_GROUP: Final = re.compile(r"[0-9]{3},[0-9]{2}(?!\w)")
_MINUS: Final = re.compile(r"[-\u2212][$€£¥₹]?\Z")
_BEFORE_MINUS: Final = frozenset(" \t\u00a0([:=|$€£¥₹")
_GROUPING: Final = ",'\u2019\u00a0\u202f"
_LOCAL_PART: Final = "+'-&!*~%"  # What may stand within the local part of an address (RFC 5322, atext).
_NEXT_SENTENCE: Final = re.compile(r"\.[A-Z][a-z]*(?:[\s,;!?]|\Z)")


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
        if wanted != found and not _may_differ(one, other, wanted, found, address="@" in value):
            return None
    return chosen[0].start, chosen[-1].end


def _may_differ(one: Word, other: Word, wanted: str, found: str, *, address: bool) -> bool:
    """Tell whether other signs between two words leave them the same: not in an address, a number, an id."""
    if address or "@" in found or len(found) > 3 or "\n\n" in found:
        return False
    if one.form[-1].isdigit() and other.form[0].isdigit():
        return False
    id_like = not any(map(str.isspace, wanted)) and any(map(str.isdigit, one.form + other.form))
    return len(found) <= 1 or not id_like


def _ends_words(text: str, start: int, end: int) -> bool:
    before_ok = start == 0 or not (text[start - 1].isalnum() or text[start - 1] == "_")
    return before_ok and (end == len(text) or not (text[end].isalnum() or text[end] == "_"))


def reach(parts: list[Word], pivot: Word) -> tuple[int, int]:
    """Return how far before and after one word of a value the others may stand, in characters."""
    lead, follow = pivot.start - parts[0].start, parts[-1].end - pivot.start
    return 4 * lead + 200, 2 * follow + _SLACK


def is_negative(text: str, start: int, end: int) -> bool:
    """Tell whether a number in a text has a minus before it, rather than a hyphen, or a dash of a list."""
    found = _MINUS.search(text, max(0, start - 3), start)
    if found is None:
        return False
    if found.start() == 0:
        return end == len(text)
    return text[found.start() - 1] in _BEFORE_MINUS


def is_cut(text: str, start: int, end: int) -> bool:
    """Tell whether a span is a piece of something longer: of a number, a date, an address, an id."""
    address = "@" in text[start:end]
    return _is_cut_before(text, start, end, address) or _is_cut_after(text, start, end, address)


def _is_cut_before(text: str, start: int, end: int, address: bool) -> bool:
    if start < 2 or not text[start - 2].isalnum():
        return False
    sign, digits = text[start - 1], text[start - 2].isdigit() and text[start].isdigit()
    if sign in "@." or (sign in "-/:+" and digits) or (address and sign in _LOCAL_PART):
        return True
    if sign in _GROUPING and digits:
        return _is_grouped(text, start - 1)
    if sign == " " and digits:
        return bool(
            _GROUP_BEFORE.search(text, max(0, start - _DIGITS_MAX), start) and _LAST_GROUP.match(text, start)
        )
    any_digit = any(map(str.isdigit, text[start:end]))
    return sign == "-" and any_digit and not PREFIX_BEFORE.search(text, max(0, start - 8), start)


def _is_cut_after(text: str, start: int, end: int, address: bool) -> bool:
    if end + 1 >= len(text) or not text[end + 1].isalnum():
        return False
    sign, digits = text[end], text[end + 1].isdigit() and text[end - 1].isdigit()
    if address and sign == ".":
        return not _NEXT_SENTENCE.match(text, end)
    if sign in "@." or (sign in "-/:+" and digits):
        return not (sign == "." and not digits and text[end - 1].isalpha() and text[end + 1].isupper())
    if sign in _GROUPING and digits:
        return _is_grouped(text, end)
    return sign == "-" and (address or any(map(str.isdigit, text[start:end])))


def _is_grouped(text: str, sign: int) -> bool:
    """Tell whether a sign between digits is one of a number: before three digits, or a decimal comma."""
    left = _DIGITS_BEFORE.search(text, max(0, sign - _DIGITS_MAX), sign)
    right = _DIGITS_AFTER.match(text, sign + 1)
    if left is None or right is None:
        return False
    return (len(right[0]) == 3 and len(left[0]) <= 3) or (text[sign] == "," and len(right[0]) <= 2)
