"""Find a text that is put together from fields of one record, such as a first and a last name."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tachograph.domain.why.dates import dates
from tachograph.domain.why.index import Index
from tachograph.domain.why.match import Match, Search
from tachograph.domain.why.numbers import word_key
from tachograph.domain.why.words import words

WORDS_MAX: Final = 12
_FIELD_MAX: Final = 200
_MEMBERS_MAX: Final = 200  # of one record
_BETWEEN: Final = re.compile(r"[\s,]+")


def joined_fields(search: Search, value: str) -> Iterator[tuple[Match, list[int]]]:
    """
    Yield each record whose fields make up all words of a value: a match for the longest one, and the fields.

    Between the fields the value has blanks and commas alone, so that no address, amount or id is put
    together. Digits alone are not joined, and no date: too many records would make up one.
    """
    found = list(words(value[:400]))
    wanted = tuple(word.form for word in found)
    if not 2 <= len(wanted) <= WORDS_MAX or not any(word.isalpha() for word in wanted):
        return
    if next(dates(value), None):
        return
    apart = [bool(_BETWEEN.fullmatch(value, one.end, other.start)) for one, other in pairwise(found)]
    index = search.index
    rarest = min((search.places(word_key(word)) for word in wanted), key=len)
    seen: set[int] = set()
    for position in search.latest(rarest):
        leaf, _ = index.place(position)
        container = index.container(leaf)
        if container >= 0 and container not in seen and len(index.text(leaf)) <= _FIELD_MAX:
            seen.add(container)
            used = _covering(index, container, wanted, [*apart, True])
            if used:
                longest = max(used, key=lambda leaf: len(index.text(leaf)))
                names = ", ".join(str(index.key(leaf)) for leaf in used)
                note = f"from {names}"
                yield Match(longest, 0, len(index.text(longest)), True, "joined_fields", note), used


def _covering(index: Index, container: int, wanted: tuple[str, ...], apart: list[bool]) -> list[int]:
    """Return the fields of a record that make up all wanted words in their order; none if they don't."""
    fields: dict[tuple[str, ...], int] = {}
    members = index.records.members_of(container)
    if len(members) > _MEMBERS_MAX:
        return []
    for leaf in members:
        if len(index.text(leaf)) <= _FIELD_MAX:
            fields.setdefault(tuple(word.form for word in words(index.text(leaf))), leaf)
    used: list[int] = []
    at = 0
    while at < len(wanted):
        ends = range(len(wanted), at, -1)
        end = next((end for end in ends if apart[end - 1] and wanted[at:end] in fields), None)
        if end is None:
            return []
        used.append(fields[wanted[at:end]])
        at = end
    return used if len(set(used)) > 1 else []
