"""What the refund agent's tools and terminals take; the descriptions are what the model reads."""

import re
from decimal import Decimal
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tachograph.adapters.refund.money import InvalidMoney, money
from tachograph.domain.why.annotations import Evidence, From

RefundReason = Literal["changed_mind", "faulty", "damaged_on_arrival", "not_as_described", "wrong_item"]

_PLAIN_AMOUNT: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,4})?")


def _plain_amount(value: object) -> Decimal:
    # A number that reaches a validator is one that a double holds exactly, so its repr is its lexeme.
    text = repr(value) if type(value) in (int, float) else value
    if not (isinstance(text, str) and _PLAIN_AMOUNT.fullmatch(text)):
        raise ValueError("write an amount as digits with a decimal point and nothing else, such as 1499.00")
    return Decimal(text)


OrderId = Annotated[
    str, Field(min_length=1, max_length=40, description="The order's id with its '#', such as #LL-10412.")
]
Amount = Annotated[
    Decimal,
    Field(gt=0, max_digits=14, decimal_places=4, description="In major units, such as 175.77."),
    BeforeValidator(_plain_amount),
]
PolicyReference = Annotated[
    str, Field(min_length=1, max_length=100, description="Such as returns-policy/2#opened-electronics.")
]


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PolicySearch(_Arguments):
    """A search in the returns policy."""

    query: str = Field(
        min_length=1, max_length=200, description="A few words, such as 'opened electronics return'."
    )
    limit: int = Field(default=4, ge=1, le=20, description="The most passages to return.")


class OrderRead(_Arguments):
    """The order to read."""

    order_id: Annotated[OrderId, Evidence()]


class RefundItem(_Arguments):
    """Pieces of one item of the order."""

    item_id: Annotated[str, Evidence()] = Field(
        min_length=1, max_length=40, description="The item's id as order_read gives it."
    )
    quantity: int = Field(default=1, ge=1, le=1000, description="How many pieces come back.")


class RefundPreview(_Arguments):
    """What is to be refunded, and why."""

    order_id: Annotated[OrderId, Evidence()]
    reason_code: RefundReason = Field(description="Why the customer wants the money back.")
    items: tuple[RefundItem, ...] = Field(
        default=(), max_length=50, description="What comes back; leave it out for all that is still there."
    )


class AnswerUser(_Arguments):
    """The final answer."""

    text: str = Field(min_length=1, max_length=4000, description="What the customer reads.")
    policy_references: tuple[PolicyReference, ...] = Field(
        default=(), max_length=5, description="The policy sections that the answer rests on, as found."
    )


class AskClarification(_Arguments):
    """A question that only the customer can answer."""

    question: str = Field(min_length=1, max_length=1000, description="One question to the customer.")
    missing: Literal["order_id", "items", "reason", "other"] = Field(description="What is not known.")


class RequestRefundApproval(_Arguments):
    """The refund that a person is asked to approve, exactly as previewed."""

    order_id: Annotated[OrderId, From("refund_preview", "/order_id")]
    preview_digest: Annotated[str, From("refund_preview", "/preview_digest")] = Field(
        pattern=r"^[0-9a-f]{64}$", description="preview_digest of the refund_preview, unchanged."
    )
    amount: Annotated[Amount, From("refund_preview", "/amount")]
    currency: Annotated[str, From("refund_preview", "/currency")] = Field(
        pattern=r"^[A-Z]{3}$", description="The currency of the preview, such as USD."
    )
    reason_code: Annotated[RefundReason, From("refund_preview", "/reason_code")] = Field(
        description="The reason that was previewed."
    )
    explanation: Annotated[str, Evidence()] = Field(
        min_length=1,
        max_length=2000,
        description="For the approver: what the customer wants and why the policy allows it.",
    )

    @model_validator(mode="after")
    def _amount_fits_currency(self) -> Self:
        try:
            money(self.amount, self.currency)
        except InvalidMoney as exc:
            raise ValueError(str(exc)) from exc
        return self


class RequestHandoff(_Arguments):
    """What a person of the support team needs to take over."""

    reason_code: Literal[
        "tool_failure", "out_of_scope", "policy_exception", "suspicious_request", "customer_asks_for_person"
    ] = Field(description="Why a person has to take over.")
    summary: str = Field(
        min_length=1,
        max_length=2000,
        description="For the colleague: the request, what is known and what failed.",
    )
    order_id: OrderId | None = Field(default=None, description="The order, if the request is about one.")
