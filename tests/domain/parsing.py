"""Models of arguments, and what becomes of a text that is parsed by one."""

from decimal import Decimal
from typing import TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from tachograph.domain.arguments import (
    ArgumentsRefused,
    parse_arguments,
)

AnyModel = TypeVar("AnyModel", bound=BaseModel)
CODES = {"invalid_json", "duplicate_key", "arguments_not_object", "invalid_arguments"}


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class Note(BaseModel):
    model_config = ConfigDict(extra="forbid")

    note: str = "none"


class Refund(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str
    qty: int = 1
    amount: Decimal | None = None
    share: float | None = None
    notify: bool = False
    lines: list[Note] = []


def refusal(raw: str | None, model: type[BaseModel] = Refund) -> tuple[str, str]:
    with pytest.raises(ArgumentsRefused) as caught:
        parse_arguments(raw, model)
    return caught.value.code, str(caught.value)


def parsed_or_refused(raw: str, model: type[AnyModel]) -> AnyModel | ArgumentsRefused:
    try:
        return parse_arguments(raw, model)
    except ArgumentsRefused as exc:
        return exc


def code(raw: str | None, model: type[BaseModel] = Refund) -> str:
    return refusal(raw, model)[0]


class Judged(BaseModel):
    amount: str

    @field_validator("amount")
    @classmethod
    def is_amount(cls, amount: str) -> str:
        Decimal(amount)
        return amount
