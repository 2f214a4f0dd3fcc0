"""The limits and rules that could have stopped a decision, each with its margin."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from tachograph.domain.budget import Budget, Totals
from tachograph.domain.currencies import CURRENCY_DIGITS
from tachograph.domain.why.argument import Argument, Number
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.explanation import Limit
from tachograph.domain.why.index import Index
from tachograph.domain.why.match import Match
from tachograph.domain.why.numbers import as_decimal, shifted
from tachograph.domain.why.sources import QUOTE_MAX, source_of
from tachograph.domain.why.units import currency_beside
from tachograph.domain.why.words import field_words

LIMITS_MAX: Final = 20
_UPPER: Final = frozenset({"limit", "maximum", "max", "most", "cap", "refundable", "remaining", "allowed"})
_TIMES: Final = frozenset({"until", "deadline", "expires", "expiry"})
_MINOR: Final = frozenset({"minor", "cent"})
_MONEY: Final = re.compile(r"([0-9][0-9.,]*)\s([A-Z]{3})")


def budget_limits(budget: Budget, totals: Totals, wall_s: float, calls: Sequence[str]) -> Iterator[Limit]:
    """
    Yield what the run's budget allows and what was used of it when the call was made.

    Args:
        calls: Names of the tools that were called, in order.
    """
    most_of_one = max((calls.count(name) for name in calls), default=0)
    used: list[tuple[str, object, Decimal]] = [
        ("max_steps", budget.max_steps, Decimal(totals.steps)),
        ("max_tool_calls", budget.max_tool_calls, Decimal(len(calls))),
        ("max_calls_per_tool", budget.max_calls_per_tool, Decimal(most_of_one)),
        ("max_tokens", budget.max_tokens, Decimal(totals.tokens_in + totals.tokens_out)),
        ("max_cost_usd", budget.max_cost_usd, totals.cost_usd or Decimal(0)),
        ("max_wall_s", budget.max_wall_s, Decimal(str(wall_s))),
    ]
    for name, limit, asked in used:
        if limit is not None:
            left = Decimal(str(limit)) - asked
            yield Limit("budget", name, str(limit), f"{asked:f}", f"{left:f}")


def recorded_limits(evidence: Evidence, arguments: Sequence[Argument], before: int) -> Iterator[Limit]:
    """Yield the limits that stand in the records which the arguments come from, told by their names."""
    amounts = [
        value
        for argument in arguments
        if isinstance(argument.value, Number) and (value := as_decimal(argument.value.lexeme)) is not None
    ]
    fed = {
        (source.run_id, source.version)
        for argument in arguments
        for source in argument.sources[:1]
        if source.trust == "tool"
    }
    index = evidence.index
    told: set[tuple[int, str | None, str]] = set()
    for number, document in enumerate(index.documents):
        origin = document.origin
        if (origin.run_id, origin.version) in fed and origin.trust == "tool" and document.start < before:
            for leaf in index.leaves_of(number):
                limit = _limit(index, leaf, amounts)
                if limit is not None and (number, limit.margin, limit.limit) not in told:
                    told.add((number, limit.margin, limit.limit))
                    yield limit


def _limit(index: Index, leaf: int, amounts: Sequence[Decimal]) -> Limit | None:
    name = str(index.key(leaf))
    words = field_words(name)
    if not words & (_UPPER | _TIMES):
        return None
    text = index.text(leaf)
    source = source_of(index, Match(leaf, 0, len(text), True, "limit"))
    if words & _TIMES and not index.is_number(leaf):
        return Limit("record", name, text[:QUOTE_MAX], source=source)
    limit, shown = _amount(index, leaf, text, words)
    if limit is None:
        return None
    # A limit binds the largest amount of the call; without one, it is only named.
    asked = max(amounts, default=None)
    if asked is None:
        return Limit("record", name, shown, source=source)
    return Limit("record", name, shown, f"{asked:f}", f"{limit - asked:f}", source)


def _amount(index: Index, leaf: int, text: str, words: frozenset[str]) -> tuple[Decimal | None, str]:
    money = _MONEY.fullmatch(text)
    if money and money[2] in CURRENCY_DIGITS:
        return as_decimal(money[1]), text
    value = as_decimal(text)
    if value is None or not index.is_number(leaf):
        return None, text
    currency = currency_beside(index, leaf)
    if words & _MINOR and currency:
        value = shifted(value, -CURRENCY_DIGITS[currency])
        return value, f"{value:f} {currency}"
    return value, f"{value:f}"
