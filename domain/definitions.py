"""
What an agent was, recorded once: instructions, tools, limits, as the text that its digest is of.

With it, what a model was sent can be put together again from the record alone.
"""

import hashlib
from typing import ClassVar, Final
from uuid import UUID, uuid5

from tachograph.domain.recorded_event import RecordedEvent

_DEFINITIONS: Final = UUID("0b7d4b0e-6a3f-5d0e-8d57-0a1f5c2b9d44")


class AgentDefined(RecordedEvent):
    """An agent's definition, the first time that a run of it began. `definition` is JSON text."""

    kind: ClassVar[str] = "agent_defined"

    agent: str
    definition: str


def definition_id(digest: str) -> UUID:
    """Return the id of the stream in which a definition is recorded, by its digest."""
    return uuid5(_DEFINITIONS, digest)


def digest_of(definition: str) -> str:
    """Return the SHA-256 of a definition's text, in hexadecimal."""
    return hashlib.sha256(definition.encode()).hexdigest()
