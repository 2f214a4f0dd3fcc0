"""
Where a tool says that an argument must come from, in the annotations of its pydantic model:

    amount: Annotated[Decimal, From("refund_preview", "/amount")]
    order_id: Annotated[str, Evidence()]

What a model says becomes one role a leaf, recorded with the call, so that an explanation years later needs
no code of the agent:

    from TOOL POINTER    must equal the value at the pointer of the tool's latest output
    evidence             must be found in the evidence before the call
    evidence optional    is looked for, and may be missing
    choice               one of a closed set: an enum, a Literal, a bool
    constant             the only value there is, or the default, which the model didn't write
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from tachograph.domain.why.leaves import fits, leaves, parsed, token

FROM: Final = "from "
EVIDENCE: Final = "evidence"
CHOICE: Final = "choice"
CONSTANT: Final = "constant"
_LISTS: Final = (list, tuple, set, frozenset, Sequence, Set)


@dataclass(frozen=True, slots=True)
class From:
    """
    The argument is a value of a tool's latest output.

    Args:
        pointer: RFC 6901, into the output; `*` stands for any place of a list.
    """

    tool: str
    pointer: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The argument stands in the evidence. Not `required`: it is looked for, and never refused."""

    required: bool = True


@lru_cache(maxsize=1024)
def declared(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the roles that a model gives, by pointer; `*` stands for any place of a list."""
    return MappingProxyType(dict(_of_model(model, "", ())))


@lru_cache(maxsize=1024)
def stated_sources(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the roles that a model gives beyond its schema, by pointer."""
    roles = declared(model).items()
    return MappingProxyType({pointer: role for pointer, role in roles if role not in (CHOICE, CONSTANT)})


def sources_of(model: type[BaseModel]) -> set[str]:
    """Return the names of the tools that a model wants values from."""
    return {role.split(" ")[1] for role in declared(model).values() if role.startswith(FROM)}


def declared_of(arguments: BaseModel, canonical: str) -> dict[str, str]:
    """
    Return the roles of the leaves of one call, by pointer; leaves without a role are left out.

    Args:
        canonical: The arguments as JSON text.
    """
    patterns = declared(type(arguments))
    defaults = tuple(_defaults(arguments, ""))
    if not patterns and not defaults:
        return {}
    roles: dict[str, str] = {}
    for leaf in leaves(parsed(canonical)):
        if any(leaf.pointer == default or leaf.pointer.startswith(f"{default}/") for default in defaults):
            roles[leaf.pointer] = CONSTANT
            continue
        role = patterns.get(leaf.pointer) or next(
            (role for pattern, role in patterns.items() if "*" in pattern and fits(leaf.pointer, pattern)),
            None,
        )
        if role is not None:
            roles[leaf.pointer] = role
    return roles


def _of_model(model: type[BaseModel], pointer: str, above: tuple[type, ...]) -> Iterator[tuple[str, str]]:
    if model in above:
        return
    for name, field in model.model_fields.items():
        yield from _of(field.annotation, field.metadata, f"{pointer}/{token(name)}", (*above, model))


def _of(
    annotation: Any, metadata: Sequence[Any], pointer: str, above: tuple[type, ...]
) -> Iterator[tuple[str, str]]:
    stated = next((_role(mark) for mark in metadata if isinstance(mark, From | Evidence)), None)
    if stated is not None:
        yield pointer, stated
        return
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _of(inner[0], inner[1:], pointer, above)
    elif origin is Literal:
        yield pointer, CHOICE if len(inner) > 1 else CONSTANT
    elif origin in (Union, UnionType):
        for member in inner:
            yield from _of(member, (), pointer, above)
    elif origin in _LISTS or (isinstance(origin, type) and issubclass(origin, _LISTS)):
        for member in inner:
            yield from _of(member, (), f"{pointer}/*", above)
    elif isinstance(annotation, type):
        if issubclass(annotation, BaseModel):
            yield from _of_model(annotation, pointer, above)
        elif issubclass(annotation, Enum):
            yield pointer, CHOICE if len(annotation) > 1 else CONSTANT
        elif annotation is bool:
            yield pointer, CHOICE


def _role(mark: From | Evidence) -> str:
    if isinstance(mark, From):
        return f"{FROM}{mark.tool} {mark.pointer}"
    return EVIDENCE if mark.required else f"{EVIDENCE} optional"


def _defaults(value: object, pointer: str) -> Iterator[str]:
    """Yield the pointers of fields that were not given."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            inner = f"{pointer}/{token(name)}"
            if name not in value.model_fields_set:
                yield inner
            else:
                yield from _defaults(getattr(value, name), inner)
    elif isinstance(value, list | tuple):
        for place, member in enumerate(value):
            yield from _defaults(member, f"{pointer}/{place}")
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _defaults(member, f"{pointer}/{token(str(key))}")
