"""What a worker does with what the queue gives out: take it over and go on with it, as `resume` does."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from tachograph.adapters.approving import load_approval
from tachograph.adapters.deciding import Office
from tachograph.adapters.effecting import pick_up
from tachograph.adapters.limiting import Gate
from tachograph.adapters.loading import load
from tachograph.adapters.ownership import abandoned, is_this_process
from tachograph.adapters.running import resume
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.agent import Agent
from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.errors import (
    ApprovalNotFound,
    CorruptRun,
    RunClosed,
    RunInDoubt,
    RunTakenOver,
    VersionConflict,
)
from tachograph.domain.events import RunResumed, RunStarted
from tachograph.domain.origins import ASIDE
from tachograph.domain.ports import Clock, EventStore, Ids, Model
from tachograph.domain.queueing import (
    LOOK_AGAIN,
    PAUSE_MAX,
    WORKER,
    LookAgain,
    SetAside,
    Take,
    decide,
    pause_after,
    tries,
)
from tachograph.domain.run import RunState, fold
from tachograph.domain.text import clipped, storable

_REASON_MAX: Final = 500

ModelOf = Callable[[Agent, RunStarted], tuple[Agent, Model | None]]
What = Literal["run", "effect"]
Result = Literal["ended", "failed", "waits", "set_aside", "handed_over", "taken_over", "unreadable"]


@dataclass(frozen=True, slots=True)
class Worked:
    """
    What became of something that the queue gave out.

    Args:
        outcome: How the run ended, or how far the effect is, where that is known.
        again_at: When it will be given out again.
    """

    what: What
    id: UUID
    agent: str
    result: Result
    outcome: str | None = None
    reason: str | None = None
    tried: int = 1
    again_at: datetime | None = None


def own_model(agent: Agent, started: RunStarted) -> tuple[Agent, Model | None]:
    """Return the agent with its own model."""
    return agent, agent.model


@dataclass(frozen=True)
class Crew:
    """
    The agents that a worker runs.

    Args:
        agents: By name. Runs of others are never given to this worker.
        told: Hears what became of each run.
        model_of: Gives an agent and who answers it, for the beginning of a run.
        gate: Where its runs' calls wait, so that all of them keep to the limits.
        tries_max: Tries without coming further after which a run is set aside.
    """

    store: EventStore
    agents: Mapping[str, Agent]
    told: Callable[[Worked], object]
    model_of: ModelOf = own_model
    tries_max: int = 5
    gate: Gate | None = None
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)

    async def go_on(self, run_id: UUID, *, worker_gone: bool) -> datetime | None:
        """
        Go on with a run, and return when to give it out again; None when no worker is needed any more.

        Args:
            worker_gone: Whether the queue knows that a worker which took it before has let go of it.
        Raises:
            StoreError: The store can't be reached.
            CancelledError: It was handed over.
        """
        try:
            entries = await asyncio.to_thread(self.store.read, run_id)
            state = fold(run_id, entries)
        except CorruptRun as exc:
            return self._unreadable("run", run_id, exc)
        now = self.clock.now()
        given_up = (
            abandoned(state.owner, state.last_recorded_at, now)
            or is_this_process(state.owner)
            or (worker_gone and bool(state.resumed) and state.resumed[-1].actor == WORKER)
        )
        match decide(state, entries, now, self.tries_max, given_up=given_up):
            case Take(reason, tried):
                return await self._take(state, reason, tried)
            case LookAgain(at):
                return at
            case SetAside(reason):
                await self._set_aside(state, reason)
        return None

    async def carry_out(self, approval_id: UUID) -> datetime | None:
        """
        Go on with the effect of an approval that its process didn't finish. Returns and raises as `go_on`.
        """
        try:
            state = await asyncio.to_thread(load_approval, self.store, approval_id)
            if state.execution != "started":
                return None
            agent = self.agents[state.requested.agent]
            after = await pick_up(Office(self.store, self.clock), agent, approval_id)
        except (CorruptRun, ApprovalNotFound) as exc:
            return self._unreadable("effect", approval_id, exc)
        except asyncio.CancelledError:
            raise
        except BaseException as exc:  # Whatever a handler raises, the other runs go on.
            again_at = self.clock.now() + PAUSE_MAX
            self._failed("effect", approval_id, state.requested.agent, exc, 1, again_at)
            return again_at
        result: Result = "waits" if after.execution == "unknown" else "ended"
        self.told(Worked("effect", approval_id, agent.name, result, after.execution, _why(after)))
        return None

    async def _take(self, state: RunState, reason: str, tried: int) -> datetime | None:
        run_id, name = state.run_id, state.started.agent
        try:
            agent, model = self.model_of(self.agents[name], state.started)
            outcome = await resume(
                agent,
                run_id,
                model=model,
                store=self.store,
                actor=WORKER,
                reason=reason,
                version=state.version,
                gate=self.gate,
                clock=self.clock,
                ids=self.ids,
            )
        except RunClosed:
            return None
        except RunTakenOver:
            if await asyncio.to_thread(self._had, run_id):  # Not where another worker was first.
                self.told(Worked("run", run_id, name, "taken_over", tried=tried))
            return None
        except RunInDoubt as exc:
            again_at = self.clock.now() + LOOK_AGAIN
            self.told(Worked("run", run_id, name, "waits", None, str(exc), tried, again_at))
            return again_at
        except asyncio.CancelledError:
            self.told(Worked("run", run_id, name, "handed_over", tried=tried))
            raise
        except BaseException as exc:  # As above: a tool may call sys.exit, a model may be down.
            return await self._after_failure(state, tried, exc)
        self.told(Worked("run", run_id, name, "ended", outcome.outcome, outcome.reason, tried))
        return None

    async def _after_failure(self, before: RunState, tried: int, exc: BaseException) -> datetime | None:
        """Return when a run is tried again, or set it aside if it had its tries. Raises StoreError."""
        run_id, name = before.run_id, before.started.agent
        entries = await asyncio.to_thread(self.store.read, run_id)
        state = fold(run_id, entries)
        unnoticed = state.version == before.version  # It failed before it was taken over: a try, too.
        if tries(entries) + unnoticed >= self.tries_max:
            await self._set_aside(state, f"tried {tried} times; the last time: {_said(exc)}")
            return None
        if unnoticed:
            await self._pass_on(state, self.ids.owner(), _said(exc))
        again_at = self.clock.now() + pause_after(tried)
        self._failed("run", run_id, name, exc, tried, again_at)
        return again_at

    async def _set_aside(self, state: RunState, reason: str) -> None:
        await self._pass_on(state, ASIDE, reason)
        name = state.started.agent
        self.told(Worked("run", state.run_id, name, "set_aside", reason=reason, tried=self.tries_max))

    def _had(self, run_id: UUID) -> bool:
        return any(is_this_process(event.owner) for event in load(self.store, run_id).resumed)

    async def _pass_on(self, state: RunState, owner: str, reason: str) -> None:
        """Record whose the run is from here on, unless it is somebody else's already."""
        event = RunResumed(recorded_at=self.clock.now(), owner=owner, actor=WORKER, reason=reason)
        with suppress(VersionConflict):
            await self.store.append(state.run_id, [event], expected_version=state.version)

    def _unreadable(self, what: What, id: UUID, exc: Exception) -> datetime:
        again_at = self.clock.now() + PAUSE_MAX
        self.told(Worked(what, id, "", "unreadable", None, str(exc), 1, again_at))
        return again_at

    def _failed(
        self, what: What, id: UUID, agent: str, exc: BaseException, tried: int, again_at: datetime
    ) -> None:
        self.told(Worked(what, id, agent, "failed", None, _said(exc), tried, again_at))


def _why(state: ApprovalState) -> str | None:
    executed = state.executed
    return executed.message if executed is not None and executed.code else None


def _said(exc: BaseException) -> str:
    text, _ = storable("reason", f"{type(exc).__name__}: {exc}")
    return clipped(text, _REASON_MAX)
