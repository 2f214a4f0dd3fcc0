"""The amount that an approval is about, out of its arguments: the one thing of them that facts have."""

import json
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from tachograph.domain.currencies import CURRENCY_DIGITS

_MINOR_MAX: Final = 10**15
_DIGITS_MAX: Final = 15


class Amount(NamedTuple):
    """What an approval is about: a plain decimal, its currency, and the same in minor units."""

    amount: str | None = None
    currency: str | None = None
    minor: int | None = None


def amount_of(arguments: str) -> Amount:
    """
    Return the amount that arguments ask for: their members `amount` and `currency`.

    Args:
        arguments: JSON text.
    Returns:
        Nothing where there is no plain amount; no minor units where the currency has none that are known, or
        the amount isn't a whole number of them.
    """
    try:
        found = json.loads(arguments, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return Amount()
    if not isinstance(found, dict) or not isinstance(found.get("amount"), str):
        return Amount()
    currency = found.get("currency")
    known = currency if isinstance(currency, str) and currency in CURRENCY_DIGITS else None
    try:
        exact = Decimal(found["amount"])
    except InvalidOperation:
        return Amount()
    if (
        not exact.is_finite()
        or abs(exact.adjusted()) > _DIGITS_MAX
        or len(exact.as_tuple().digits) > _DIGITS_MAX
    ):
        return Amount()
    return Amount(f"{exact:f}", known, _minor(exact, known))


def _minor(amount: Decimal, currency: str | None) -> int | None:
    if currency is None:
        return None
    minor = amount.scaleb(CURRENCY_DIGITS[currency])
    return int(minor) if minor == minor.to_integral_value() and abs(minor) <= _MINOR_MAX else None
