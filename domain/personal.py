"""Marks fields that can hold personal data, so that they can be encrypted or erased later."""

from typing import Annotated, get_args

from pydantic import BaseModel


class Personal:
    """Marker in a field's annotation: its content may concern a person."""

    def __repr__(self) -> str:
        return "PERSONAL"


PERSONAL = Personal()
PersonalText = Annotated[str, PERSONAL]


def personal_paths(model: type[BaseModel]) -> frozenset[str]:
    """
    Name every marked field of a model, nested models included.

    Returns:
        Dotted paths; a list or tuple on the way shows as `*`, as in `calls.*.arguments`.
    """
    return frozenset(
        path
        for name, field in model.model_fields.items()
        for path in _paths(name, (field.annotation, *field.metadata))
    )


def _paths(path: str, parts: tuple[object, ...]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if isinstance(part, Personal):
            found.append(path)
        elif isinstance(part, type) and issubclass(part, BaseModel):
            found += [f"{path}.{inner}" for inner in personal_paths(part)]
        elif getattr(part, "__origin__", None) in (tuple, list):
            found += _paths(f"{path}.*", get_args(part))
        else:
            found += _paths(path, get_args(part))
    return found
