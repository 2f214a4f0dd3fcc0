"""Explanations as JSON text: fields in their order, numbers with their digits; the digest is over that."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tachograph.domain.values import json_text
from tachograph.domain.why.argument import Number
from tachograph.domain.why.explanation import Absence, Explanation

Answer = TypeVar("Answer", Explanation, Absence)


def explanation_json(explanation: Explanation) -> str:
    """Return an explanation as JSON text: fields in the order above, numbers with their digits."""
    return _written(explanation)


def absence_json(absence: Absence) -> str:
    """Return an absence as JSON text, as `explanation_json` does."""
    return _written(absence)


def with_digest(answer: Answer) -> Answer:
    """Return the answer with its digest: the SHA-256 of its JSON text with an empty one, in hexadecimal."""
    text = _written(replace(answer, digest=""))
    return replace(answer, digest=hashlib.sha256(text.encode()).hexdigest())


def _written(value: Any) -> str:
    if isinstance(value, Number):
        return value.lexeme
    if is_dataclass(value):
        members = {field.name: getattr(value, field.name) for field in fields(value)}
        return _object(members)
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, tuple):
        return f"[{','.join(map(_written, value))}]"
    return json_text(value)


def _object(members: Mapping[str, Any]) -> str:
    return f"{{{','.join(f'{json_text(name)}:{_written(member)}' for name, member in members.items())}}}"
