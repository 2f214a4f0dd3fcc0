"""
Events to stored bytes and back.

A stored event is UTF-8 JSON: `{"v":<schema version>,` then the event's fields in the order of the
class, None left out. The kind is stored beside it. The same event gives the same bytes everywhere.
Kinds are looked up in a closed table, so a row can name anything and nothing is ever imported.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, cast

from pydantic import ValidationError

from tachograph.domain.errors import UnknownEvent
from tachograph.domain.events import EVENT_KINDS, SCHEMA_VERSION, Event

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

# (kind, from version) -> the fields as the next version has them. Entries are never removed.
UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {}

_PREFIX: Final = b'{"v":%d,' % SCHEMA_VERSION
_VERSION = re.compile(rb'\{"v":(\d{1,6}),')
# What a parser, a validator or an upcaster raises when the bytes are not what they should be.
_FAULTS: Final = (ValueError, ArithmeticError, LookupError, TypeError, RecursionError)


class Undecodable(ValueError):
    """Stored bytes are not an event of the kind they are stored under."""


def encode(event: Event) -> bytes:
    """Return the stored bytes of an event. Texts must be free of lone surrogates (`text.py`)."""
    fields = event.__pydantic_serializer__.to_json(event, exclude_none=True)
    return _PREFIX + fields[1:]


def decode(kind: str, stored: bytes, upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS) -> Event:
    """
    Rebuild an event from its stored kind and bytes.

    Raises:
        UnknownEvent: No reader here for the kind or the schema version.
        Undecodable: The bytes don't hold what the kind asks for.
    """
    event_class = EVENT_KINDS.get(kind)
    if event_class is None:
        raise UnknownEvent(kind)
    try:
        if stored.startswith(_PREFIX):
            fields = b"{" + stored[len(_PREFIX) :]
            return cast(Event, event_class.__pydantic_validator__.validate_json(fields))
        upcast = json.dumps(_upcast(kind, stored, upcasters), default=str)
        return event_class.model_validate_json(upcast)
    except Undecodable:
        raise
    except _FAULTS as exc:
        raise Undecodable(f"not a {kind}: {_first_line(exc)}") from exc


def _upcast(kind: str, stored: bytes, upcasters: Mapping[tuple[str, int], Upcaster]) -> dict[str, Any]:
    found = _VERSION.match(stored)
    if not found:
        raise Undecodable(f"not a {kind}: no schema version")
    version = int(found.group(1))
    steps = [(kind, older) for older in range(version, SCHEMA_VERSION)]
    if version > SCHEMA_VERSION or not all(step in upcasters for step in steps):
        raise UnknownEvent(kind, f"unknown schema version {version}")
    fields: dict[str, Any] = json.loads(stored, parse_float=Decimal)
    del fields["v"]
    for step in steps:
        fields = upcasters[step](fields)
    return fields


def _first_line(exc: Exception) -> str:
    if isinstance(exc, ValidationError):
        first = exc.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return (str(exc) or type(exc).__name__).splitlines()[0]
