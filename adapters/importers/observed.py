"""What a span says of an agent's work, whatever convention its attributes follow."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from tachograph.adapters.importers.conversation import NO_USAGE, ForeignCall, ForeignMessage, Utterance
from tachograph.adapters.importers.document import Node
from tachograph.adapters.importers.otlp import ForeignSpan
from tachograph.domain.budget import Usage

_NO_CALL: Final = ForeignCall(None, "", None)
_COST: Final = re.compile(r"\d{1,12}(\.\d{1,30})?([eE][+-]?\d{1,2})?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Observed:
    """
    A span in the terms of a conversation.

    Args:
        kind: `other` when it stands for nothing that was said or done.
        conversation: Id of the conversation that the program took it for.
        agent: Name of the agent, of a model call too where it says so.
        policy: Instructions beside the messages.
        said_in: What the model was given, the whole history; None when the span doesn't say.
        said_out: What it answered; None when the span doesn't say.
        call, output: What a tool was called with, and its answer. `output` None: the span doesn't say.
        error: What the tool said went wrong.
        outcome: How an agent's run ended, in this program's own exports.
        notes: What is not taken over, in words for people.
    """

    span: ForeignSpan
    kind: Literal["chat", "agent", "tool", "other"]
    conversation: str | None = None
    agent: str | None = None
    policy: str | None = None
    said_in: tuple[ForeignMessage, ...] | None = None
    said_out: Utterance | None = None
    usage: Usage = NO_USAGE
    cost_usd: Decimal | None = None
    model: str | None = None
    model_answered: str | None = None
    response_id: str | None = None
    call: ForeignCall = _NO_CALL
    output: str | None = None
    error: str | None = None
    outcome: str | None = None
    notes: tuple[str, ...] = ()


def tokens(place: Node, *names: str) -> int:
    """Return the first of some counts that is there; 0 when none is."""
    for name in names:
        lexeme = place.number_or_none(name)
        if lexeme is not None:
            if not lexeme.isascii() or not lexeme.isdigit() or len(lexeme) > 15:
                place.reject(f"{name} must be a count, not {lexeme[:40]}")
            return int(lexeme)
    return 0


def cost(place: Node, name: str) -> Decimal | None:
    """Return an amount, if it is there."""
    lexeme = place.number_or_none(name)
    if lexeme is not None and not _COST.match(lexeme):
        place.reject(f"{name} must be an amount, not {lexeme[:40]}")
    return None if lexeme is None else Decimal(lexeme)


def exception_of(span: ForeignSpan) -> str | None:
    """Return the message of the exception that a span holds."""
    for name, event in span.events:
        if name == "exception":
            return event.text_or_none("exception.message") or event.text_or_none("exception.type")
    return None
