"""What a refund would come to: worked out from the order and the policy, and moving no money."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from tachograph.adapters.refund.arguments import RefundItem, RefundReason
from tachograph.adapters.refund.money import InvalidMoney, Money, gateway_minor, payable_step
from tachograph.adapters.refund.policy import Policy, Terms, Version
from tachograph.adapters.refund.shop import Item, Order, Refusal
from tachograph.domain.values import json_text

VALID_FOR: Final = timedelta(hours=24)
_ARRIVES: Final[Mapping[str, str]] = {"card": "5 to 7 business days", "gift_card": "at once"}


@dataclass(frozen=True, slots=True)
class _Line:
    item: Item
    quantity: int
    terms: Terms
    returnable_until: datetime
    fee_minor: int

    @property
    def goods_minor(self) -> int:
        return self.quantity * self.item.unit_goods_minor

    @property
    def tax_minor(self) -> int:
        return self.quantity * self.item.unit_tax_minor


def preview_refund(
    order: Order, policy: Policy, asked: Sequence[RefundItem], reason: RefundReason, as_of: datetime
) -> dict[str, Any]:
    """
    Work out a refund.

    Args:
        asked: What comes back; nothing stands for all that no other refund holds.
        as_of: The time of the preview, from which it is valid for 24 hours.
    Returns:
        The preview, with its `preview_digest` as the last key.
    Raises:
        Refusal: The policy, the order's state or the gateway doesn't allow this refund.
    """
    version = policy.in_force(order.placed_at)
    chosen = _chosen(order, asked)
    lines = [_line(order, version, item, quantity, reason, as_of) for item, quantity in chosen]
    goods, tax = sum(line.goods_minor for line in lines), sum(line.tax_minor for line in lines)
    fee = sum(line.fee_minor for line in lines)
    shipping = order.refundable_shipping_minor if _completes_return(order, chosen) else 0
    amount = order.money(goods + tax + shipping - fee)
    sent_minor = _payable(order, amount)
    preview = {
        "order_id": order.order_id,
        "customer_id": order.customer_id,
        "reason_code": reason,
        "lines": [_line_shown(order, policy, version, line) for line in lines],
        "goods_minor": goods,
        "tax_minor": tax,
        "shipping_minor": shipping,
        "restocking_fee_minor": fee,
        "amount_minor": amount.minor,
        "amount": amount.amount,
        "currency": amount.currency,
        "formatted": amount.formatted,
        "maximum_refundable_minor": order.refundable_minor,
        "gateway": {"name": order.payment.gateway, "amount_minor": sent_minor},
        "destination": {
            "payment_id": order.payment.payment_id,
            "method": order.payment.method,
            "label": order.payment.label,
            "arrives": _ARRIVES[order.payment.method],
        },
        "policy": {
            "document_id": policy.document_id,
            "version": version.version,
            "effective_from": version.effective_from,
            "references": sorted({policy.reference(version, line.terms.section) for line in lines}),
        },
        "approval": _approval_shown(amount, version),
        "previewed_at": as_of,
        "expires_at": as_of + VALID_FOR,
    }
    return {**preview, "preview_digest": preview_digest(preview)}


def preview_digest(preview: Mapping[str, Any]) -> str:
    """
    Return the SHA-256 of a preview, in hexadecimal.

    It is taken over the preview's compact JSON text, keys in the order in which they are shown, without
    `ok` and without the digest itself; so it can be checked from the recorded output.
    """
    covered = {key: value for key, value in preview.items() if key not in ("ok", "preview_digest")}
    return hashlib.sha256(json_text(covered).encode()).hexdigest()


def _chosen(order: Order, asked: Sequence[RefundItem]) -> list[tuple[Item, int]]:
    if not asked:
        left = [(item, order.refundable_quantity(item)) for item in order.items]
        chosen = [(item, quantity) for item, quantity in left if quantity]
        if not chosen:
            raise Refusal("not_eligible", f"Nothing is left to refund of order {order.order_id}.")
        return chosen
    if len({wanted.item_id for wanted in asked}) < len(asked):
        raise Refusal(
            "invalid_argument", "An item stands twice in the list; give it once, with its quantity."
        )
    return [(_item_left(order, wanted), wanted.quantity) for wanted in asked]


def _item_left(order: Order, wanted: RefundItem) -> Item:
    items = {item.item_id: item for item in order.items}
    if wanted.item_id not in items:
        known = ", ".join(items)
        raise Refusal("invalid_argument", f"The order has no item {wanted.item_id!r}, but: {known}.")
    item = items[wanted.item_id]
    left = order.refundable_quantity(item)
    if wanted.quantity > left:
        raise Refusal(
            "not_eligible",
            f"{wanted.quantity} of {wanted.item_id} asked for, {left} left; the others have been refunded or "
            "wait for a decision.",
        )
    return item


def _line(
    order: Order, version: Version, item: Item, quantity: int, reason: RefundReason, as_of: datetime
) -> _Line:
    if order.delivered_at is None:
        state = f"Order {order.order_id} is {order.status}, not delivered"
        raise Refusal("not_eligible", f"{state}; nothing can come back yet.")
    if item.category == "gift_card":
        raise Refusal(
            "not_eligible",
            f"{item.item_id} is a gift card; gift cards aren't refunded. Name the other items.",
        )
    terms = version.terms(
        opened_electronics=item.category == "electronics" and item.opened,
        our_fault=reason != "changed_mind",
    )
    until = order.delivered_at + timedelta(days=terms.days)
    if as_of > until:
        raise Refusal(
            "not_eligible",
            f"{item.item_id} could be returned within {terms.days} days of delivery, until "
            f"{until.isoformat()}; now it is {as_of.isoformat()} "
            f"(policy version {version.version}, section {terms.section}).",
        )
    step = payable_step(order.currency, order.payment.gateway)
    fee = _share(quantity * item.unit_goods_minor, terms.restocking_percent, step)
    return _Line(item, quantity, terms, until, fee)


def _share(minor: int, percent: int, step: int) -> int:
    steps = (Decimal(minor) * percent / 100 / step).quantize(Decimal(1), ROUND_HALF_UP)
    return int(steps) * step


def _completes_return(order: Order, chosen: Sequence[tuple[Item, int]]) -> bool:
    """Tell whether nothing would stay with the customer. A refund that may still be refused says no."""
    if order.pending_minor:
        return False
    coming_back = {item.item_id: quantity for item, quantity in chosen}
    return all(order.refundable_quantity(item) == coming_back.get(item.item_id, 0) for item in order.items)


def _payable(order: Order, amount: Money) -> int:
    if not 0 < amount.minor <= order.refundable_minor:
        most = order.money(order.refundable_minor).formatted
        raise Refusal(
            "not_eligible", f"{amount.formatted} can't be refunded; at most {most} is left of the order."
        )
    try:
        return gateway_minor(amount, order.payment.gateway)
    except InvalidMoney as exc:
        raise Refusal("amount_not_payable", f"{exc}.") from exc


def _approval_shown(amount: Money, version: Version) -> dict[str, Any]:
    limit = Money(version.rules.approval_limit_minor[amount.currency], amount.currency)
    above = amount.minor > limit.minor
    return {
        "group": "finance" if above else "support",
        "limit_minor": limit.minor,
        "limit": limit.formatted,
        "above_limit": above,
    }


def _line_shown(order: Order, policy: Policy, version: Version, line: _Line) -> dict[str, Any]:
    return {
        "item_id": line.item.item_id,
        "title": line.item.title,
        "quantity": line.quantity,
        "goods_minor": line.goods_minor,
        "tax_minor": line.tax_minor,
        "restocking_fee_minor": line.fee_minor,
        "formatted": order.money(line.goods_minor + line.tax_minor - line.fee_minor).formatted,
        "policy": policy.reference(version, line.terms.section),
        "returnable_until": line.returnable_until,
    }
