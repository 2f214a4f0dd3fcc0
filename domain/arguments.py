"""
The arguments of a call, from the text that the model produced.

Rules: a missing, null or empty text is `{}`. A number with a fraction or an exponent must be one that a
double can hold, since validation goes through one; money with more digits is sent as a string. Nothing is
repaired, evaluated, or coerced: `"5"` is not 5, `true` is not 1, and a doubled key is refused.
"""

import hashlib
import json
import math
from collections import Counter
from decimal import Decimal
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from tachograph.domain.events import ErrorCode
from tachograph.domain.values import DEPTH_MAX, Unserializable, json_text

SIZE_MAX: Final = 1_000_000
_ERRORS_SHOWN_MAX: Final = 20
_WHITESPACE: Final = " \t\r\n"

Arguments = TypeVar("Arguments", bound=BaseModel)


class ArgumentsRefused(ValueError):
    """The arguments can't be used; `str(exc)` is the message for the model."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


def parse_arguments(raw: str | None, model: type[Arguments]) -> Arguments:
    """
    Validate raw arguments strictly against a tool's model.

    Raises:
        ArgumentsRefused: With the code `invalid_json`, `duplicate_key`, `arguments_not_object` or
            `invalid_arguments`.
    """
    text = raw if raw and raw.strip(_WHITESPACE) else "{}"
    if text != "{}":
        _check_json(text)
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        malformed = first["type"] == "json_invalid" and not first["loc"]
        code: ErrorCode = "invalid_json" if malformed else "invalid_arguments"
        raise ArgumentsRefused(code, _problems(exc)) from exc
    except Exception as exc:  # A model's own validator may raise anything; the run must go on.
        message = f"The arguments can't be validated: {type(exc).__name__}."
        raise ArgumentsRefused("invalid_arguments", message) from exc


def canonical_arguments(arguments: BaseModel) -> str:
    """
    Return validated arguments as JSON text, fields in the model's order, defaults included.

    Raises:
        ArgumentsRefused: A field's type has no JSON form, so the call could not be recorded.
    """
    try:
        return json_text(arguments)
    except Unserializable as exc:
        message = f"The arguments can't be recorded: they hold {exc}."
        raise ArgumentsRefused("invalid_arguments", message) from exc


def reread_arguments(canonical: str, model: type[Arguments]) -> Arguments:
    """
    Read canonical arguments back as what they were: exactly, or with the same numbers in other digits.

    A Decimal is written as a number, and read from one it would lose its last zeros, or digits past those
    of a float; from a text it doesn't.

    Raises:
        ArgumentsRefused: The model refuses them, or reads them as other values.
    """
    refused: ArgumentsRefused | None = None
    for text in (json.dumps(json.loads(canonical, parse_float=str), ensure_ascii=False), canonical):
        try:
            arguments = parse_arguments(text, model)
            again = canonical_arguments(arguments)
        except ArgumentsRefused as exc:
            refused = exc
            continue
        if again == canonical or json.loads(again, parse_float=Decimal) == json.loads(
            canonical, parse_float=Decimal
        ):
            return arguments
    raise refused or ArgumentsRefused("invalid_arguments", "They are read as others than were recorded.")


def arguments_digest(canonical: str) -> str:
    """Return the SHA-256 of canonical arguments, in hexadecimal."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def _check_json(text: str) -> None:
    if len(text) > SIZE_MAX:
        raise ArgumentsRefused(
            "invalid_json", f"The arguments have {len(text)} characters; at most {SIZE_MAX}."
        )
    try:
        parsed = _STRICT.decode(text)
    except ArgumentsRefused:
        raise
    except RecursionError:
        raise ArgumentsRefused("invalid_json", "The arguments are nested too deep.") from None
    except (ValueError, ArithmeticError) as exc:
        raise ArgumentsRefused("invalid_json", f"The arguments are not valid JSON: {exc}") from exc
    if not isinstance(parsed, dict):
        raise ArgumentsRefused(
            "arguments_not_object", "The arguments must be a JSON object, with each argument a key."
        )
    if text.count("{") + text.count("[") > DEPTH_MAX and _depth(parsed) > DEPTH_MAX:
        raise ArgumentsRefused("invalid_json", f"More than {DEPTH_MAX} levels of nesting.")


def _object_without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        [(double, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ArgumentsRefused(
            "duplicate_key", f"The key {double[:100]!r} stands twice in one object; send it once."
        )
    return result


def _exact_number(lexeme: str) -> float:
    value = float(lexeme)
    if not math.isfinite(value) or Decimal(lexeme) != Decimal(repr(value)):
        raise ArgumentsRefused(
            "invalid_json",
            f"The number {lexeme[:40]} has more digits than can be read exactly; send it as a string.",
        )
    return value


def _no_constant(name: str) -> Any:
    raise ArgumentsRefused("invalid_json", f"{name} is not a JSON number.")


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_object_without_doubles,
    parse_float=_exact_number,
    parse_constant=_no_constant,
)


def _depth(value: dict[str, Any]) -> int:
    depth, level = 0, list[Any]([value])
    while level:
        depth += 1
        level = [
            member
            for parent in level
            for member in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(member, (dict, list))
        ]
    return depth


def _problems(exc: ValidationError) -> str:
    errors = exc.errors(include_url=False, include_input=False, include_context=False)
    lines = [
        f"{'.'.join(map(str, error['loc'])) or 'arguments'}: {error['msg']}"
        for error in errors[:_ERRORS_SHOWN_MAX]
    ]
    if len(errors) > _ERRORS_SHOWN_MAX:
        lines.append(f"and {len(errors) - _ERRORS_SHOWN_MAX} more")
    return "Invalid arguments. " + "; ".join(line[:300] for line in lines)
