"""A text or a piece of JSON in the index, and where it comes from."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from tachograph.domain.why.argument import Trust


class Origin(NamedTuple):
    """
    Where a document comes from.

    Args:
        trust: None for what the model wrote, which is never evidence.
        at: Pointer of the document within its event.
    """

    run_id: UUID
    version: int
    kind: str
    call_key: str | None
    tool: str | None
    trust: Trust | None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One output, message or set of arguments: its leaves and its texts lie together."""

    origin: Origin
    start: int
    arguments: int | None  # The document with the arguments that this output answers.


class Place(NamedTuple):
    """A place in the space of all texts: a leaf, and an offset in its text."""

    leaf: int
    offset: int
