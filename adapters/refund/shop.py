"""The shop that the bundled refund agent works for: its customers and orders, as read from `shop.json`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from importlib.resources import files
from typing import Any, Final, Literal, ParamSpec, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from tachograph.adapters.refund.money import Money

RefusalCode = Literal[
    "not_found", "permission_denied", "invalid_argument", "not_eligible", "amount_not_payable"
]
Parameters = ParamSpec("Parameters")

_HELD: Final = ("succeeded", "pending", "pending_approval")


class Refusal(Exception):
    """What was asked for can't be had; the model is told the code and the reason, and may react."""

    def __init__(self, code: RefusalCode, reason: str) -> None:
        super().__init__(reason)
        self.code: RefusalCode = code
        self.reason = reason


class DamagedOrder(RuntimeError):
    """An order's record contradicts itself. Nobody who calls the tool can mend that, so it fails."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Customer(_Record):
    """Someone who buys in the shop."""

    customer_id: str
    name: str


class Item(_Record):
    """One line of an order. `opened` is what the customer declared when asking for the return."""

    item_id: str
    title: str
    category: Literal["electronics", "stationery", "home", "gift_card"]
    opened: bool
    quantity: int = Field(ge=1)
    unit_price_minor: int = Field(ge=0)
    unit_discount_minor: int = Field(ge=0)
    unit_tax_minor: int = Field(ge=0)

    @property
    def unit_goods_minor(self) -> int:
        """What one piece cost before tax."""
        return self.unit_price_minor - self.unit_discount_minor

    @property
    def unit_total_minor(self) -> int:
        """What was paid for one piece, tax included."""
        return self.unit_goods_minor + self.unit_tax_minor


class Payment(_Record):
    """How the order was paid, and what the gateway captured."""

    payment_id: str
    method: Literal["card", "gift_card"]
    label: str
    gateway: Literal["stripe", "adyen"]
    captured_minor: int = Field(ge=0)
    captured_at: AwareDatetime


class RefundedItem(_Record):
    """Pieces of one item that a refund is for."""

    item_id: str
    quantity: int = Field(ge=1)


class PriorRefund(_Record):
    """A refund asked for or made before; one that failed or was refused holds nothing back."""

    refund_id: str
    status: Literal["pending_approval", "pending", "succeeded", "refused", "failed"]
    requested_at: AwareDatetime
    lines: list[RefundedItem]
    shipping_minor: int = Field(ge=0)
    amount_minor: int = Field(ge=0)


class Order(_Record):
    """An order with its payment and the refunds so far. Amounts are minor units of its currency."""

    order_id: str
    customer_id: str
    currency: str
    status: Literal["processed", "delivered"]
    placed_at: AwareDatetime
    delivered_at: AwareDatetime | None
    items: list[Item]
    shipping_minor: int = Field(ge=0)
    payment: Payment
    refunds: list[PriorRefund]

    def money(self, minor: int) -> Money:
        """Return an amount in the order's currency."""
        return Money(minor, self.currency)

    @property
    def total_minor(self) -> int:
        """What the items and their delivery come to."""
        return sum(item.quantity * item.unit_total_minor for item in self.items) + self.shipping_minor

    @property
    def refunded_minor(self) -> int:
        """What has gone back to the customer."""
        return sum(refund.amount_minor for refund in self.refunds if refund.status == "succeeded")

    @property
    def pending_minor(self) -> int:
        """What has been asked for and not been decided or paid yet."""
        held = [refund for refund in self.refunds if refund.status in _HELD]
        return sum(refund.amount_minor for refund in held) - self.refunded_minor

    @property
    def refundable_minor(self) -> int:
        """What may still go back: captured, less refunded, less pending."""
        return self.payment.captured_minor - self.refunded_minor - self.pending_minor

    @property
    def refundable_shipping_minor(self) -> int:
        """The part of the delivery charge that no refund holds."""
        held = [refund.shipping_minor for refund in self.refunds if refund.status in _HELD]
        return self.shipping_minor - sum(held)

    def refundable_quantity(self, item: Item) -> int:
        """Return how many pieces of an item no refund holds."""
        lines = [line for refund in self.refunds if refund.status in _HELD for line in refund.lines]
        return item.quantity - sum(line.quantity for line in lines if line.item_id == item.item_id)

    def check(self) -> Self:
        """Return the order. Raises DamagedOrder when its parts contradict each other."""
        if self.total_minor != self.payment.captured_minor:
            raise DamagedOrder(
                f"order {self.order_id}: its parts come to {self.money(self.total_minor).formatted}, "
                f"its payment to {self.money(self.payment.captured_minor).formatted}"
            )
        if self.refundable_minor < 0 or any(self.refundable_quantity(item) < 0 for item in self.items):
            raise DamagedOrder(f"order {self.order_id}: more refunds than it can hold")
        return self


class _ShopFile(_Record):
    name: str
    as_of: AwareDatetime
    customers: list[Customer]
    orders: list[Order]

    @model_validator(mode="after")
    def _customers_exist(self) -> Self:
        known = {customer.customer_id for customer in self.customers}
        unknown = {order.customer_id for order in self.orders} - known
        if unknown:
            raise ValueError(f"orders of unknown customers: {sorted(unknown)}")
        return self


@dataclass(frozen=True, slots=True)
class Shop:
    """The shop as it stood at `as_of`, the only time that its tools know."""

    name: str
    as_of: AwareDatetime
    customers: Mapping[str, Customer]
    orders: Mapping[str, Order]

    def order_of(self, customer_id: str | None, order_id: str) -> Order:
        """
        Return an order that belongs to the customer.

        Raises:
            Refusal: There is no such order, or it is somebody else's.
            DamagedOrder: Its record contradicts itself.
        """
        order = self.orders.get(order_id)
        if order is None:
            hint = "" if order_id.startswith("#") else f" Order ids begin with '#': try '#{order_id}'."
            raise Refusal("not_found", f"There is no order {order_id!r}.{hint}")
        if order.customer_id != customer_id:
            raise Refusal(
                "permission_denied", f"Order {order_id} doesn't belong to the customer of this conversation."
            )
        return order.check()


@cache
def load_shop() -> Shop:
    """Return the bundled shop."""
    text = files("tachograph.adapters.refund").joinpath("shop.json").read_text(encoding="utf-8")
    loaded = _ShopFile.model_validate_json(text)
    return Shop(
        name=loaded.name,
        as_of=loaded.as_of,
        customers={customer.customer_id: customer for customer in loaded.customers},
        orders={order.order_id: order for order in loaded.orders},
    )


def telling_refusals(
    handler: Callable[Parameters, dict[str, Any]],
) -> Callable[Parameters, dict[str, Any]]:
    """Let a tool's handler answer a Refusal as its output: `ok` false, a code and a reason."""

    @wraps(handler)
    def answer(*args: Parameters.args, **kwargs: Parameters.kwargs) -> dict[str, Any]:
        try:
            return {"ok": True, **handler(*args, **kwargs)}
        except Refusal as refusal:
            return {"ok": False, "code": refusal.code, "reason": refusal.reason}

    return answer
