"""
Foreign JSON, read strictly: every refusal names the file and the place in it.

Numbers keep their lexemes. A doubled key, NaN and Infinity are refused wherever they stand. The work
is proportional to the size of the file.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from tachograph.domain.errors import ImportRejected
from tachograph.domain.values import DEPTH_MAX, json_text

NAME_MAX: Final = 200  # characters of what is written into each event or run
SURROGATES_MAX: Final = 1_000  # in one text; each leaves a note beside it

_SHORT_MAX: Final = 6  # characters of a number that is worth sharing
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A number as the file writes it."""

    text: str


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in the place of a value that JSON doesn't have, until its place is known."""

    why: str


@dataclass(frozen=True, slots=True)
class Node:
    """An object in a file, and where it stands. Members that are null count as missing."""

    file: str
    path: tuple[str | int, ...]
    members: dict[str, Any]

    def reject(self, why: str) -> NoReturn:
        """Refuse the file because of this object."""
        raise _rejected(self.file, self.path, why)

    def text(self, name: str) -> str:
        """Return a member that must be text."""
        value = self.text_or_none(name)
        return self.reject(f"{name} is missing") if value is None else value

    def text_or_none(self, name: str) -> str | None:
        """Return a member that must be text, if it is there."""
        value = self.members.get(name)
        if value is not None and type(value) is not str:
            self.reject(f"{name} must be text, not {_kind(value)}")
        if value and not value.isascii() and len(_SURROGATE.findall(value)) > SURROGATES_MAX:
            self.reject(f"{name} has more than {SURROGATES_MAX} lone surrogates")
        return value

    def name_or_none(self, name: str) -> str | None:
        """Return a member that must be a text or a number of at most NAME_MAX characters, as text."""
        value = self.members.get(name)
        found = value.text if isinstance(value, Lexeme) else self.text_or_none(name)
        if found is not None and len(found) > NAME_MAX:
            self.reject(f"{name} has {len(found)} characters; at most {NAME_MAX} can be imported")
        return found

    def json_or_none(self, name: str) -> str | None:
        """Return a member as text: text as it is, anything else as compact JSON."""
        value = self.members.get(name)
        if value is None or type(value) is str:
            return self.text_or_none(name)
        try:
            return compact(value)
        except ValueError as exc:
            self.reject(f"{name}: {exc}")

    def number_or_none(self, name: str) -> str | None:
        """Return the lexeme of a member that must be a number."""
        value = self.members.get(name)
        if value is None or isinstance(value, Lexeme):
            return value.text if value else None
        return self.reject(f"{name} must be a number, not {_kind(value)}")

    def flag(self, name: str) -> bool:
        """Return a member that must be true or false; missing is false."""
        value = self.members.get(name)
        if value is not None and type(value) is not bool:
            self.reject(f"{name} must be true or false, not {_kind(value)}")
        return bool(value)

    def object_or_none(self, name: str) -> "Node | None":
        """Return a member that must be an object."""
        value = self.members.get(name)
        return None if value is None else node(self.file, (*self.path, name), value)

    def objects(self, name: str, *, at_most: int) -> "list[Node]":
        """Return a member that must be a list of objects."""
        if self.members.get(name) is None:
            self.reject(f"{name} is missing")
        return self.objects_if_any(name, at_most=at_most)

    def objects_if_any(self, name: str, *, at_most: int) -> "list[Node]":
        """Return a member that must be a list of objects, if it is there."""
        value = self.members.get(name)
        if value is None:
            return []
        if type(value) is not list:
            self.reject(f"{name} must be a list, not {_kind(value)}")
        if len(value) > at_most:
            self.reject(f"{name} has {len(value)} entries; at most {at_most} can be imported")
        return nodes(self.file, (*self.path, name), value)


def load(file: str, data: bytes) -> Any:
    """
    Parse a file's bytes: UTF-8 JSON, a byte order mark allowed.

    Raises:
        ImportRejected: It isn't that; the message names the place as well as it can be known.
    """
    if not data.strip():
        raise ImportRejected(f"{file}: the file is empty")
    faults: list[_Fault] = []
    shared: dict[str, Lexeme] = {}

    def fault(why: str) -> _Fault:
        faults.append(_Fault(why))
        return faults[-1]

    def object_of(pairs: list[tuple[str, Any]]) -> object:
        members = dict(pairs)
        return members if len(members) == len(pairs) else fault(f"the key {_doubled(pairs)} stands twice")

    def number(text: str) -> Lexeme:
        lexeme = shared.get(text)
        if lexeme is None:
            lexeme = Lexeme(text)
            if len(text) <= _SHORT_MAX:
                shared[text] = lexeme
        return lexeme

    try:
        value = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=object_of,
            parse_int=number,
            parse_float=number,
            parse_constant=lambda name: fault(f"{name} is not a JSON number"),
        )
    except UnicodeDecodeError as exc:
        raise ImportRejected(f"{file}: not UTF-8 text: a wrong byte at {exc.start}") from exc
    except json.JSONDecodeError as exc:
        raise ImportRejected(f"{file}: not JSON: {exc}") from exc
    except RecursionError:
        raise ImportRejected(f"{file}: nested too deep to be read") from None
    if faults:
        path, why = _first_fault(value)
        raise _rejected(file, path, why)
    return value


def node(file: str, path: tuple[str | int, ...], value: object) -> Node:
    """Return a value that must be an object as a Node."""
    if not isinstance(value, dict):
        raise _rejected(file, path, f"must be an object, not {_kind(value)}")
    return Node(file, path, value)


def nodes(file: str, path: tuple[str | int, ...], values: list[object]) -> list[Node]:
    """Return a list that must hold objects as Nodes."""
    return [node(file, (*path, index), value) for index, value in enumerate(values)]


def compact(value: object, depth: int = 0) -> str:
    """
    Write a loaded value as compact JSON text: same order of keys, same lexemes.

    Raises:
        ValueError: More than DEPTH_MAX levels.
    """
    if isinstance(value, Lexeme):
        return value.text
    if not isinstance(value, (dict, list)):
        return json_text(value)
    if depth >= DEPTH_MAX:
        raise ValueError(f"more than {DEPTH_MAX} levels of nesting")
    if isinstance(value, list):
        return f"[{','.join(compact(member, depth + 1) for member in value)}]"
    members = (f"{json_text(key)}:{compact(member, depth + 1)}" for key, member in value.items())
    return f"{{{','.join(members)}}}"


def _rejected(file: str, path: tuple[str | int, ...], why: str) -> ImportRejected:
    """Name the place: conversations and messages are counted from 0."""
    place = [file]
    match path[1:] if path[:1] == ("simulations",) else path:
        case (int(conversation), "traj" | "messages", int(message), *rest):
            place.append(f"conversation {conversation}, message {message}")
        case (int(conversation), *rest):
            place.append(f"conversation {conversation}")
        case rest:
            pass
    if rest:
        place.append(repr("/".join(str(step)[:50] for step in rest)[-200:]))
    return ImportRejected(f"{': '.join(place)}: {why}")


def _first_fault(document: object) -> tuple[tuple[str | int, ...], str]:
    """Find the first fault in the order of the file, without recursion."""
    way: list[str | int] = []
    open_members: list[Iterator[tuple[str | int, object]]] = [iter([("", document)])]
    while open_members:
        for step, value in open_members[-1]:
            if isinstance(value, _Fault):
                return (*way, step)[1:], value.why
            if isinstance(value, (dict, list)):
                way.append(step)
                open_members.append(iter(value.items() if isinstance(value, dict) else enumerate(value)))
                break
        else:
            open_members.pop()
            del way[-1:]
    raise AssertionError("a fault is never dropped")


def _doubled(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return repr(key[:100])
        seen.add(key)
    raise AssertionError("only asked when a key is doubled")


def _kind(value: object) -> str:
    if isinstance(value, Lexeme):
        return "a number"
    names = {str: "text", bool: "true or false", dict: "an object", list: "a list", type(None): "null"}
    return names[type(value)]
