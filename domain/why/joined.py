"""Find a text that is put together from fields of one record, such as a first and a last name."""

from collections.abc import Iterator
from typing import Final

from tachograph.domain.why.index import Index
from tachograph.domain.why.match import Match, Search
from tachograph.domain.why.numbers import word_key
from tachograph.domain.why.words import words

WORDS_MAX: Final = 12
_FIELD_MAX: Final = 200


def joined_fields(search: Search, value: str) -> Iterator[Match]:
    """
    Yield, for each record whose fields make up all words of a value, a match for its longest field.

    Digits alone are not joined: too many records would make up a number.
    """
    wanted = tuple(word.form for word in words(value[:400]))
    if not 2 <= len(wanted) <= WORDS_MAX or not any(word.isalpha() for word in wanted):
        return
    index = search.index
    rarest = min((index.places(word_key(word), search.before) for word in wanted), key=len)
    seen: set[int] = set()
    for position in search.latest(rarest):
        leaf, _ = index.place(position)
        container = index.container(leaf)
        if container >= 0 and container not in seen and len(index.text(leaf)) <= _FIELD_MAX:
            seen.add(container)
            used = _covering(index, container, wanted)
            if used:
                longest = max(used, key=lambda leaf: len(index.text(leaf)))
                names = ", ".join(str(index.key(leaf)) for leaf in used)
                yield Match(longest, 0, len(index.text(longest)), True, "joined_fields", f"from {names}")


def _covering(index: Index, container: int, wanted: tuple[str, ...]) -> list[int]:
    """Return the fields of a record that make up all wanted words in their order; none if they don't."""
    fields: dict[tuple[str, ...], int] = {}
    for leaf in index.records.members_of(container):
        if len(index.text(leaf)) <= _FIELD_MAX:
            fields.setdefault(tuple(word.form for word in words(index.text(leaf))), leaf)
    used: list[int] = []
    at = 0
    while at < len(wanted):
        end = next((end for end in range(len(wanted), at, -1) if wanted[at:end] in fields), None)
        if end is None:
            return []
        used.append(fields[wanted[at:end]])
        at = end
    return used if len(set(used)) > 1 else []
