"""Long numbers written in groups: of a telephone, a card, a bank account (IBAN, ISO 13616)."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

LENGTH_MIN: Final = 10
_DIGITS_MIN: Final = 6
_VALUE_MAX: Final = 60
_GROUPED: Final = re.compile(
    r"(?<![\w.,/-])(?:"
    r"\+?\(?[0-9]{1,4}\)?(?:[ ().-]{1,2}[0-9]{2,8}){1,6}"
    r"|[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?"
    r")(?![\w-])"
)
# Amounts and small numbers beside each other; a telephone in pairs of digits begins with a zero.
_LISTED: Final = re.compile(r"(?=.*\.)(?=.* )[0-9. ]+|[1-9][0-9](?: [0-9]{2})+")
_SIGNS: Final = re.compile(r"[^0-9A-Za-z]+")
_VALUE: Final = re.compile(r"\+?[0-9A-Za-z(][0-9A-Za-z ().-]*[0-9A-Za-z]")


class Grouped(NamedTuple):
    """A number in groups: its place, and its characters without what stands between them."""

    start: int
    end: int
    compact: str


def grouped(text: str) -> Iterator[Grouped]:
    """Yield the long numbers of a text that are written in groups."""
    for found in _GROUPED.finditer(text):
        compact = _SIGNS.sub("", found[0]).lower()
        if len(compact) >= LENGTH_MIN and not _LISTED.fullmatch(found[0]):
            yield Grouped(found.start(), found.end(), compact)


def compact_of(value: str) -> str | None:
    """Return a long number without what stands between its groups; None for what is no such number."""
    if len(value) > _VALUE_MAX or not _VALUE.fullmatch(value):
        return None
    compact = _SIGNS.sub("", value).lower()
    enough = len(compact) >= LENGTH_MIN and sum(map(str.isdigit, compact)) >= _DIGITS_MIN
    return compact if enough and compact.isascii() else None
