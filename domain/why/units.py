"""Amounts in the minor unit of a currency: which numbers an amount could stand as, and when it may."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tachograph.domain.currencies import CURRENCY_DIGITS
from tachograph.domain.why.index import Index
from tachograph.domain.why.numbers import decimal_key, shifted
from tachograph.domain.why.words import field_words

_DIGITS: Final = (2, 3, 4)
_LEVELS_MAX: Final = 3
MONEY: Final = frozenset(
    {"amount", "price", "cost", "fee", "total", "refund", "payment", "charge", "balance", "credit", "limit"}
    | {"subtotal", "sum", "tax", "discount", "fare", "deposit", "gross", "net"}
)
_PLAIN: Final = frozenset({"value", "unit", "units"})
_FRACTION: Final = re.compile(r"[-+]?[0-9]+[.,][0-9]{2}")
_SIGNS: Final = {
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "dollar": "USD",
    "euro": "EUR",
} | {
    "yen": "JPY",
    "yuan": "CNY",
    "rupee": "INR",
    "元": "CNY",
    "円": "JPY",
    "원": "KRW",
}
_BEFORE: Final = re.compile(r"([$€£¥₹]|\b[A-Z]{3})\s?\Z")
_AFTER: Final = re.compile(r"\s?([$€£¥₹]|[A-Z]{3}\b|[元円원]|(?:dollar|euro|yen|yuan|rupee)(?=s?\b))")
MINOR: Final = frozenset({"minor", "cent", "penny", "pence"})


@dataclass(frozen=True, slots=True)
class MinorUnits:
    """A reading of a number as so many digits' minor units."""

    digits: int

    @property
    def note(self) -> str:
        """What the reading assumes."""
        return f"read as minor units of {self.digits} digits"

    def fits(self, index: Index, leaf: int) -> bool:
        """
        Tell whether a leaf is in such units: a currency of so many digits stands beside it or above.

        It has to be named as money, or as nothing more than a value. A record with an amount
        that has a fraction counts in major units, unless the field's own name says minor or cents.
        """
        key = str(index.key(leaf))
        named = field_words(key) & MINOR
        if not (named or field_words(key) & MONEY or key in _PLAIN):
            return False
        currency = currency_beside(index, leaf)
        if currency is None:
            return bool(named & {"cent"}) and self.digits == 2
        return CURRENCY_DIGITS.get(currency) == self.digits and (
            bool(named) or not index.remembered(_has_fraction, index.container(leaf))
        )


def minor_readings(wanted: Decimal) -> Iterator[tuple[str, MinorUnits]]:
    """Yield the keys under which an amount could stand in minor units."""
    for digits in _DIGITS:
        minor = shifted(wanted, digits)
        if wanted and minor == minor.to_integral_value():
            yield decimal_key(minor), MinorUnits(digits)


def major_readings(wanted: Decimal) -> Iterator[tuple[Decimal, MinorUnits]]:
    """Yield the amounts that a number in minor units could stand as."""
    if wanted and wanted == wanted.to_integral_value():
        for digits in _DIGITS:
            yield shifted(wanted, -digits), MinorUnits(digits)


def currency_around(text: str, start: int, end: int) -> str | None:
    """Return the ISO 4217 code of the currency that stands right before or after an amount in a text."""
    before = _BEFORE.search(text[max(0, start - 5) : start])
    after = _AFTER.match(text, end)
    for found in (before, after):
        code = _SIGNS.get(found[1], found[1]) if found else None
        if code in CURRENCY_DIGITS:
            return code
    return None


def currency_beside(index: Index, leaf: int) -> str | None:
    """Return the ISO 4217 code in a field named currency of the leaf's record, or of one around it."""
    container = index.container(leaf)
    for _ in range(_LEVELS_MAX):
        if container < 0:
            return None
        code = index.remembered(_currency_of, container)
        if code is not None:
            return code
        container = index.records.parent(container)
    return None


def _currency_of(index: Index, container: int) -> str | None:
    for member in index.records.members_of(container):
        if "currency" in field_words(str(index.key(member))):
            code = index.text(member).upper()
            if code in CURRENCY_DIGITS:
                return code
    return None


def _has_fraction(index: Index, container: int) -> bool:
    return container >= 0 and any(
        "." in index.text(other) if index.is_number(other) else _FRACTION.fullmatch(index.text(other))
        for other in index.records.members_of(container)
    )
