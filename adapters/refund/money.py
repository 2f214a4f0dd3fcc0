"""
Money in integer minor units, with the digits of its currency. Nothing here is ever a float.

How many digits a currency has comes from ISO 4217. Payment gateways differ from it for some
currencies, so an amount is converted, and checked, for the gateway that is to pay it:

    stripe   UGX and ISK are sent with two digits that must be zero; MGA has none;
             BHD, JOD, KWD, OMR and TND must end in a zero (docs.stripe.com/currencies)
    adyen    CLP and ISK have two digits; CVE and IDR have none
             (docs.adyen.com/development-resources/currency-codes)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tachograph.domain.currencies import CURRENCY_DIGITS


@dataclass(frozen=True, slots=True)
class GatewayRule:
    """How a gateway counts a currency: its number of digits, and what amounts must be a multiple of."""

    digits: int
    step: int = 1


_STRIPE: Final = {code: GatewayRule(3, step=10) for code in ("BHD", "JOD", "KWD", "OMR", "TND")} | {
    "ISK": GatewayRule(2, step=100),
    "UGX": GatewayRule(2, step=100),
    "MGA": GatewayRule(0),
}
_ADYEN: Final = {
    "CLP": GatewayRule(2),
    "CVE": GatewayRule(0),
    "IDR": GatewayRule(0),
    "ISK": GatewayRule(2),
}
_OVERRIDES: Final[Mapping[str, Mapping[str, GatewayRule]]] = {"stripe": _STRIPE, "adyen": _ADYEN}


class InvalidMoney(ValueError):
    """An amount, a currency or a gateway that money can't be made of; the message says why."""


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in minor units. Raises InvalidMoney for a currency without a number of digits."""

    minor: int
    currency: str

    def __post_init__(self) -> None:
        currency_digits(self.currency)

    @property
    def amount(self) -> Decimal:
        """The amount in major units with all digits of the currency: 175.70, 5000, 1.234."""
        return Decimal(self.minor).scaleb(-currency_digits(self.currency))

    @property
    def formatted(self) -> str:
        """The amount as people read it: "1,499.00 USD", "5,000 UGX", "1.234 KWD"."""
        return f"{self.amount:,f} {self.currency}"


def currency_digits(currency: str) -> int:
    """Return the number of minor-unit digits by ISO 4217. Raises InvalidMoney for an unknown code."""
    try:
        return CURRENCY_DIGITS[currency]
    except KeyError:
        raise InvalidMoney(f"{currency[:20]!r} is not an ISO 4217 currency with minor units") from None


def money(amount: Decimal, currency: str) -> Money:
    """Return the amount as Money. Raises InvalidMoney when it has more digits than its currency."""
    digits = currency_digits(currency)
    if not amount.is_finite():
        raise InvalidMoney(f"{amount} is not an amount")
    minor = amount.scaleb(digits)
    if minor != minor.to_integral_value():
        raise InvalidMoney(f"{amount} {currency} has more than the {digits} decimals of its currency")
    return Money(int(minor), currency)


def gateway_minor(value: Money, gateway: str) -> int:
    """
    Return the integer that the gateway's interface takes for this amount.

    Raises:
        InvalidMoney: The gateway is unknown or can't pay exactly this amount.
    """
    rule = _rule(gateway, value.currency)
    scaled = value.amount.scaleb(rule.digits)
    if scaled != scaled.to_integral_value() or int(scaled) % rule.step:
        smallest = Money(payable_step(value.currency, gateway), value.currency)
        raise InvalidMoney(
            f"{value.formatted} can't be paid through {gateway}, which pays multiples of {smallest.formatted}"
        )
    return int(scaled)


def from_gateway(minor: int, currency: str, gateway: str) -> Money:
    """Return what an integer from the gateway's interface stands for."""
    return money(Decimal(minor).scaleb(-_rule(gateway, currency).digits), currency)


def payable_step(currency: str, gateway: str) -> int:
    """Return the smallest amount that the gateway can pay, in minor units by ISO 4217."""
    rule = _rule(gateway, currency)
    return max(1, int(Decimal(rule.step).scaleb(currency_digits(currency) - rule.digits)))


def _rule(gateway: str, currency: str) -> GatewayRule:
    if gateway not in _OVERRIDES:
        raise InvalidMoney(f"no rules for a gateway {gateway[:40]!r}; known: {', '.join(sorted(_OVERRIDES))}")
    return _OVERRIDES[gateway].get(currency) or GatewayRule(currency_digits(currency))
