"""A search for a value, and a place that it matches."""

from typing import Final, NamedTuple

from tachograph.domain.why.index import Index
from tachograph.domain.why.postings import Places

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


class Search:
    """
    The search for one value in what lies between two places of the index.

    Args:
        minor: Whether the value is said to be in minor units, such as cents.
        cut: Whether there were more places than are looked at: then nothing found says nothing.
    """

    __slots__ = ("before", "cut", "index", "minor", "since")

    def __init__(self, index: Index, before: int, *, since: int = 0, minor: bool = False) -> None:
        self.index = index
        self.before = before
        self.since = since
        self.minor = minor
        self.cut = False

    def places(self, key: str) -> Places:
        """Return the places of a key of `keys`."""
        return self.index.places(key, self.before, self.since)

    def positions(self, key: str) -> list[int]:
        """Return the last places of a key, as `latest` does."""
        return self.latest(self.places(key))

    def latest(self, places: Places, most: int = PLACES_MAX) -> list[int]:
        """Return the last places, at most so many, and note when there were more."""
        self.cut |= len(places) > most
        return places.latest(most)
