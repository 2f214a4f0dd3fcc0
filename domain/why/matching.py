"""
Where in the indexed texts of a trace a value stands: as it is, or after one named rule.

    exact              the same characters
    number             the same number in other digits, or as a text: 49.90 and 49.9
    thousands          with separators of thousands: 1,499.00
    decimal_comma      49,90
    minor_units        4990 beside a currency of two digits (ISO 4217)
    case, unicode      another case, another Unicode form
    separators         other spaces or signs between the words
    prefix             an id with or without its sign or letters: #W123456, W123456, 123456
    date_...           the same day in another form; without its year, where the year is known
    time_form          the same instant in another form
    joined_fields      a text put together from fields of one record, such as first and last name

Nothing here knows what is evidence: places in what the model wrote are found too.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Lexeme
from tachograph.domain.why.match import PLACES_MAX, Match
from tachograph.domain.why.matching_days import (
    matches_of_day,
    matches_of_day_of_the_year,
    matches_of_instant,
)
from tachograph.domain.why.numbers import as_decimal, decimal_key, number_key, written_numbers
from tachograph.domain.why.spans import PREFIX_BEFORE, aligned, is_cut
from tachograph.domain.why.units import minor_readings
from tachograph.domain.why.words import Word, form, words

VALUE_MAX: Final = 4_000  # characters of a value that is looked up as a whole
_NUMBER_MAX: Final = 70
_INK: Final = re.compile(r"\S")
_NAME: Final = re.compile(r"[A-Za-z]+(?:[ _-][A-Za-z]+){1,5}")
_ID: Final = re.compile(r"[^\w\s]?([a-z]{1,4})[-_]?([0-9]{5,})")
_BARE_ID: Final = re.compile(r"[^\w\s]?([0-9]{5,})")


def matches(index: Index, value: str, before: int) -> list[Match]:
    """
    Return every place before a place of the index where a value stands, each with its plainest rule.

    Args:
        value: A text, or a Lexeme for a number.
    """
    found = list(_matches_of_number(index, value, before))
    if not isinstance(value, Lexeme) and len(value) <= VALUE_MAX:
        found += _matches_of_text(index, value, before)
        for spelled in _spellings(value):
            found += (match._replace(rule="separators") for match in _matches_of_text(index, spelled, before))
        found += _matches_of_prefixed(index, value, before)
        found += matches_of_day(index, value, before)
        found += matches_of_day_of_the_year(index, value, before)
        found += matches_of_instant(index, value, before)
    best: dict[tuple[int, int], Match] = {}
    for match in found:
        other = best.get((match.leaf, match.start))
        if other is None or (match.rule != "exact", match.rule) < (other.rule != "exact", other.rule):
            best[match.leaf, match.start] = match
    return list(best.values())


def _matches_of_number(index: Index, value: str, before: int) -> Iterator[Match]:
    wanted = as_decimal(value)
    if wanted is None:
        return
    for position in index.number(decimal_key(wanted), before)[-PLACES_MAX:]:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        if index.is_number(leaf):
            same = isinstance(value, Lexeme) and text == value
            if as_decimal(text) == wanted:
                yield Match(leaf, 0, len(text), True, "exact" if same else "number")
            continue
        found = _number_at(text, offset, wanted)
        if found is not None:
            end, rule = found
            if text[offset:end] == value and rule != "prefix":
                rule = "exact"
            elif not isinstance(value, Lexeme) and "0" in (value[0], text[offset]) and value.isdigit():
                continue  # Digits that begin with a zero are an id; no zero may be left out.
            yield Match(leaf, offset, end, (offset, end) == (0, len(text)), rule)
    for key, digits in minor_readings(wanted):
        for position in index.number(key, before)[-PLACES_MAX:]:
            leaf, offset = index.place(position)
            if offset == 0 and number_key(index.text(leaf)) == key and digits.fits(index, leaf):
                yield Match(leaf, 0, len(index.text(leaf)), True, "minor_units", digits.note)


def _number_at(text: str, offset: int, wanted: Decimal) -> tuple[int, str] | None:
    for written in written_numbers(text[max(0, offset - 1) : offset + _NUMBER_MAX]):
        start = written.start + max(0, offset - 1)
        if start == offset and written.key == decimal_key(wanted):
            return offset + written.end - written.start, written.rule
    end = offset
    while end < len(text) and text[end].isdigit():
        end += 1
    if is_cut(text, offset, end) or number_key(text[offset:end]) != decimal_key(wanted):
        return None
    prefixed = PREFIX_BEFORE.search(text, max(0, offset - 8), offset)
    return end, "prefix" if prefixed else "number"


def _matches_of_text(index: Index, value: str, before: int) -> Iterator[Match]:
    parts = list(words(value))
    if not parts:
        for position in index.whole(form(value), before)[-PLACES_MAX:]:
            leaf, _ = index.place(position)
            if form(index.text(leaf)) == form(value):
                yield _match(index, leaf, 0, len(index.text(leaf)), value, 0)
        return
    firsts: dict[str, Word] = {}
    for part in parts:
        firsts.setdefault(part.form, part)
    # One list at a time: all places of all words may be many times the text.
    places = ((index.word(part.form, before), part) for part in firsts.values())
    rarest, pivot = min(places, key=lambda found: len(found[0]))
    for position in rarest[-PLACES_MAX:]:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        if index.is_number(leaf):
            if text == value:
                yield Match(leaf, 0, len(text), True, "number")
            continue
        span = aligned(text, offset, value, parts, pivot)
        if span is not None and not is_cut(text, *span):
            yield _match(index, leaf, *span, value, parts[0].start)


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
    whole = not _INK.search(text, 0, start) and not _INK.search(text, end)
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


def _matches_of_prefixed(index: Index, value: str, before: int) -> Iterator[Match]:
    """Find an id without the letters that it has in one of two places."""
    wanted = form(value)
    bare = _BARE_ID.fullmatch(wanted)
    prefixed = _ID.fullmatch(wanted)
    positions = index.core(bare[1], before) if bare else []
    positions += index.word(prefixed[2], before) if prefixed else []
    core = bare[1] if bare else prefixed[2] if prefixed else ""
    for position in positions[-PLACES_MAX:]:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        found = next(words(text, offset), None)
        if found and found.form.endswith(core) and not is_cut(text, found.start, found.end):
            if bare or found.form == core:
                yield Match(
                    leaf, found.start, found.end, found.start <= 1 and found.end == len(text), "prefix"
                )
