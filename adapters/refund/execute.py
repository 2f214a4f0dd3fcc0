"""What a granted refund approval runs, and how much of an order may be refunded beside others."""

import hashlib
from collections.abc import Sequence
from typing import Any

from tachograph.adapters.refund.arguments import RequestRefundApproval
from tachograph.adapters.refund.money import money
from tachograph.adapters.refund.shop import load_shop
from tachograph.domain.tools import ToolContext, tool


@tool(effect="idempotent")
def refund_execute(arguments: RequestRefundApproval, context: ToolContext) -> dict[str, Any]:
    """
    Refund exactly what was approved, at the order's gateway.

    The bundled shop's gateway is simulated: it keeps no books, and gives the same key the same refund.
    """
    order = load_shop().order_of(context.trusted.customer, arguments.order_id)
    amount = money(arguments.amount, arguments.currency)
    refund = hashlib.sha256(context.idempotency_key.encode()).hexdigest()[:12]
    return {
        "refund_id": f"rf_{refund}",
        "order_id": order.order_id,
        "payment_id": order.payment.payment_id,
        "gateway": order.payment.gateway,
        "amount_minor": amount.minor,
        "currency": amount.currency,
        "idempotency_key": context.idempotency_key,
        "status": "accepted",
    }


def refund_subject(arguments: RequestRefundApproval) -> str:
    """Return what refunds share a limit on."""
    return f"order {arguments.order_id}"


def refund_limit(arguments: RequestRefundApproval, others: Sequence[RequestRefundApproval]) -> str | None:
    """Say why a refund is more than is left of its order beside others; None if it isn't."""
    order = load_shop().orders.get(arguments.order_id)
    if order is None:
        return f"There is no order {arguments.order_id}."
    asked = money(arguments.amount, arguments.currency)
    held = sum(money(other.amount, other.currency).minor for other in others)
    left = order.refundable_minor - held
    if asked.currency != order.currency or asked.minor > left:
        return (
            f"{asked.formatted} is more than can still be refunded of {order.order_id}: "
            f"{order.money(max(0, left)).formatted}, beside {order.money(held).formatted} asked for before."
        )
    return None
