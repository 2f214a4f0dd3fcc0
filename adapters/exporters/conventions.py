"""The conventions in which spans are exported, and what all spans have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from tachograph.projections import gen_ai, openinference
from tachograph.projections.span import Span, Value

SCOPE: Final = "tachograph"
SERVICE: Final[Mapping[str, Value]] = {"service.name": "tachograph"}


@dataclass(frozen=True, slots=True)
class Convention:
    """
    Names for what spans say.

    Args:
        schema_url: Of the published schema; empty where there is none.
        attributes: Gives a span's attributes.
    """

    version: str
    schema_url: str
    attributes: Callable[[Span], dict[str, Value]]

    def own(self, facts: Mapping[str, Value]) -> dict[str, Value]:
        """Return facts under our own names, as those of events and links are."""
        return {f"{gen_ai.OWN}{name}": value for name, value in facts.items()}


def _of(table: ModuleType) -> Convention:
    return Convention(table.VERSION, table.SCHEMA_URL, table.attributes)


CONVENTIONS: Final[Mapping[str, Convention]] = {"otel": _of(gen_ai), "openinference": _of(openinference)}
