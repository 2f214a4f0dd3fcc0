"""
Where in the indexed texts of a trace a value stands: as it is, or after one named rule.

    exact              the same characters
    number             the same number in other digits, or as a text: 49.90 and 49.9
    thousands          with separators of thousands: 1,499.00
    decimal_comma      49,90
    minor_units        4990 beside a currency of two digits (ISO 4217)
    case, unicode      another case, another Unicode form
    separators         other spaces or signs between the words, or between the groups of a long number
    prefix             an id with or without its sign or letters: #W123456, W123456, 123456
    date_...           the same day in another form; without its year, where the year is known
    time_form          the same instant in another form
    joined_fields      a text put together from fields of one record, such as first and last name

Nothing here knows what is evidence: places in what the model wrote are found too.
"""

import re
from collections.abc import Iterator
from typing import Final

from tachograph.domain.why import keys
from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Lexeme
from tachograph.domain.why.match import PLACES_MAX, Match, Search
from tachograph.domain.why.matching_days import (
    matches_of_day,
    matches_of_day_of_the_year,
    matches_of_instant,
)
from tachograph.domain.why.matching_groups import matches_of_groups
from tachograph.domain.why.matching_numbers import matches_of_number
from tachograph.domain.why.numbers import as_decimal, word_key
from tachograph.domain.why.postings import Places
from tachograph.domain.why.spans import PREFIX_BEFORE, aligned, is_cut, is_negative, reach
from tachograph.domain.why.units import MONEY, currency_around
from tachograph.domain.why.words import Word, field_words, form, words

VALUE_MAX: Final = 4_000  # characters of a value that is looked up as a whole
_PIVOTS_MAX: Final = 20 * PLACES_MAX  # Places of a word that are looked at for its neighbours alone.
_JSON: Final = "[{"  # JSON in a text is looked up leaf by leaf, and as the whole that it is.
_NAME: Final = re.compile(r"[A-Za-z]+(?:[ _-][A-Za-z]+){1,5}")
_ID: Final = re.compile(r"[^\w\s]?([a-z]{1,4})[-_]?([0-9]{5,})")
_TELLING_SIGNS: Final = "+#%"  # After a word they make it another one: C and C++, 100 and 100 %.
_BARE_ID: Final = re.compile(r"[^\w\s]?([0-9]{5,})")


def matches(search: Search, value: str) -> list[Match]:
    """
    Return the places where a value stands, each with its plainest rule.

    Args:
        value: A text, or a Lexeme for a number.
    """
    found = list(matches_of_number(search, value))
    if not isinstance(value, Lexeme) and len(value) <= VALUE_MAX:
        found += _matches_of_text(search, value)
        for spelled in _spellings(value):
            found += (match._replace(rule="separators") for match in _matches_of_text(search, spelled))
        found += _matches_of_prefixed(search, value)
        found += matches_of_groups(search, value)
        found += matches_of_day(search, value)
        found += matches_of_day_of_the_year(search, value)
        found += matches_of_instant(search, value)
    best: dict[tuple[int, int], Match] = {}
    for match in found:
        other = best.get((match.leaf, match.start))
        if other is None or (match.rule != "exact", match.rule) < (other.rule != "exact", other.rule):
            best[match.leaf, match.start] = match
    return list(best.values())


def _matches_of_text(search: Search, value: str) -> Iterator[Match]:
    parts = list(words(value))
    index = search.index
    if not parts or value[0] in _JSON:
        for position in search.positions(keys.whole(form(value))):
            leaf, _ = index.place(position)
            if form(index.text(leaf)) == form(value):
                yield _match(index, leaf, 0, len(index.text(leaf)), value, 0)
    if not parts:
        return
    firsts: dict[str, Word] = {}
    for part in parts:
        firsts.setdefault(part.form, part)
    places = {word: search.places(word_key(word)) for word in firsts}
    pivot = firsts[min(places, key=lambda word: len(places[word]))]
    number = as_decimal(value)
    for position in _likely(search, parts, pivot, places):
        leaf, offset = index.place(position)
        text = index.text(leaf)
        if index.is_number(leaf):
            if text == value:
                yield Match(leaf, 0, len(text), True, "number")
            continue
        span = aligned(text, offset, value, parts, pivot)
        if span is None or is_cut(text, *span) or not _ends_like(value[parts[-1].end :], text, span[1]):
            continue
        if number is None or is_negative(text, *span) == (number < 0):
            yield _match(index, leaf, *span, value, parts[0].start)


def _likely(search: Search, parts: list[Word], pivot: Word, places: dict[str, Places]) -> list[int]:
    """Return the latest places of a word; of a frequent one, those with the value's other words near."""
    if len(places[pivot.form]) <= PLACES_MAX:
        return places[pivot.form].latest(PLACES_MAX)
    back, forth = reach(parts, pivot)
    others = [found for word, found in places.items() if word != pivot.form]
    near: list[int] = []
    for position in search.latest(places[pivot.form], _PIVOTS_MAX):
        leaf, offset = search.index.place(position)
        start = position - min(back, offset)
        end = position + min(forth, len(search.index.text(leaf)) - offset)
        if all(found.any_between(start, end) for found in others):
            near.append(position)
    search.cut |= len(near) > PLACES_MAX
    return near[-PLACES_MAX:]


def _ends_like(trail: str, text: str, end: int) -> bool:
    """Tell whether the signs that a value ends with, if they are part of its word, stand in a text too."""
    sign = trail[:1]
    return sign not in _TELLING_SIGNS or not sign or text[end : end + 1] == sign


def _spellings(value: str) -> Iterator[str]:
    """Yield a name of several words with spaces in place of underscores, and with underscores."""
    parts = _NAME.fullmatch(value)
    if parts:
        spaced = re.sub("[ _-]", " ", value)
        yield from (other for other in (spaced, spaced.replace(" ", "_")) if other != value)


def _match(index: Index, leaf: int, start: int, end: int, value: str, lead: int) -> Match:
    """Widen a span by the signs around the value, and name the rule by which they are equal."""
    text = index.text(leaf)
    trail = len(value) - lead - (end - start)
    if lead and text[max(0, start - lead) : start] == value[:lead]:
        start -= lead
    if 0 < trail <= 3 and text[end : end + trail] == value[-trail:]:
        end += trail
    found = text[start:end]
    first, last = index.remembered(_ink, leaf)
    whole = start <= first and last <= end
    if PREFIX_BEFORE.search(text, max(0, start - 8), start):
        rule = "prefix"
    elif found == value:
        rule = "exact"
    elif form(found) == form(value):
        rule = "case" if found.isascii() and value.isascii() else "unicode"
    elif form(found).lstrip("#@$+") == form(value).lstrip("#@$+"):
        rule = "prefix"
    else:
        rule = "separators"
    if rule in ("exact", "case") and start == 1 and text[0] in "#@" and end == len(text):
        return Match(leaf, 0, end, True, "prefix")
    return Match(leaf, start, end, whole, rule)


def _ink(index: Index, leaf: int) -> tuple[int, int]:
    """Return where what is no blank begins and ends in a leaf's text."""
    text = index.text(leaf)
    end = len(text.rstrip())
    return end - len(text[:end].lstrip()), end


def _matches_of_prefixed(search: Search, value: str) -> Iterator[Match]:
    """Find an id without the letters that it has in one of two places, or with a sign behind them."""
    wanted, index = form(value), search.index
    bare = _BARE_ID.fullmatch(wanted)
    prefixed = _ID.fullmatch(wanted)
    positions: list[int] = []
    if bare:
        positions += search.positions(keys.core(bare[1]))
    if prefixed:
        letters, core = prefixed.groups()
        others = [word for word in _joined(letters, core) if word not in wanted]
        for word in (core, *others):
            positions += search.positions(word_key(word))
    for position in positions:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        found = next(words(text, offset), None)
        if found is None or is_cut(text, found.start, found.end):
            continue
        if prefixed and _is_amount(index, leaf, found):
            continue
        before = PREFIX_BEFORE.search(text, max(0, found.start - 8), found.start)
        if bare:
            same = found.form.endswith(bare[1])
        else:
            same = before is None or form(before[0]) == f"{letters}-"
            same = same and (found.form == core or (before is None and found.form in _joined(letters, core)))
        if same:
            whole = found.start <= 1 and found.end == len(text)
            yield Match(leaf, found.start, found.end, whole, "prefix")


def _is_amount(index: Index, leaf: int, word: Word) -> bool:
    """Tell whether digits are an amount of money, which no letters make an id of."""
    if index.is_number(leaf):
        return bool(field_words(str(index.key(leaf))) & MONEY)
    return currency_around(index.text(leaf), word.start, word.end) is not None


def _joined(letters: str, core: str) -> tuple[str, str]:
    return f"{letters}{core}", f"{letters}_{core}"
