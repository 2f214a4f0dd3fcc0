"""The file of schedules, in TOML: [[schedule]] tables for runs, [[report]] tables for reports."""

import tomllib
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tachograph.adapters.workers.cron import check_cron
from tachograph.domain.context import Party
from tachograph.domain.errors import TachographError

_KINDS: Final = {"schedule", "report"}
_BYTES_MAX: Final = 1_000_000


class InvalidSchedule(TachographError, ValueError):
    """A file of schedules is wrong."""


class Periodic(BaseModel):
    """
    What every table says.

    Args:
        name: Under which each time is done once, however many workers there are.
        cron: Five fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Party = Field(max_length=100)
    cron: str

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, cron: str) -> str:
        return check_cron(cron)


AnyPeriodic = TypeVar("AnyPeriodic", bound=Periodic)


def read_tables(path: Path, kind: str, model: type[AnyPeriodic]) -> tuple[AnyPeriodic, ...]:
    """
    Read the tables of one kind; what those of the other one hold isn't looked at.

    Raises:
        InvalidSchedule: The file can't be read, or one of them is wrong, or doubled.
        ExtraMissing: croniter isn't installed.
    """
    found: dict[str, AnyPeriodic] = {}
    for table in _tables(path).get(kind, []):
        try:
            entry = model.model_validate(table)
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "it"
            raise InvalidSchedule(f"{path}: {place}: {first['msg']}") from exc
        if entry.name in found:
            raise InvalidSchedule(f"{path}: two {kind}s are named {entry.name}")
        found[entry.name] = entry
    return tuple(found.values())


def _tables(path: Path) -> dict[str, list[Any]]:
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES_MAX + 1)
        if len(content) > _BYTES_MAX:
            raise InvalidSchedule(f"{path} can't be used: it is larger than {_BYTES_MAX:,} bytes")
        tables: dict[str, Any] = tomllib.loads(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as exc:
        raise InvalidSchedule(f"{path} can't be used: {exc}") from exc
    if not tables or tables.keys() - _KINDS or not all(isinstance(each, list) for each in tables.values()):
        raise InvalidSchedule(f"{path} must hold [[schedule]] and [[report]] tables and nothing else")
    return tables
