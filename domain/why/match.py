"""A place that a value matches."""

from typing import Final, NamedTuple

PLACES_MAX: Final = 1_000  # of one key; the latest ones


class Match(NamedTuple):
    """
    A place that a value matches.

    Args:
        start, end: Within the leaf's text.
        whole: Whether the leaf holds nothing else.
    """

    leaf: int
    start: int
    end: int
    whole: bool
    rule: str
    note: str | None = None
