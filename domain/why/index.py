"""
The evidence of a trace, indexed once so that any value is looked up in microseconds.

All texts of a trace lie one behind the other in one space of characters, in the order of the record, so
what lies before a call is what lies before a place. What can be asked for (a word, a number, a day) has
postings of some 8 bytes each.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final, TypeVar

from tachograph.domain.why.argument import Trust
from tachograph.domain.why.document import Document, Origin, Place
from tachograph.domain.why.keys import post_number, post_text, whole
from tachograph.domain.why.leaves import Lexeme, members, opened, token
from tachograph.domain.why.postings import Places, Postings
from tachograph.domain.why.records import OUTERMOST, Records
from tachograph.domain.why.words import field_words, form

TEXT_MAX: Final = 4_000_000  # characters of one text
TRACE_MAX: Final = 32_000_000  # characters of all texts of a trace
LEAVES_MAX: Final = 1_000_000
_BOTH_MAX: Final = 400  # JSON in a text so short is a text too, which may be copied as a whole.
_FIELD_NAME: Final = re.compile(r"[^\W\d]*(?:-[^\W\d]+)*")  # Any other key is data itself.


Answer = TypeVar("Answer")


class Index:
    """The documents of a trace, in the order of the record. Filled by `add`, then sealed by `seal`."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.left_out: list[tuple[int, int]] = []  # (place of the space, characters left out there)
        self.size = 0
        self._blanks: list[int] = []
        self._remembered: dict[Callable[[Index, int], Any], dict[int, Any]] = {}
        self._texts: list[str] = []
        self._bases = array("Q")
        self._leaf_containers = array("l")
        self._leaf_keys: list[str | int] = []
        self._leaf_is_number = bytearray()
        self._leaf_documents = array("l")
        self.records = Records()
        self._postings = Postings()

    def add(self, origin: Origin, value: Any, arguments: int | None = None) -> int:
        """
        Add a document and return its number.

        Args:
            value: Plain text, or what `leaves.parsed` returns.
            arguments: The document with the arguments that this one answers.
        """
        number = len(self.documents)
        self.documents.append(Document(origin, self.size, arguments))
        if type(value) is str and len(value) > TEXT_MAX:
            self._leave_out(len(value) - TEXT_MAX)
            value = value[:TEXT_MAX]
        else:
            value = opened(value)
        if isinstance(value, list):
            self._add_container(number, value)
        else:
            self._add_leaf(number, OUTERMOST, "", value)
        if arguments is not None and self.size == self.documents[number].start:
            self._blanks.append(self.size)  # An output without text or number takes a place too.
            self.size += 1
        return number

    def seal(self) -> None:
        """Sort the postings; nothing can be added afterwards."""
        self._postings.sort()

    def places(self, key: str, before: int, since: int = 0) -> Places:
        """Return the places of a key of `keys` between two places."""
        return self._postings.places(key, before, since)

    def place(self, position: int) -> Place:
        """Return the leaf at a position of the space, and the offset in its text."""
        leaf = bisect_right(self._bases, position) - 1
        return Place(leaf, position - self._bases[leaf])

    def text(self, leaf: int) -> str:
        """Return a leaf's text: of a number, the digits as they were written."""
        return self._texts[leaf]

    def is_number(self, leaf: int) -> bool:
        """Tell whether a leaf is a JSON number."""
        return bool(self._leaf_is_number[leaf])

    def document(self, leaf: int) -> int:
        """Return the number of a leaf's document."""
        return self._leaf_documents[leaf]

    def trust(self, leaf: int) -> Trust | None:
        """Return what kind of evidence a leaf is; None for the model's own words."""
        return self.documents[self._leaf_documents[leaf]].origin.trust

    def container(self, leaf: int) -> int:
        """Return the object or list that holds a leaf; -1 for a document that is one leaf."""
        return self._leaf_containers[leaf]

    def key(self, leaf: int) -> str | int:
        """Return the key or place of a leaf in what holds it."""
        return self._leaf_keys[leaf]

    def path(self, leaf: int) -> list[str | int]:
        """Return the keys from the document to a leaf."""
        container = self._leaf_containers[leaf]
        return [] if container == OUTERMOST else [*self.records.path(container), self._leaf_keys[leaf]]

    def pointer(self, leaf: int) -> str:
        """Return the pointer of a leaf, from its event."""
        return self._pointer(self._leaf_documents[leaf], self.path(leaf))

    def pointer_of(self, container: int) -> str:
        """Return the pointer of an object or list, from its event."""
        return self._pointer(self.records.document_of(container), self.records.path(container))

    def _pointer(self, document: int, path: list[str | int]) -> str:
        return self.documents[document].origin.at + "".join(f"/{token(key)}" for key in path)

    def leaves_of(self, document: int) -> range:
        """Return the leaves of a document."""
        following = self.documents[document + 1 : document + 2]
        end = bisect_left(self._bases, following[0].start) if following else len(self._texts)
        return range(bisect_left(self._bases, self.documents[document].start), end)

    def leaves_trusted(self, trust: Trust, before: int) -> list[int]:
        """Return the leaves of what entered as one kind of evidence, in order."""
        return [
            leaf
            for number, document in enumerate(self.documents)
            if document.origin.trust == trust and document.start < before
            for leaf in self.leaves_of(number)
        ]

    def latest_named(
        self, name: str, like: frozenset[str], before: int, most: int, other_than: str
    ) -> list[int]:
        """
        Return the last leaves of evidence whose key is a name, or shares a word with it, in order.

        Args:
            most: How many at most.
            other_than: Leaves with this text are left out.
        """
        keys = set[str | int]([name]).union(*(self._keys_by_word.get(word, ()) for word in like))
        end = bisect_left(self._bases, before)
        found: list[int] = []
        for key in keys:
            leaves = self._leaves_by_key.get(key, ())
            latest = (leaves[place] for place in range(bisect_left(leaves, end) - 1, -1, -1))
            fitting = (leaf for leaf in latest if self.trust(leaf) and self._texts[leaf] != other_than)
            found += islice(fitting, most)
        return sorted(found)[-most:]

    @cached_property
    def _keys_by_word(self) -> Mapping[str, list[str | int]]:
        found: dict[str, list[str | int]] = {}
        for key in self._leaves_by_key:
            for word in field_words(str(key)):
                found.setdefault(word, []).append(key)
        return found

    def remembered(self, ask: Callable[["Index", int], Answer], number: int) -> Answer:
        """Return what a function says of a leaf or a record, asked once."""
        answers = self._remembered.setdefault(ask, {})
        if number not in answers:
            answers[number] = ask(self, number)
        answer: Answer = answers[number]
        return answer

    @cached_property
    def _leaves_by_key(self) -> "dict[str | int, array[int]]":
        leaves: dict[str | int, array[int]] = {}
        for leaf, key in enumerate(self._leaf_keys):
            leaves.setdefault(key, array("l")).append(leaf)
        return leaves

    def left_out_before(self, before: int) -> int:
        """Return how many characters before a place are not in the index."""
        return sum(count for place, count in self.left_out if place < before)

    def characters_before(self, before: int) -> int:
        """Return how many characters lie before a place, one between two texts included."""
        return before - bisect_left(self._blanks, before)

    def _add_container(self, document: int, value: list[Any]) -> None:
        # Level by level within each object, so that the leaves of one lie side by side.
        waiting: list[tuple[int, str | int, list[Any]]] = [(OUTERMOST, "", value)]
        while waiting:
            parent, key, held = waiting.pop()
            container = self.records.open(document, parent, key, len(self._texts))
            inner: list[tuple[int, str | int, list[Any]]] = []
            for name, raw in members(held):
                member = opened(raw)
                if isinstance(member, list):
                    inner.append((container, name, member))
                    if member is not raw and len(raw) <= _BOTH_MAX:
                        self._add_leaf(document, container, name, raw, as_whole=True)
                else:
                    self._add_leaf(document, container, name, member)
                if type(name) is str and not _FIELD_NAME.fullmatch(name):
                    self._add_leaf(document, container, name, name)
            self.records.close(container, len(self._texts))
            waiting += reversed(inner)

    def _add_leaf(
        self, document: int, container: int, key: str | int, value: object, *, as_whole: bool = False
    ) -> None:
        if not (isinstance(value, str) and value):
            return
        if len(self._texts) >= LEAVES_MAX or self.size + len(value) > TRACE_MAX:
            self._leave_out(len(value))
            return
        base = self.size
        self._texts.append(value)
        self._bases.append(base)
        self._leaf_containers.append(container)
        self._leaf_keys.append(key)
        self._leaf_documents.append(document)
        number = type(value) is Lexeme
        self._leaf_is_number.append(number)
        self.size = base + len(value) + 1
        if as_whole:
            self._postings.add(whole(form(value)), base)
        elif number:
            post_number(self._postings.add, value, base)
        else:
            post_text(self._postings.add, value, base)

    def _leave_out(self, characters: int) -> None:
        if self.left_out and self.left_out[-1][0] >= self.documents[-1].start:
            place, already = self.left_out.pop()
            self.left_out.append((place, already + characters))
        else:
            self.left_out.append((self.size, characters))
            self.size += 1  # So that a call before it and a call after it differ in their place.
