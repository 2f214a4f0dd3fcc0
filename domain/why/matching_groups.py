"""Where a long number stands that is written in groups, or without them."""

from collections.abc import Iterator

from tachograph.domain.why import keys
from tachograph.domain.why.groups import compact_of, grouped
from tachograph.domain.why.match import Match, Search
from tachograph.domain.why.numbers import as_decimal, word_key
from tachograph.domain.why.spans import is_cut
from tachograph.domain.why.words import form, words


def matches_of_groups(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the long number that a text is, grouped otherwise; an amount is none."""
    compact = compact_of(value)
    if compact is None or ("." in value and as_decimal(value) is not None):
        return
    index = search.index
    for position in search.positions(keys.groups(compact)):
        leaf, offset = index.place(position)
        text = index.text(leaf)
        for found in grouped(text[offset : offset + 2 * len(compact) + 8]):
            end = offset + found.end
            if found.start == 0 and found.compact == compact and text[offset:end] != value:
                yield Match(leaf, offset, end, (offset, end) == (0, len(text)), "separators")
            break
    if form(value).lstrip("+") == compact:
        return
    for position in search.positions(word_key(compact)):
        leaf, offset = index.place(position)
        text = index.text(leaf)
        word = next(words(text, offset), None)
        if word and word.form == compact and not is_cut(text, word.start, word.end):
            whole = (word.start, word.end) == (0, len(text))
            yield Match(leaf, word.start, word.end, whole, "separators")
