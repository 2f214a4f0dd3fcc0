"""
Where things stand in a space of characters, by a hash of what they are.

A posting is a 64-bit integer: 32 bits of the key's hash before 32 bits of the place. Postings are sorted,
so what lies before a place is cut off by it. Hashes may collide: whoever looks up compares.
"""

from array import array
from bisect import bisect_left
from typing import Final

_LOW: Final = 0xFFFFFFFF
_BUCKETS: Final = 64  # Sorted one by one, so that the whole is never held twice.
_BUCKET_SHIFT: Final = 64 - 6


class Postings:
    """Postings: first added, then sorted, then looked up."""

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(_BUCKETS)]

    def add(self, key: str, place: int) -> None:
        """Add a place of a key; at most 2**32 - 1."""
        posting = (hash(key) & _LOW) << 32 | place
        self._buckets[posting >> _BUCKET_SHIFT].append(posting)

    def sort(self) -> None:
        """Make ready to be looked up."""
        self._buckets = [array("Q", sorted(bucket)) for bucket in self._buckets]

    def places(self, key: str, before: int, since: int = 0) -> "Places":
        """Return the places of a key between two places; with them, rarely, those of another key."""
        high = (hash(key) & _LOW) << 32
        bucket = self._buckets[high >> _BUCKET_SHIFT]
        first = bisect_left(bucket, high | min(since, _LOW))
        return Places(bucket, high, first, bisect_left(bucket, high | min(before, _LOW), first))


class Places:
    """The places of one key, in order. They are not listed before they are asked for."""

    __slots__ = ("_bucket", "_end", "_first", "_high")

    def __init__(self, bucket: "array[int]", high: int, first: int, end: int) -> None:
        self._bucket, self._high, self._first, self._end = bucket, high, first, end

    def __len__(self) -> int:
        return self._end - self._first

    def latest(self, most: int) -> list[int]:
        """Return the last places, at most so many."""
        first = max(self._first, self._end - most)
        return [posting & _LOW for posting in self._bucket[first : self._end]]

    def any_between(self, start: int, end: int) -> bool:
        """Tell whether one of the places lies between two places, the first of them included."""
        low = self._high | min(max(start, 0), _LOW)
        found = bisect_left(self._bucket, low, self._first, self._end)
        return found < self._end and self._bucket[found] < self._high | min(end, _LOW)
