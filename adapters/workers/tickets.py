"""What stands in the queue: a run to go on with, or the effect of an approval, and when."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from tachograph.domain.events import RunStarted
from tachograph.domain.origins import Queued

BEGUN_FIRST: Final = 2_000  # Above every priority of a run that nobody has begun.


@dataclass(frozen=True, slots=True)
class Ticket:
    """One piece of work. `agent`: the name of the agent that a worker needs for it."""

    what: Literal["run", "effect"]
    id: UUID
    agent: str
    priority: int = 0
    not_before: datetime | None = None

    def is_due(self, now: datetime) -> bool:
        """Tell whether a worker may take it."""
        return self.not_before is None or self.not_before <= now


def ticket_of(run_id: UUID, started: RunStarted) -> Ticket:
    """Return the ticket of a run, with the priority and the time that it was submitted with."""
    queued = started.queued or Queued()
    return Ticket("run", run_id, started.agent, queued.priority, queued.not_before)
