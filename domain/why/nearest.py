"""What the evidence has in place of a value that it doesn't have: the nearest one of the same field."""

from difflib import SequenceMatcher
from typing import Final

from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Leaf, Lexeme
from tachograph.domain.why.numbers import as_decimal

_COMPARED_MAX: Final = 200
_SHOWN_MAX: Final = 60


def nearest(index: Index, leaf: Leaf, asked: frozenset[str], before: int) -> str:
    """Return `; nearest: VALUE at TOOL CALL POINTER`, or an empty text when no field is like it."""
    name = leaf.pointer.rpartition("/")[2]
    best, likest = -1, -2.0
    for other in reversed(index.latest_named(name, asked, before, _COMPARED_MAX, leaf.value)):
        likeness = _likeness(leaf.value, index.text(other), likest)
        if likeness > likest:
            best, likest = other, likeness
    if best < 0:
        return ""
    origin = index.documents[index.document(best)].origin
    where = f"{origin.tool} {origin.call_key}" if origin.tool else origin.kind
    return f"; nearest: {index.text(best)[:_SHOWN_MAX]} at {where} {index.pointer(best)}"


def _likeness(value: str, other: str, least: float) -> float:
    """Return how like two values are; -2 for what is no more so than `least`."""
    if isinstance(value, Lexeme):
        one, two = as_decimal(value), as_decimal(other)
        if one is None or two is None:
            return -1.0
        return 1.0 / (1.0 + min(float(abs(one - two)), 1e300))
    matcher = SequenceMatcher(None, value[:_SHOWN_MAX], other[:_SHOWN_MAX])
    if matcher.real_quick_ratio() <= least or matcher.quick_ratio() <= least:
        return -2.0
    return matcher.ratio()
