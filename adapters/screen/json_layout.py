"""JSON text laid out over lines for people. Numbers keep their digits, doubled keys stay doubled."""

import json
from typing import Any, Final

from tachograph.adapters.screen.summaries import Number

LAID_OUT_MAX: Final = 20_000
_INDENT: Final = 2


def laid_out(text: str, width: int) -> str:
    """Return JSON text over several lines where it needs more than `width`. Other text stays as it is."""
    if len(text) > LAID_OUT_MAX:
        return text
    try:
        value = json.loads(
            text, object_pairs_hook=_Pairs, parse_int=Number, parse_float=Number, parse_constant=Number
        )
        return _written(value, 0, width)
    except (ValueError, RecursionError):
        return text


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, in order."""


def _written(value: Any, indent: int, width: int) -> str:
    flat = _flat(value)
    if len(flat) + indent <= width or not isinstance(value, list) or not value:
        return flat
    inner = indent + _INDENT
    if isinstance(value, _Pairs):
        parts = [f"{_string(name)}: {_written(member, inner, width)}" for name, member in value]
        start, end = "{", "}"
    else:
        parts = [_written(member, inner, width) for member in value]
        start, end = "[", "]"
    lines = ",\n".join(f"{' ' * inner}{part}" for part in parts)
    return f"{start}\n{lines}\n{' ' * indent}{end}"


def _flat(value: Any) -> str:
    if isinstance(value, _Pairs):
        return f"{{{', '.join(f'{_string(name)}: {_flat(member)}' for name, member in value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    if isinstance(value, Number):
        return str(value)
    return _string(value)


def _string(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
