"""What the loop needs from the world. Adapters are named after their technology and the port."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, Protocol
from uuid import UUID

from tachograph.domain.budget import Usage
from tachograph.domain.events import Entry, Event, FinishReason
from tachograph.domain.messages import ModelRequest
from tachograph.domain.origins import Attempt


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call as the provider gave it; `arguments` is its raw text, None where it had none."""

    name: str
    arguments: str | None = None
    provider_id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """
    One answer of a model, normalised.

    Args:
        error: Why the provider itself rejected the answer.
        prices: What the cost was worked out by.
        attempts: Those before this one that gave no answer.
        provider_state: What the provider needs to see again to go on, as text that only its adapter reads.
    """

    text: str | None = None
    calls: tuple[AskedCall, ...] = ()
    finish_reason: FinishReason = "stop"
    finish_reason_raw: str | None = None
    refusal: str | None = None
    error: str | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    prices: str | None = None
    attempts: tuple[Attempt, ...] = ()
    response_id: str | None = None
    provider_state: str | None = None


class Model(Protocol):
    """A language model."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer a request. Raises ModelError when there is no answer, retries included."""
        ...


class Append(NamedTuple):
    """Events for one run or approval, and the version that it is at; 0 stands for a new one."""

    run_id: UUID
    events: Sequence[Event]
    expected_version: int


class EventStore(Protocol):
    """
    The append-only record of all runs, and of the approvals beside them (a run's id stands for either).

    Versions count from 1 within a run. Positions grow within the store, possibly with gaps; an event
    that a reader has passed never turns up behind it.
    """

    async def append(self, run_id: UUID, events: Sequence[Event], *, expected_version: int) -> int:
        """
        Add events to a run, all or none, and return the run's new version once they are durable.

        Raises:
            VersionConflict: The run is not at `expected_version`; 0 stands for a new run.
            StoreError: Nothing was stored, as far as can be known.
        """
        ...

    async def append_together(self, appends: Sequence[Append]) -> None:
        """
        Add events to several runs in one transaction: all of them or none.

        Raises:
            VersionConflict: One is not at its expected version, the first such.
            StoreError: As for `append`.
        """
        ...

    def read(self, run_id: UUID, *, up_to: int | None = None) -> list[Entry]:
        """Return a run's events in order; up to and including a version. Empty: no such run."""
        ...

    def read_log(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return events of all runs in order of position, from the first one past `after`."""
        ...

    def head(self) -> int:
        """Return the position of the last event, 0 for an empty store."""
        ...

    def close(self) -> None:
        """Wait for appends under way and let go of connections."""
        ...


class Clock(Protocol):
    """Time, as the world tells it."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...


class Ids(Protocol):
    """New identities."""

    def run_id(self) -> UUID:
        """Return an id that no other run has."""
        ...

    def owner(self) -> str:
        """Return the name of this attempt at a run: host, process, and something unique."""
        ...
