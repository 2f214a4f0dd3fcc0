"""What a tool says of each leaf of one call's arguments."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, RootModel

from tachograph.domain.why.annotations import CONSTANT, FROM, declared, stated_by
from tachograph.domain.why.leaves import leaves, parsed, token


def declared_of(arguments: BaseModel, canonical: str) -> dict[str, str]:
    """
    Return the roles of the leaves of one call, by pointer; leaves without a role are left out.

    Args:
        canonical: The arguments as JSON text.
    """
    given: dict[str, list[type[BaseModel] | None]] = {}
    for pointer, model in _given(arguments, ""):
        given.setdefault(pointer, []).append(model)
    if not declared(type(arguments)) and not any(None in models for models in given.values()):
        return {}
    roles: dict[str, str] = {}
    for leaf in leaves(parsed(canonical)):
        role = _role_of(leaf.pointer, given)
        if role is not None and not (role.startswith(FROM) and leaf.value == []):
            roles[leaf.pointer] = role
    return roles


def _given(value: object, pointer: str) -> Iterator[tuple[str, type[BaseModel] | None]]:
    """Yield the models in a value with their pointers, and None with those of fields that were not given."""
    if isinstance(value, RootModel):
        yield pointer, type(value)
        yield from _given(value.root, pointer)
    elif isinstance(value, BaseModel):
        yield pointer, type(value)
        for name in type(value).model_fields:
            inner = f"{pointer}/{token(name)}"
            if name not in value.model_fields_set:
                yield inner, None
            else:
                yield from _given(getattr(value, name), inner)
    elif isinstance(value, list | tuple):
        for place, member in enumerate(value):
            yield from _given(member, f"{pointer}/{place}")
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _given(member, f"{pointer}/{token(str(key))}")


def _role_of(pointer: str, given: Mapping[str, Sequence[type[BaseModel] | None]]) -> str | None:
    """Return what the innermost model that says something of a leaf says."""
    outer = pointer
    while True:
        for model in reversed(given.get(outer, ())):
            role = _covering(stated_by(model).roles, pointer[len(outer) :]) if model else CONSTANT
            if role is not None:
                return role
        if not outer:
            return None
        outer = outer.rpartition("/")[0]


def _covering(roles: Mapping[str, str], pointer: str) -> str | None:
    """Return the role of the longest pattern that a pointer, or one above it, fits."""
    below: list[str] = []
    tokens = pointer.split("/")
    while tokens:
        for pattern, role in roles.items():
            wanted = pattern.split("/")
            if len(wanted) == len(tokens) and all(
                part in (other, "*") for part, other in zip(wanted, tokens, strict=True)
            ):
                return _at(role, below)
        below.insert(0, tokens.pop())
    return None


def _at(role: str, below: list[str]) -> str:
    """Return a role said of a list or model, for a leaf in it: `From` goes on by the same way."""
    if not below or not role.startswith(FROM):
        return role
    way = ["*" if part.isdigit() else part for part in below]
    if way[0] == "*" and role.endswith("/*"):
        way = way[1:]
    return "/".join((role, *way))
