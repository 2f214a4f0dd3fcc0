"""Tell prose from values, and find the values that stand in prose: amounts, ids, dates."""

import re
from bisect import bisect_left
from typing import Final

from tachograph.domain.why.dates import dates
from tachograph.domain.why.numbers import is_low, written_numbers

WORDS_MIN: Final = 7
PARTS_MAX: Final = 200
_TEXT_MAX: Final = 100_000
_EAST_MIN: Final = 16

_SENTENCE: Final = re.compile(r"[a-z\d)\"'][.!?;:](?:\s|$)|\n", re.IGNORECASE)
_EAST: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_COMPOUND: Final = re.compile(r"[#@$]?[\w]+(?:[-_/.:@+#][\w]+)*")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
# A minus or a slash without spaces around it stands in ids, dates and numbers of books too.
# The ways in which a sign can be one of a sum exclude each other, so that no text is tried in many ways.
_SUM: Final = re.compile(
    r"[\d\s.,()$%]+(?:(?:[+*xX\u00d7]|(?<=\s)[-/](?=\s)|(?<=\))[-/]|(?<!\))[-/](?=\())[\d\s.,()$%]+)+"
)
_ID_DIGITS_MIN: Final = 3
_WORDED: Final = frozenset(
    {"query", "question", "search", "keyword", "text", "message", "summary", "explanation", "note"}
    | {"comment", "description", "content", "body", "thought", "instruction", "prompt"}
)


def is_prose(text: str, field: frozenset[str]) -> bool:
    """
    Tell whether a text was worded by whoever wrote it: sentences, or seven words and more.

    Args:
        field: The words of the argument's name; some name what is always worded, such as a query.
    """
    words = _LETTERS.findall(text[:2000])
    if len(words) > 1 and field & _WORDED:
        return True
    if len(words) >= WORDS_MIN or len(_EAST.findall(text[:2000])) >= _EAST_MIN:
        return True
    return len(words) >= 4 and bool(_SENTENCE.search(text))


def is_sum(text: str) -> bool:
    """Tell whether a text is a sum, such as `2 * (350 - 122)`: what has a source is what it is made of."""
    return bool(_SUM.fullmatch(text)) and not list(dates(text))


def inner_values(text: str) -> tuple[list[tuple[int, int, str]], int]:
    """
    Find the amounts, ids and dates of a text, the first PARTS_MAX of them.

    Returns:
        The values with their places, and the place up to which the text was looked at.
    """
    spans: list[tuple[int, int]] = []
    end_of_text = len(text)
    text = text[:_TEXT_MAX]
    for dated in dates(text):
        _keep(spans, dated.start, dated.end)
    for number in written_numbers(text):
        _keep(spans, number.start, number.end)
    for found in _COMPOUND.finditer(text):
        digits = sum(map(str.isdigit, found[0]))
        if digits >= _ID_DIGITS_MIN or (digits and any(map(str.isalpha, found[0])) and len(found[0]) > 3):
            start = found.start() + (found[0].startswith("$"))
            _keep(spans, start, found.end())
    values = [(start, end, text[start:end]) for start, end in spans]
    values = [found for found in values if not (found[2].isdigit() and is_low(found[2]))]
    if len(values) > PARTS_MAX:
        return values[:PARTS_MAX], values[PARTS_MAX][0]
    return values, min(end_of_text, _TEXT_MAX)


def _keep(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a span to those kept, which are in order, unless it overlaps one of them."""
    place = bisect_left(spans, (start, end))
    after_others = place == 0 or spans[place - 1][1] <= start
    before_others = place == len(spans) or end <= spans[place][0]
    if after_others and before_others:
        spans.insert(place, (start, end))
