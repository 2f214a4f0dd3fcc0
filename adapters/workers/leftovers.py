"""What waits for a worker, or should: found in the views, wherever it was begun."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.deciding import following_run
from tachograph.adapters.ownership import abandoned
from tachograph.adapters.read_side import ReadSide
from tachograph.adapters.workers.tickets import BEGUN_FIRST, Ticket, ticket_of
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.events import Recorded, RunStarted
from tachograph.domain.origins import ASIDE, QUEUE
from tachograph.domain.ports import EventStore
from tachograph.projections.plain import plain

_EFFECT_GRACE: Final = timedelta(minutes=1)
_KNOWN_MAX: Final = 20_000

Row = Mapping[str, Any]


class Leftovers:
    """
    Looks through the open runs and the unfinished effects of some agents.

    Args:
        side: Caught up with each look; used by one thread at a time.
        agents: By name.
    """

    def __init__(self, store: EventStore, side: ReadSide, agents: Mapping[str, Agent]) -> None:
        self._store = store
        self._side = side
        self._agents = agents
        self._shown = {shown for name in agents for shown in (name, plain(name))}
        self._started: dict[UUID, RunStarted | None] = {}

    def queued(self) -> list[Ticket]:
        """Return the runs that the queue owns, due or not, in the order in which they were submitted."""
        self._side.catch_up()
        return self._runs(lambda row: row["owner"] == QUEUE)

    def abandoned(self, now: datetime) -> list[Ticket]:
        """
        Return what somebody began and nobody works on any more.

        That are runs that were submitted or go on with a decision, and effects of granted approvals. Other
        runs, such as those of `tachograph run`, belong to whoever began them.
        """
        self._side.catch_up()
        begun = self._runs(lambda row: _nobody_has(row, now))
        return [*(replace(ticket, priority=BEGUN_FIRST) for ticket in begun), *self._effects(now)]

    def _runs(self, wanted: Callable[[Row], bool]) -> list[Ticket]:
        found: list[Ticket] = []
        for row in self._side.runs(status="open"):
            if row["agent"] in self._shown and wanted(row):
                run_id = UUID(row["run_id"])
                started = self._start_of(run_id)
                if started is not None:
                    found.append(ticket_of(run_id, started))
        return found[::-1]

    def _start_of(self, run_id: UUID) -> RunStarted | None:
        """Return the beginning of a run, None if workers have nothing to do with it."""
        if run_id not in self._started:
            if len(self._started) > _KNOWN_MAX:
                self._started.clear()
            first = self._store.read(run_id, up_to=1)[0]
            event = first.event if isinstance(first, Recorded) else None
            started = event if isinstance(event, RunStarted) and event.agent in self._agents else None
            self._started[run_id] = started if started and _for_workers(run_id, started) else None
        return self._started[run_id]

    def _effects(self, now: datetime) -> Iterator[Ticket]:
        for row in self._side.approvals(execution="started"):
            if row["agent"] in self._shown:
                state = load_approval(self._store, UUID(row["approval_id"]))
                agent = self._agents.get(state.requested.agent)
                if agent is not None and _unfinished(state, agent, now):
                    yield Ticket("effect", state.approval_id, agent.name, BEGUN_FIRST)


def _nobody_has(row: Row, now: datetime) -> bool:
    owner, last = row["owner"], row["last_recorded_at"]
    if not owner or not last or owner in (QUEUE, ASIDE):
        return False
    return abandoned(owner, datetime.fromisoformat(last), now)


def _for_workers(run_id: UUID, started: RunStarted) -> bool:
    """Tell whether a run was submitted, or goes on with a decision."""
    if started.fork is not None:
        return False
    decided = started.continues is not None and run_id == following_run(approval_id_of(started.continues))
    return started.queued is not None or decided


def _unfinished(state: ApprovalState, agent: Agent, now: datetime) -> bool:
    """Tell whether the process that ran an effect is gone, or should have come to its end long ago."""
    if state.started is None or state.execution != "started":
        return False
    terminal = agent.terminals_by_name.get(state.requested.tool)
    effect = terminal.approval.effect if terminal is not None and terminal.approval is not None else None
    if effect is None:
        return False
    at = state.started.recorded_at
    overdue = now - at > timedelta(seconds=effect.timeout_s) + _EFFECT_GRACE
    return overdue or abandoned(state.started.owner, at, now)
