"""Where a number stands, in whatever digits, separators and units it is written."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from tachograph.domain.currencies import CURRENCY_DIGITS
from tachograph.domain.why import keys
from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Lexeme
from tachograph.domain.why.match import Match, Search
from tachograph.domain.why.numbers import as_decimal, decimal_key, number_key, written_numbers
from tachograph.domain.why.spans import PREFIX_BEFORE, is_cut, is_negative
from tachograph.domain.why.units import currency_around, currency_beside, major_readings, minor_readings

_NUMBER_MAX: Final = 70


def matches_of_number(search: Search, value: str) -> Iterator[Match]:
    """Yield the places of the number that a value is: in other digits, with separators, in other units."""
    wanted = as_decimal(value)
    if wanted is None:
        return
    index = search.index
    signed = {
        decimal_key(wanted),
        decimal_key(wanted.copy_abs()),
    }  # In a text, a sign stands before the number.
    for key in sorted(signed):
        for position in search.positions(keys.number(key)):
            leaf, offset = index.place(position)
            match = _number_match(index, leaf, offset, value, wanted)
            if match is not None:
                yield match
    if search.minor:
        yield from _matches_of_major(search, wanted)
    for key, digits in minor_readings(wanted):
        for position in search.positions(keys.number(key)):
            leaf, offset = index.place(position)
            if offset == 0 and number_key(index.text(leaf)) == key and digits.fits(index, leaf):
                yield Match(leaf, 0, len(index.text(leaf)), True, "minor_units", digits.note)


def _matches_of_major(search: Search, wanted: Decimal) -> Iterator[Match]:
    """Find an amount of which a value in minor units is made: 4990 by 49.90 with a currency of two digits."""
    index = search.index
    for major, units in major_readings(wanted):
        for position in search.positions(keys.number(decimal_key(major))):
            leaf, offset = index.place(position)
            match = _number_match(index, leaf, offset, f"{major:f}", major)
            if match is None:
                continue
            beside = currency_beside(index, leaf) if match.whole else None
            currency = beside or currency_around(index.text(leaf), match.start, match.end)
            if currency is not None and CURRENCY_DIGITS[currency] == units.digits:
                yield match._replace(rule="minor_units", note=units.note)


def _number_match(index: Index, leaf: int, offset: int, value: str, wanted: Decimal) -> Match | None:
    text = index.text(leaf)
    if index.is_number(leaf):
        if as_decimal(text) != wanted or _is_id(value):
            return None
        same = isinstance(value, Lexeme) and text == value
        return Match(leaf, 0, len(text), True, "exact" if same else "number")
    found = _number_at(text, offset, wanted.copy_abs())
    if found is None:
        return None
    end, rule = found
    if is_negative(text, offset, end) != (wanted < 0):
        return None
    if text[offset:end] == value and rule != "prefix":
        rule = "exact"
    elif _is_id(text[offset:end]) or (value.isdigit() and _is_id(value)):
        return None
    return Match(leaf, offset, end, (offset, end) == (0, len(text)), rule)


def _is_id(text: str) -> bool:
    """Tell whether digits are no number: they begin with a zero, and none may be left out."""
    return len(text) > 1 and text[0] == "0" and text.isdigit()


def _number_at(text: str, offset: int, wanted: Decimal) -> tuple[int, str] | None:
    for written in written_numbers(text[max(0, offset - 8) : offset + _NUMBER_MAX]):
        start = written.start + max(0, offset - 8)
        if start == offset and written.key == decimal_key(wanted):
            return offset + written.end - written.start, written.rule
    end = offset
    while end < len(text) and text[end].isdigit():
        end += 1
    if is_cut(text, offset, end) or number_key(text[offset:end]) != decimal_key(wanted):
        return None
    prefixed = PREFIX_BEFORE.search(text, max(0, offset - 8), offset)
    return end, "prefix" if prefixed else "number"
