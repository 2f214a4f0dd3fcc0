"""
Plausible wrong values: what a model could have written in place of a value.

    id      one character changed (three times); the same field's value from another conversation
    amount  a cent more; one digit changed; times 10, times 100; a tenth
    count   one more; times 10
    date    a day later, a day earlier
    text    one letter changed (twice)

A value of two that exclude each other (true, yes) has no wrong value that could be told from a right one.
"""

import random
import re
import string
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

KINDS = ("id", "amount", "count", "date", "text")

_MONEY = ("amount", "price", "cost", "fee", "total", "refund")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLOSED = frozenset({"yes", "no", "true", "false"})


class Mutation(NamedTuple):
    """A wrong value, and how it was made."""

    how: str
    value: Any


def kind_of(pointer: str, value: Any) -> str | None:
    """Return the kind of a leaf's value; None for one of a closed set, and for an empty one."""
    if isinstance(value, Decimal):
        return "amount" if any(word in pointer.lower() for word in _MONEY) else "count"
    if not isinstance(value, str) or not any(map(str.isalnum, value)) or value.lower() in _CLOSED:
        return None
    if _DATE.fullmatch(value):
        return "date"
    return "id" if any(map(str.isdigit, value)) and " " not in value else "text"


def mutations(kind: str, value: Any, others: Sequence[str], chance: random.Random) -> Iterator[Mutation]:
    """Yield wrong values of a kind. `others`: values of the same field in other conversations."""
    match kind:
        case "id":
            for _ in range(3):
                yield Mutation("a character", _changed(value, chance, str.isalnum))
            if others:
                yield Mutation("another's", chance.choice(others))
        case "amount":
            yield Mutation("a cent", value + Decimal("0.01"))
            digit = _changed(f"{value:f}", chance, str.isdigit)
            yield Mutation("a digit", Decimal(digit))
            yield from (
                Mutation(f"times {factor}", value * Decimal(factor)) for factor in ("10", "100", "0.1")
            )
        case "count":
            yield from (Mutation("one more", value + 1), Mutation("times 10", value * 10))
        case "date":
            for days in (1, -1):
                yield Mutation(
                    f"{days:+} day", (date.fromisoformat(value) + timedelta(days=days)).isoformat()
                )
        case "text" if any(map(str.isalpha, value)):
            for _ in range(2):
                yield Mutation("a letter", _changed(value, chance, str.isalpha))


def _changed(text: str, chance: random.Random, fits: Any) -> str:
    """Change one character to another one of its kind."""
    place = chance.choice([place for place, character in enumerate(text) if fits(character)])
    old = text[place]
    alphabet = (
        string.digits
        if old.isdigit()
        else string.ascii_uppercase
        if old.isupper()
        else string.ascii_lowercase
    )
    new = chance.choice([character for character in alphabet if character != old])
    return text[:place] + new + text[place + 1 :]
