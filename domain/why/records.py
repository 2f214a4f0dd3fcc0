"""The objects and lists of parsed JSON, each a number; those within one follow it at once."""

from array import array
from collections.abc import Iterator
from typing import Final

OUTERMOST: Final = -1


class Records:
    """
    All objects and lists of an index.

    Kept as arrays: one of a million must not cost more than a few bytes. `container` is a number.
    """

    def __init__(self) -> None:
        self._parents = array("l")
        self._keys: list[str | int] = []
        self._documents = array("l")
        self._firsts = array("l")
        self._ends = array("l")

    def open(self, document: int, parent: int, key: str | int, first_leaf: int) -> int:
        """Add an object or list whose leaves begin at a leaf, and return its number."""
        self._parents.append(parent)
        self._keys.append(key)
        self._documents.append(document)
        self._firsts.append(first_leaf)
        self._ends.append(first_leaf)
        return len(self._parents) - 1

    def close(self, container: int, end_leaf: int) -> None:
        """Say where the leaves of an object or list end."""
        self._ends[container] = end_leaf

    def parent(self, container: int) -> int:
        """Return the object or list around one; OUTERMOST for the outermost."""
        return self._parents[container]

    def document_of(self, container: int) -> int:
        """Return the number of the document that an object or list belongs to."""
        return self._documents[container]

    def members_of(self, container: int) -> range:
        """Return the leaves that an object or list holds itself."""
        return range(self._firsts[container], self._ends[container])

    def below(self, container: int, levels: int) -> Iterator[int]:
        """Yield the leaves of an object or list and of those in it, so many levels down."""
        depths = {container: 0}
        yield from self.members_of(container)
        inner = container + 1
        while inner < len(self._parents) and self._parents[inner] in depths:
            depth = depths[self._parents[inner]] + 1
            depths[inner] = depth
            if depth <= levels:
                yield from self.members_of(inner)
            inner += 1

    def is_row(self, container: int) -> bool:
        """Tell whether an object stands in a list beside others."""
        parent, place = self._parents[container], self._keys[container]
        if parent == OUTERMOST or type(place) is not int:
            return False
        later = container + 1
        while later < len(self._parents) and self._parents[later] > parent:
            later += 1
        return place > 0 or (later < len(self._parents) and self._parents[later] == parent)

    def path(self, container: int) -> list[str | int]:
        """Return the keys from the document to an object or list."""
        path: list[str | int] = []
        while container != OUTERMOST and self._parents[container] != OUTERMOST:
            path.append(self._keys[container])
            container = self._parents[container]
        return path[::-1]
