"""
JSON text as leaves with their pointers (RFC 6901), numbers with the digits that they were written with.

JSON that stands in a text of the JSON is read too, since tools wrap their answers so: its pointers go on
from the text's own.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tachograph.domain.values import DEPTH_MAX
from tachograph.domain.why.numbers import number_key

_NESTED_MAX: Final = 3
_CONTAINERS: Final = ("{", "[")


class Lexeme(str):
    """A number as it was written."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """The members of an object, in order, doubled keys included."""

    __slots__ = ()


class Leaf(NamedTuple):
    """A value that holds no other: None, bool, str, Lexeme, or an empty Pairs or list."""

    pointer: str
    value: Any


def parsed(text: str) -> Any:
    """
    Read JSON text.

    Raises:
        ValueError: It isn't JSON, or has more than DEPTH_MAX levels: what Python itself can read differs.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=Pairs, parse_int=Lexeme, parse_float=Lexeme, parse_constant=Lexeme
        )
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc
    if text.count("[") + text.count("{") > DEPTH_MAX and _is_too_deep(value):
        raise ValueError("nested too deep")
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, list) else []
    for _ in range(DEPTH_MAX + 1):
        level = [
            member
            for held in level
            for member in ([pair[1] for pair in held] if isinstance(held, Pairs) else held)
            if isinstance(member, list)
        ]
        if not level:
            return False
    return True


def nested(text: str) -> Any:
    """Return the object or list that a text is the JSON of; None if it is none."""
    stripped = text.lstrip()
    if not stripped.startswith(_CONTAINERS):
        return None
    try:
        return parsed(text)
    except ValueError:
        return None


def opened(value: Any) -> Any:
    """Return what stands in a text that is JSON of an object or list, else the value itself."""
    for _ in range(_NESTED_MAX):
        inside = nested(value) if type(value) is str else None
        if inside is None:
            return value
        value = inside
    return value


def leaves(value: Any, pointer: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Yield the leaves of a parsed value in order. Past DEPTH_MAX levels, a value is left out."""
    if isinstance(value, list) and value and depth < DEPTH_MAX:
        for key, member in members(value):
            yield from leaves(member, f"{pointer}/{token(key)}", depth + 1)
    elif not (isinstance(value, list) and value):
        yield Leaf(pointer, value)


def members(value: list[Any]) -> Iterator[tuple[str | int, Any]]:
    """Yield the members of an object or list with their keys or places."""
    return iter(value) if isinstance(value, Pairs) else enumerate(value)


def token(key: str | int) -> str:
    """Return a key as a token of a pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")


def keys_of(pointer: str) -> list[str]:
    """Return the keys of a pointer, the places of lists left out."""
    tokens = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return [part for part in tokens if not part.isdigit()]


def fits(pointer: str, pattern: str) -> bool:
    """Tell whether a pointer is the one of a pattern, in which `*` stands for any place of a list."""
    have, wanted = pointer.split("/"), pattern.split("/")
    return len(have) == len(wanted) and all(
        part == other or (other == "*" and part.isdigit()) for part, other in zip(have, wanted, strict=True)
    )


def same_value(one: Any, other: Any) -> bool:
    """Tell whether two leaves are equal: numbers by their value, all else exactly."""
    if isinstance(one, Lexeme) and isinstance(other, Lexeme):
        key = number_key(one)
        return one == other or (key is not None and key == number_key(other))
    return type(one) is type(other) and one == other
