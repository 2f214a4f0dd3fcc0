"""
What can be asked for in a text, as keys of postings, each with its place.

    WORD                a word in its form
    n NUMBER            a number by its key, or digits whatever zeros they begin with
    p DIGITS            digits behind a prefix of letters, as in `W123456`
    g CHARACTERS        a long number that is written in groups
    d DAY, m DAY, y YEAR    a day, the same of any year, a year that a day was given with
    t TEXT              a text without a word, or JSON in a text as the whole that it is
"""

from collections.abc import Callable

from tachograph.domain.why.dates import Day, dates
from tachograph.domain.why.groups import LENGTH_MIN, grouped
from tachograph.domain.why.numbers import core_of, number_key, word_key, written_numbers
from tachograph.domain.why.words import form, word_forms


def number(key: str) -> str:
    """Return the key of a number."""
    return f"n\0{key}"


def core(digits: str) -> str:
    """Return the key of digits behind a prefix."""
    return f"p\0{digits}"


def groups(compact: str) -> str:
    """Return the key of a long number in groups."""
    return f"g\0{compact}"


def day(value: Day) -> str:
    """Return the key of a day; year 0: those without a year."""
    return f"d\0{value}"


def day_of_any_year(value: tuple[int, int]) -> str:
    """Return the key of a month and day with a year."""
    return f"m\0{value}"


def year(value: int) -> str:
    """Return the key of a year."""
    return f"y\0{value}"


def whole(text: str) -> str:
    """Return the key of a text without a word."""
    return f"t\0{text}"


def post_number(add: Callable[[str, int], None], lexeme: str, base: int) -> None:
    """Add the key of a JSON number that stands at a place."""
    add(number(str(number_key(lexeme))), base)


def post_text(add: Callable[[str, int], None], text: str, base: int) -> None:
    """Add the keys of a text that begins at a place."""
    any_word = any_digit = False
    for start, word in word_forms(text):
        any_word = True
        if word.isalpha():
            add(word, base + start)
            continue
        any_digit = True
        add(word_key(word), base + start)
        if digits := core_of(word):
            add(core(digits), base + start)
    if not any_word:
        add(whole(form(text)), base)
    if not any_digit or len(text) < 3:
        return
    if len(text) > LENGTH_MIN:
        for group in grouped(text):
            add(groups(group.compact), base + group.start)
    if len(text) == 8 or not text.isdigit():
        for written in written_numbers(text):
            add(number(written.key), base + written.start)
        for dated in dates(text):
            add(day(dated.day), base + dated.start)
            if dated.day[0]:
                add(day_of_any_year(dated.day[1:]), base + dated.start)
                add(year(dated.day[0]), base + dated.start)
