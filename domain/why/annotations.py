"""
Where a tool says that an argument must come from, in the annotations of its pydantic model:

    amount: Annotated[Decimal, From("refund_preview", "/amount")]
    order_id: Annotated[str, Evidence()]

Said of a list or a model as a whole, it holds for all that is in it, unless that says otherwise. What a
model says becomes one role a leaf, recorded with the call, so that an explanation years later needs no code
of the agent:

    from TOOL POINTER    must equal the value at the pointer of the tool's latest output
    evidence             must be found in the evidence before the call
    evidence optional    is looked for, and may be missing
    choice               one of a closed set: an enum, a Literal, a bool
    constant             the only value there is, or the default, which the model didn't write
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BaseModel, RootModel

from tachograph.domain.errors import InvalidAgent
from tachograph.domain.why.leaves import token

FROM: Final = "from "
EVIDENCE: Final = "evidence"
CHOICE: Final = "choice"
CONSTANT: Final = "constant"
_LISTS: Final = (list, tuple, set, frozenset, Sequence, Set)
_UNIONS: Final = (Union, UnionType)
_ANYTHING: Final = (Any, object, dict, list, tuple, set, frozenset)


@dataclass(frozen=True, slots=True)
class From:
    """
    The argument is a value of a tool's latest output.

    Args:
        pointer: RFC 6901, into the output; `*` stands for any place of a list. For a list or a model as a
            whole, that of the list or object that it is taken from.
    """

    tool: str
    pointer: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The argument stands in the evidence. Not `required`: it is looked for, and never refused."""

    required: bool = True


_MARKS: Final = (From, Evidence)


class Stated(NamedTuple):
    """The roles that a model gives its own fields, and the models among these, by pointer."""

    roles: Mapping[str, str]
    models: tuple[tuple[str, type[BaseModel]], ...]


@lru_cache(maxsize=1024)
def declared(model: type[BaseModel]) -> Mapping[str, str]:
    """
    Return the roles that a model gives, by pointer; `*` stands for any place of a list, or key of a dict.

    Of a model that holds itself, those of its outermost level.

    Raises:
        InvalidAgent: What a field holds can't be traced as a whole.
    """
    return MappingProxyType(dict(_declared(model, "", ())))


@lru_cache(maxsize=1024)
def stated_sources(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the roles that a model gives beyond its schema, by pointer."""
    roles = declared(model).items()
    return MappingProxyType({pointer: role for pointer, role in roles if role not in (CHOICE, CONSTANT)})


def sources_of(model: type[BaseModel]) -> set[str]:
    """Return the names of the tools that a model wants values from."""
    return {role.split(" ")[1] for role in declared(model).values() if role.startswith(FROM)}


def _declared(model: type[BaseModel], pointer: str, above: tuple[type, ...]) -> Iterator[tuple[str, str]]:
    if model in above:
        return
    roles, models = stated_by(model)
    for pattern, role in roles.items():
        yield f"{pointer}{pattern}", role
    for pattern, inner in models:
        yield from _declared(inner, f"{pointer}{pattern}", (*above, model))


@lru_cache(maxsize=1024)
def stated_by(model: type[BaseModel]) -> Stated:
    """
    Return what a model says of its own fields.

    Raises:
        InvalidAgent: What a field holds can't be traced as a whole.
    """
    try:
        found = list(_of_fields(model))
    except InvalidAgent as exc:
        raise InvalidAgent(f"{model.__name__}{exc}") from None
    roles = {pointer: what for pointer, what in found if isinstance(what, str)}
    models = tuple((pointer, what) for pointer, what in found if not isinstance(what, str))
    return Stated(MappingProxyType(roles), models)


def _of_fields(model: type[BaseModel]) -> Iterator[tuple[str, str | type[BaseModel]]]:
    for name, field in model.model_fields.items():
        pointer = "" if issubclass(model, RootModel) else f"/{token(name)}"
        yield from _of(field.annotation, field.metadata, pointer)


def _of(
    annotation: Any, metadata: Sequence[Any], pointer: str
) -> Iterator[tuple[str, str | type[BaseModel]]]:
    """Yield the roles that an annotation gives, and the models that it names, by pointer."""
    annotation = _meant(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _of(inner[0], (*metadata, *inner[1:]), pointer)
        return
    stated = next((_role(mark) for mark in metadata if isinstance(mark, _MARKS)), None)
    if stated is not None:
        _check(annotation, pointer, ())
        yield pointer, stated
    elif _choices(annotation):
        yield pointer, CHOICE if _choices(annotation) > 1 else CONSTANT
    if origin in _UNIONS:
        for member in inner:
            if stated is None or not _choices(member):
                yield from _of(member, (), pointer)
    elif _is_a(origin, _LISTS):
        numbered = origin is tuple and Ellipsis not in inner
        for place, member in enumerate(inner):
            if member is not Ellipsis:
                yield from _of(member, (), f"{pointer}/{place if numbered else '*'}")
    elif _is_a(origin, Mapping) and not _is_marked(inner[0]):
        yield from _of(inner[1], (), f"{pointer}/*")
    elif _is_a(annotation, BaseModel):
        yield pointer, annotation
    elif _is_marked(annotation):
        raise InvalidAgent(
            f"{pointer}: sources are read from pydantic models alone, and from lists and dicts in them"
        )


def _check(annotation: Any, pointer: str, above: tuple[Any, ...]) -> None:
    """Refuse what holds keys that are data, or whatever there is: a part of it would go unseen."""
    annotation = _meant(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    free = annotation in _ANYTHING or isinstance(annotation, TypeVar)
    if _is_a(origin, Mapping):
        free = not _choices(inner[0])
    fields: Mapping[str, Any] = {}
    if _is_a(annotation, BaseModel):
        free = annotation.model_config.get("extra") == "allow"
        fields = {name: field.annotation for name, field in annotation.model_fields.items()}
    if free:
        raise InvalidAgent(f"{pointer}: not all of it can be traced as a whole; declare the fields inside")
    members = inner[:1] if origin is Annotated else () if origin is Literal else inner
    if annotation not in above:
        for member in (*members, *fields.values()):
            if member is not Ellipsis:
                _check(member, pointer, (*above, annotation))


def _meant(annotation: Any) -> Any:
    """Return what a name for a type stands for."""
    while hasattr(annotation, "__supertype__") or type(annotation).__name__ == "TypeAliasType":
        annotation = getattr(annotation, "__supertype__", None) or annotation.__value__
    return annotation


def _choices(annotation: Any) -> int:
    """Return how many values there are, of a Literal, an enum or a bool; 0 for what is open."""
    annotation = _meant(annotation)
    if get_origin(annotation) is Literal:
        return len(get_args(annotation))
    if annotation is bool:
        return 2
    return len(annotation) if _is_a(annotation, Enum) else 0


def _is_a(kind: Any, of: type | tuple[type, ...]) -> bool:
    return isinstance(kind, type) and issubclass(kind, of)


def _is_marked(annotation: Any, above: tuple[Any, ...] = ()) -> bool:
    annotation = _meant(annotation)
    if _is_a(annotation, BaseModel):
        return bool(stated_sources(annotation))
    inner: list[Any] = [] if get_origin(annotation) is Literal else list(get_args(annotation))
    if is_dataclass(annotation) or is_typeddict(annotation) or hasattr(annotation, "_fields"):
        inner += get_type_hints(annotation, include_extras=True).values()
    deeper = (*above, annotation)
    return any(isinstance(part, _MARKS) or _is_marked(part, deeper) for part in inner if part not in above)


def _role(mark: From | Evidence) -> str:
    if isinstance(mark, From):
        return f"{FROM}{mark.tool} {mark.pointer}"
    return EVIDENCE if mark.required else f"{EVIDENCE} optional"
