"""
Parts of events: what was said to a run, the file it was imported from, the run it was forked from, how it
waits in the queue, and the attempts that an answer took.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from tachograph.domain.personal import PersonalText
from tachograph.domain.recorded_event import UtcTime

QUEUE: Final = "queue"  # Owner of a run that waits for a worker.
ASIDE: Final = "aside"  # Owner of a run that no worker takes any more.


class Attempt(BaseModel):
    """A request to a model that gave no answer and was made again, after a pause."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    error: PersonalText
    status: int | None = None
    paused_ms: int = Field(ge=0)


class Message(BaseModel):
    """One message that entered the run from outside the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant", "tool"]
    content: PersonalText


class Source(BaseModel):
    """Where an imported run comes from. `clock` says how far the recorded times can be trusted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str
    digest: str
    conversation: int
    stretch: int
    first_message: int
    last_message: int
    label: str | None = None
    clock: Literal["none", "conversation", "message"] = "none"
    unanswered: tuple[Message, ...] = ()


class Fork(BaseModel):
    """
    What a fork shares with its original, and what was changed.

    Args:
        version: The last one of the original whose event was taken over.
        edited: Keys of the calls whose output was replaced.
        live: Whether the fork may change the world.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    edited: tuple[str, ...] = ()
    live: bool = False


class Queued(BaseModel):
    """
    How a run that was submitted waits for a worker.

    Args:
        priority: The highest one goes first.
        not_before: No worker takes it earlier.
        model: Name of the model that is to answer; None: the agent's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    priority: int = 0
    not_before: UtcTime | None = None
    model: str | None = None
