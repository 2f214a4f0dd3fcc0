"""
A tool's return value as JSON text: one documented treatment for each kind of value.

    None, bool, int, str, list, tuple, dict     as JSON; dictionary keys are str, int, bool or Enum
    float                                       shortest digits that give the same double
    NaN, Infinity, -Infinity                    {"$float": "NaN"}
    Decimal                                     a number with its digits as they are: 19.90
    datetime, date, time                        ISO 8601; an offset is kept, none is invented
    timedelta                                   seconds as a number, exact
    bytes, bytearray, memoryview                {"$bytes": "<base64>"}
    set, frozenset                              a list, sorted by the JSON text of its members
    UUID, path, Enum                       its text; an Enum as its value
    pydantic model, dataclass, namedtuple       an object of its fields
    a dictionary that looks like a tag          {"$literal": {...}}
    lone surrogates in text                     as a \\ud800 escape, exact
    cycles, more than DEPTH_MAX levels, anything else   Unserializable, with its path and type
"""

import base64
import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

DEPTH_MAX: Final = 100
_TAGS: Final = frozenset({"$float", "$bytes", "$literal"})

_string = json.encoder.encode_basestring
_ascii_string = json.encoder.encode_basestring_ascii


class Unserializable(ValueError):
    """A value has no JSON form; the message names the path and the type, never the value."""


def json_text(value: object) -> str:
    """
    Return the value as compact JSON text.

    Raises:
        Unserializable: No treatment for something in it; see the table above.
    """
    parts: list[str] = []
    _write(value, "", 0, set(), parts)
    return "".join(parts)


def _write(value: object, path: str, depth: int, above: set[int], out: list[str]) -> None:
    kind = type(value)
    if kind is str:
        out.append(_text(value))  # type: ignore[arg-type]  # `kind` is exact
    elif value is None or kind is bool:
        out.append({None: "null", True: "true", False: "false"}[value])  # type: ignore[index]
    elif kind is int:
        out.append(_integer(value, path))  # type: ignore[arg-type]
    elif kind is float:
        out.append(_float(value))  # type: ignore[arg-type]
    elif isinstance(value, (Mapping, list, tuple, set, frozenset, BaseModel)) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    ):
        if depth >= DEPTH_MAX:
            raise Unserializable(f"more than {DEPTH_MAX} levels deep at {_place(path)}")
        if id(value) in above:
            raise Unserializable(f"a cycle at {_place(path)}: it contains itself")
        above.add(id(value))
        _write_container(value, path, depth + 1, above, out)
        above.discard(id(value))
    else:
        out.append(_leaf(value, path, depth, above))


def _write_container(value: Any, path: str, depth: int, above: set[int], out: list[str]) -> None:
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        _write_object(fields | (value.model_extra or {}), path, depth, above, out)
    elif isinstance(value, Mapping):
        tagged = len(value) == 1 and next(iter(value)) in _TAGS
        if tagged:
            out.append('{"$literal":')
        _write_object(value, path, depth, above, out)
        if tagged:
            out.append("}")
    elif isinstance(value, (set, frozenset)):
        members: list[str] = []
        for member in value:
            parts: list[str] = []
            _write(member, f"{path}/*", depth, above, parts)
            members.append("".join(parts))
        out.append(f"[{','.join(sorted(members))}]")
    elif hasattr(value, "_asdict"):
        _write_object(value._asdict(), path, depth, above, out)
    elif isinstance(value, (list, tuple)):
        out.append("[")
        for index, member in enumerate(value):
            if index:
                out.append(",")
            _write(member, f"{path}/{index}", depth, above, out)
        out.append("]")
    else:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        _write_object(fields, path, depth, above, out)


def _write_object(value: Mapping[Any, Any], path: str, depth: int, above: set[int], out: list[str]) -> None:
    out.append("{")
    names: set[str] = set()
    for index, (key, member) in enumerate(value.items()):
        name = _key(key, path)
        if name in names:
            raise Unserializable(f"two keys that both read {name[:50]!r} at {_place(path)}")
        names.add(name)
        if index:
            out.append(",")
        out.append(f"{_text(name)}:")
        _write(member, f"{path}/{name[:50]}", depth, above, out)
    out.append("}")


def _key(key: object, path: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, UUID, date)):
        return str(key)
    raise Unserializable(f"a key of type {_type_name(key)} at {_place(path)}")


def _leaf(value: object, path: str, depth: int, above: set[int]) -> str:
    if isinstance(value, Enum):
        parts: list[str] = []
        _write(value.value, path, depth, above, parts)
        return "".join(parts)
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else _tagged_float(value)
    if isinstance(value, (datetime, date, time)):
        return _text(value.isoformat())
    if isinstance(value, timedelta):
        seconds = Decimal(value.days * 86_400 + value.seconds)
        return str(seconds + Decimal(value.microseconds).scaleb(-6))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f'{{"$bytes":"{base64.b64encode(value).decode()}"}}'
    if isinstance(value, (UUID, PurePath)):
        return _text(str(value))
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        return _integer(int(value), path)
    if isinstance(value, float):
        return _float(float(value))
    raise Unserializable(f"a {_type_name(value)} at {_place(path)}")


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return _ascii_string(value)
    return _string(value)


def _integer(value: int, path: str) -> str:
    try:
        return int.__repr__(value)
    except ValueError as exc:
        raise Unserializable(f"an integer of too many digits at {_place(path)}") from exc


def _float(value: float) -> str:
    return float.__repr__(value) if math.isfinite(value) else _tagged_float(value)


def _tagged_float(value: float | Decimal) -> str:
    name = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return f'{{"$float":"{name}"}}'


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"[:200]


def _place(path: str) -> str:
    return path[:200] or "the top"
