"""
A tool's return value as JSON text: one documented treatment for each kind of value.

    None, bool, int, str, list, tuple, mapping  as JSON; keys are str, int, bool, date, UUID or Enum
    float                                       shortest digits that give the same double
    NaN, Infinity, -Infinity                    {"$float": "NaN"}
    Decimal                                     a number with its digits as they are: 19.90
    datetime, date, time                        ISO 8601; an offset is kept, none is invented
    timedelta                                   seconds as a number, exact
    bytes, bytearray, memoryview                {"$bytes": "<base64>"}
    set, frozenset                              a list, sorted by the JSON text of its members
    UUID, path, Enum                            its text; an Enum as its value
    pydantic model, dataclass, namedtuple       an object of its fields
    an object that looks like a tag             {"$literal": {...}}
    lone surrogates in text                     as a \\ud800 escape, exact
    cycles, more than DEPTH_MAX levels, anything else   Unserializable, with its path and type

A value that holds one list many times over can stand for far more text than memory: CONTAINERS_MAX and
CHARACTERS_MAX end that early.
"""

import base64
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, RootModel

DEPTH_MAX: Final = 100
CONTAINERS_MAX: Final = 2_000_000
CHARACTERS_MAX: Final = 256_000_000
_TAGS: Final = frozenset({"$float", "$bytes", "$literal"})

_string = json.encoder.encode_basestring
_ascii_string = json.encoder.encode_basestring_ascii


class Unserializable(ValueError):
    """A value has no JSON form; the message names the path and the type, never the value."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._path: list[str] = []

    def inside(self, place: object) -> "Unserializable":
        """Add a step to the front of the path, while the error travels up."""
        self._path.insert(0, str(place)[:50])
        return self

    def __str__(self) -> str:
        path = "".join(f"/{step}" for step in self._path)
        return f"{self._what} at {path[:200] or 'the top'}"


class _Walk:
    """The containers above a value, and how many were met."""

    __slots__ = ("_above", "_met")

    def __init__(self) -> None:
        self._above: set[int] = set()
        self._met = 0

    def enter(self, container: object) -> None:
        if len(self._above) >= DEPTH_MAX:
            raise Unserializable(f"more than {DEPTH_MAX} levels")
        if id(container) in self._above:
            raise Unserializable("a cycle, which contains itself,")
        self._met += 1
        if self._met > CONTAINERS_MAX:
            raise Unserializable(f"more than {CONTAINERS_MAX} lists and objects")
        self._above.add(id(container))

    def leave(self, container: object, text: str) -> None:
        if len(text) > CHARACTERS_MAX:
            raise Unserializable(f"more than {CHARACTERS_MAX} characters")
        self._above.discard(id(container))


def json_text(value: object) -> str:
    """
    Return the value as compact JSON text.

    Raises:
        Unserializable: No treatment for something in it; see the table above.
    """
    return _write(value, _Walk())


def _write(value: Any, walk: _Walk) -> str:
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int:
        return _integer(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return _float(value)
    if kind is not dict and kind is not list and not _is_container(value):
        return _leaf(value, walk)
    walk.enter(value)
    text = _container(value, walk)
    walk.leave(value, text)
    return text


def _is_container(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, BaseModel, Mapping)) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def _container(value: Any, walk: _Walk) -> str:
    if isinstance(value, RootModel):
        return _write(value.root, walk)
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return _object(fields | (value.model_extra or {}), walk)
    if isinstance(value, (dict, Mapping)):
        return _object(value, walk)
    if hasattr(value, "_asdict"):
        return _object(value._asdict(), walk)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_members(value, walk))}]"
    if isinstance(value, (set, frozenset)):
        return f"[{','.join(sorted(_members(value, walk)))}]"
    return _object({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, walk)


def _members(value: Iterable[Any], walk: _Walk) -> list[str]:
    members: list[str] = []
    try:
        for member in value:
            members.append(_write(member, walk))
    except Unserializable as exc:
        raise exc.inside("*" if isinstance(value, (set, frozenset)) else len(members)) from None
    return members


def _object(value: Mapping[Any, Any], walk: _Walk) -> str:
    members: list[str] = []
    names: list[str] = []
    for key, member in value.items():
        name = key if type(key) is str else _key(key)
        names.append(name)
        try:
            members.append(f"{_text(name)}:{_write(member, walk)}")
        except Unserializable as exc:
            raise exc.inside(name) from None
    if len(set(names)) < len(names):
        [(doubled, _)] = Counter(names).most_common(1)
        raise Unserializable(f"two keys that both read {doubled[:50]!r}")
    text = f"{{{','.join(members)}}}"
    return f'{{"$literal":{text}}}' if len(names) == 1 and names[0] in _TAGS else text


def _key(key: object) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return _integer(key)
    if isinstance(key, date):
        return key.isoformat()
    if isinstance(key, UUID):
        return str(key)
    raise Unserializable(f"a key of type {_type_name(key)}")


def _leaf(value: object, walk: _Walk) -> str:
    if isinstance(value, Enum):
        return _write(value.value, walk)
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else _tagged_float(value)
    if isinstance(value, (datetime, date, time)):
        return _text(value.isoformat())
    if isinstance(value, timedelta):
        microseconds = value // timedelta(microseconds=1)
        seconds, fraction = divmod(abs(microseconds), 1_000_000)
        return f"{'-' if microseconds < 0 else ''}{seconds}.{fraction:06}"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f'{{"$bytes":"{base64.b64encode(bytes(value)).decode()}"}}'
    if isinstance(value, (UUID, PurePath)):
        return _text(str(value))
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return _float(float(value))
    raise Unserializable(f"a {_type_name(value)}")


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return _ascii_string(value)
    return _string(value)


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError as exc:
        raise Unserializable("an integer of too many digits") from exc


def _float(value: float) -> str:
    return float.__repr__(value) if math.isfinite(value) else _tagged_float(value)


def _tagged_float(value: float | Decimal) -> str:
    is_nan = value.is_nan() if isinstance(value, Decimal) else math.isnan(value)
    name = "NaN" if is_nan else "Infinity" if value > 0 else "-Infinity"
    return f'{{"$float":"{name}"}}'


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"[:200]
