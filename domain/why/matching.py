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
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

from tachograph.domain.why.dates import dates, one_date
from tachograph.domain.why.index import Index
from tachograph.domain.why.leaves import Lexeme
from tachograph.domain.why.numbers import as_decimal, decimal_key, number_key, written_numbers
from tachograph.domain.why.units import minor_readings
from tachograph.domain.why.words import Word, form, words

PLACES_MAX: Final = 1_000  # of one key; the latest ones
VALUE_MAX: Final = 4_000  # characters of a value that is looked up as a whole
_DATE_MAX: Final = 40
_NUMBER_MAX: Final = 70
_SLACK: Final = 24
_NAME: Final = re.compile(r"[A-Za-z]+(?:[ _-][A-Za-z]+){1,5}")
_ID: Final = re.compile(r"[^\w\s]?([a-z]{1,4})[-_]?([0-9]{5,})")
_BARE_ID: Final = re.compile(r"[^\w\s]?([0-9]{5,})")
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
_PREFIX_BEFORE: Final = re.compile(r"(?<![\w-])[A-Za-z]{1,4}-\Z")


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
        found += _matches_of_day(index, value, before)
        found += _matches_of_instant(index, value, before)
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
            rule = "exact" if text[offset:end] == value else rule
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
    if _is_cut(text, offset, end) or number_key(text[offset:end]) != decimal_key(wanted):
        return None
    return end, "number"


def _matches_of_text(index: Index, value: str, before: int) -> Iterator[Match]:
    parts = list(words(value))
    if not parts:
        for position in index.whole(form(value), before)[-PLACES_MAX:]:
            leaf, _ = index.place(position)
            if form(index.text(leaf)) == form(value):
                yield _match(index, leaf, 0, len(index.text(leaf)), value, 0)
        return
    places = [(index.word(part.form, before), part) for part in parts]
    rarest, pivot = min(places, key=lambda found: len(found[0]))
    for position in rarest[-PLACES_MAX:]:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        if index.is_number(leaf):
            if text == value:
                yield Match(leaf, 0, len(text), True, "number")
            continue
        span = _aligned(text, offset, value, parts, pivot)
        if span is not None and not _is_cut(text, *span):
            yield _match(index, leaf, *span, value, parts[0].start)


def _spellings(value: str) -> Iterator[str]:
    """Yield a name of several words with spaces in place of underscores, and with underscores."""
    parts = _NAME.fullmatch(value)
    if parts:
        spaced = re.sub("[ _-]", " ", value)
        yield from (other for other in (spaced, spaced.replace(" ", "_")) if other != value)


def _aligned(text: str, at: int, value: str, parts: list[Word], pivot: Word) -> tuple[int, int] | None:
    """Return where all words of a value stand around one of them, None if they don't."""
    first, last = parts[0], parts[-1]
    start = at - (pivot.start - first.start)
    end = start + last.end - first.start
    if start >= 0 and text[start:end] == value[first.start : last.end] and _ends_words(text, start, end):
        return start, end
    lead, follow = pivot.start - first.start, last.end - pivot.start
    from_ = max(0, at - 2 * lead - _SLACK)
    while from_ > 0 and text[from_ - 1].isalnum() and at - from_ < 4 * lead + 200:
        from_ -= 1
    around = list(words(text, from_, at + 2 * follow + _SLACK))
    place = next((number for number, word in enumerate(around) if word.start == at), None)
    if place is None:
        return None
    begin = place - parts.index(pivot)
    chosen = around[begin : begin + len(parts)] if begin >= 0 else []
    if [word.form for word in chosen] != [part.form for part in parts]:
        return None
    for (one, other), (here, there) in zip(pairwise(parts), pairwise(chosen), strict=True):
        wanted, found = value[one.end : other.start], text[here.end : there.start]
        digits = one.form[-1].isdigit() and other.form[0].isdigit()
        if wanted != found and (digits or len(found) > 3 or "\n\n" in found):
            return None
    return chosen[0].start, chosen[-1].end


def _ends_words(text: str, start: int, end: int) -> bool:
    before_ok = start == 0 or not (text[start - 1].isalnum() or text[start - 1] == "_")
    return before_ok and (end == len(text) or not (text[end].isalnum() or text[end] == "_"))


def _match(index: Index, leaf: int, start: int, end: int, value: str, lead: int) -> Match:
    """Widen a span by the signs around the value, and name the rule by which they are equal."""
    text = index.text(leaf)
    trail = len(value) - lead - (end - start)
    if lead and text[max(0, start - lead) : start] == value[:lead]:
        start -= lead
    if 0 < trail <= 3 and text[end : end + trail] == value[-trail:]:
        end += trail
    found = text[start:end]
    whole = not text[:start].strip() and not text[end:].strip()
    if _PREFIX_BEFORE.search(text, max(0, start - 8), start):
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


def _is_cut(text: str, start: int, end: int) -> bool:
    """Tell whether a span is a piece of something longer: of a number, a date, an address, an id."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if len(before) == 2 and before[0].isalnum():
        sign, digits = before[1], before[0].isdigit() and text[start].isdigit()
        if sign in "@." or (sign in "-/:,+" and digits):
            return True
        any_digit = any(map(str.isdigit, text[start:end]))
        if sign == "-" and any_digit and not _PREFIX_BEFORE.search(text, max(0, start - 8), start):
            return True
    if len(after) == 2 and after[1].isalnum():
        digits = after[1].isdigit() and text[end - 1].isdigit()
        if after[0] in "@." or (after[0] in "-/:,+" and digits):
            return not (after[0] == "." and not digits and text[end - 1].isalpha() and after[1].isupper())
        return after[0] == "-" and any(map(str.isdigit, text[start:end]))
    return False


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
        if found and found.form.endswith(core) and not _is_cut(text, found.start, found.end):
            if bare or found.form == core:
                yield Match(
                    leaf, found.start, found.end, found.start <= 1 and found.end == len(text), "prefix"
                )


def _matches_of_day(index: Index, value: str, before: int) -> Iterator[Match]:
    day = one_date(value)
    if day is None:
        return
    year, month, number = day
    positions = index.day(day, before)[-PLACES_MAX:]
    said = index.years.get(year)
    if said is not None and said < before:
        positions += index.day((0, month, number), before)[-PLACES_MAX:]
    for position in positions:
        leaf, offset = index.place(position)
        text = index.text(leaf)
        for dated in dates(text[offset : offset + _DATE_MAX]):
            if dated.start == 0 and dated.day in (day, (0, month, number)):
                end = offset + dated.end
                whole = (offset, end) == (0, len(text))
                note = dated.note
                rule = dated.rule
                if dated.day[0] == 0:
                    rule = "date_without_year"
                    note = "; ".join(filter(None, (note, f"the year {year} is known from elsewhere")))
                elif rule == "date_form" and text[offset:end] == value:
                    rule = "exact"
                    if not whole and text[end : end + 1] in ("T", " ") and offset == 0:
                        rule, whole = "date_part", True
                yield Match(leaf, offset, end, whole, rule, note)
                break


def _matches_of_instant(index: Index, value: str, before: int) -> Iterator[Match]:
    if not _INSTANT.match(value):
        return
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return
    if instant.tzinfo is None:
        return
    for days in (-1, 0, 1):
        try:
            day = (instant + timedelta(days=days)).date()
        except OverflowError:
            continue
        for position in index.day((day.year, day.month, day.day), before)[-PLACES_MAX:]:
            leaf, offset = index.place(position)
            text = index.text(leaf)
            try:
                same = offset == 0 and datetime.fromisoformat(text) == instant
            except (ValueError, TypeError):
                continue
            if same:
                yield Match(leaf, 0, len(text), True, "exact" if text == value else "time_form")
