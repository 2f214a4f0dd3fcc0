"""JSON from tools and models, said in a line: what it is about, never all of it. `show --json` has it all."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_PARSED_MAX: Final = 200_000
_VALUE_MAX: Final = 60
_MEMBERS_MAX: Final = 40
_DIGEST: Final = re.compile(r"[0-9a-f]{32,}")
_TITLES: Final = ("title", "name", "label", "text", "content", "id")


class Number(str):
    """A number with the digits that it was written with."""

    __slots__ = ()


def parsed(text: str) -> Any:
    """
    Return what JSON text says, numbers as Number.

    Raises:
        ValueError: Not JSON, or more than a summary should read.
    """
    if len(text) > _PARSED_MAX:
        raise ValueError("too long for a summary")
    try:
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc


def gist(text: str | None) -> str:
    """Return a line about JSON text: `order_id #7 · 2 items: Lamp; Pen`. Text that is no JSON stays."""
    if text is None:
        return ""
    try:
        value = parsed(text)
    except ValueError:
        return text
    if isinstance(value, Mapping):
        return " · ".join(f"{name} {said}" if said else name for name, said in members(value)) or text
    return value if isinstance(value, str) else short(value)


def members(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return an object's members in order, each value in a few words."""
    shown = list(value.items())[:_MEMBERS_MAX]
    return [_member(name, member) for name, member in shown if not (name == "ok" and member is True)]


def refusal(text: str) -> str | None:
    """Return why a tool said no, if its output is an object with `ok` false."""
    try:
        value = parsed(text)
    except ValueError:
        return None
    if not isinstance(value, Mapping) or value.get("ok") is not False:
        return None
    said = [str(value[name]) for name in ("code", "reason", "message", "error") if value.get(name)]
    return ": ".join(said) or "refused"


def result_gist(agent: str, tool: str, output: str) -> str:
    """Return a line about a tool's output, in the words of the bundled agent where they fit."""
    words = _REFUND_WORDS.get(tool) if agent == "refund" else None
    if words is None:
        return gist(output)
    try:
        return words(parsed(output))
    except (LookupError, TypeError, ValueError, AttributeError):
        return gist(output)


def short(value: Any) -> str:
    """Return a value in a few words: digests, long texts and long lists are cut."""
    if isinstance(value, str):
        if _DIGEST.fullmatch(value):
            return f"{value[:12]}…"
        return value if len(value) <= _VALUE_MAX else f"{value[: _VALUE_MAX - 1]}…"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{name} {short(member)}" for name, member in list(value.items())[:3])
        return f"{{{inside}{', …' if len(value) > 3 else ''}}}"
    if isinstance(value, list):
        inside = ", ".join(map(short, value[:3]))
        return f"[{inside}{f', … {len(value)} in all' if len(value) > 3 else ''}]"
    return str(value)


def _member(name: str, value: Any) -> tuple[str, str]:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        titles = "; ".join(filter(None, map(_title, value[:3])))
        if len(value) == 1 and titles:
            return name, titles
        return f"{len(value)} {name}", f"({titles}{'; …' if len(value) > 3 else ''})" if titles else ""
    return name, short(value)


def _title(value: Any) -> str:
    if not isinstance(value, Mapping):
        return short(value)
    named = [value[name] for name in _TITLES if isinstance(value.get(name), str)]
    texts = named or [member for member in value.values() if isinstance(member, str)]
    return short(texts[0]) if texts else ""


def _passages(found: Any) -> str:
    passages = found["passages"]
    if not passages:
        return "nothing found"
    first = passages[0]
    counted = "1 passage" if len(passages) == 1 else f"{len(passages)} passages, first"
    return f"{counted} {first['reference']}: “{first['quote']}”"


def _order(order: Any) -> str:
    items = [
        f"{item['quantity'] + ' x ' if item['quantity'] != '1' else ''}{item['title']}"
        f"{' (opened)' if item['opened'] else ''}"
        for item in order["items"]
    ]
    delivered = order["delivered_at"]
    state = f"delivered {delivered[:10]}" if delivered else order["status"]
    refunds = f" · {len(order['refunds'])} refunds before" if order["refunds"] else ""
    return f"{order['total']}, {state}: {'; '.join(items)}{refunds}"


def _preview(preview: Any) -> str:
    destination, approval = preview["destination"], preview["approval"]
    references = ", ".join(preview["policy"]["references"])
    return (
        f"{preview['formatted']} to {destination['label']}, by {references}; "
        f"{approval['group']} decides (limit {approval['limit']})"
    )


_REFUND_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "policy_search": _passages,
    "order_read": _order,
    "refund_preview": _preview,
}
