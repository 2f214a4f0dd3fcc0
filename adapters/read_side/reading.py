"""The read side of a store: the views, and how far they are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tachograph.adapters.read_side import as_of, counting, generations, quarantine, queries
from tachograph.adapters.read_side.database import Database
from tachograph.adapters.read_side.errors import BuiltByNewerRelease, UnknownProjection, ViewOutdated
from tachograph.adapters.read_side.placing import PlacedLog
from tachograph.adapters.read_side.quarantine import Quarantined
from tachograph.adapters.read_side.runner import Progress, Runner
from tachograph.domain.ports import Clock, EventStore
from tachograph.projections.approvals import APPROVALS
from tachograph.projections.facts import FACTS
from tachograph.projections.metrics import METRICS
from tachograph.projections.plain import time_text
from tachograph.projections.projection import Projection
from tachograph.projections.runs import RUNS
from tachograph.projections.step_counts import STEP_COUNTS
from tachograph.projections.timeline import TIMELINE


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How far a view is. `lag`: positions that it is behind the log; times are UTC, ISO 8601."""

    name: str
    version: int
    position: int
    head: int
    lag: int
    quarantined: int
    generation: int
    updated_at: str


class ReadSide:
    """
    Views of one store's log, in the store's own database; of a store without one, in memory.

    A view shows the log as far as it was caught up. For use by one thread at a time; any number of
    processes may each open their own.
    """

    def __init__(
        self,
        store: EventStore,
        database: Database,
        projections: Sequence[Projection],
        clock: Clock,
        batch_size: int,
    ) -> None:
        self._store = store
        self._database = database
        self._projections = {projection.name: projection for projection in projections}
        log = PlacedLog(store, batch_size)
        self._runner = Runner(log, database, projections, clock)
        generations.create_missing(database, projections, time_text(clock.now()))

    def catch_up(self, progress: Progress | None = None) -> int:
        """
        Apply what the log holds beyond the views, and return how many events that were.

        A view whose projection has a new version is built again; readers see the old one until then.

        Args:
            progress: Called after each batch with the position reached and that of the log's end.
        """
        return self._runner.catch_up(progress)

    def rebuild(self, names: Sequence[str] | None = None, progress: Progress | None = None) -> int:
        """
        Build views again from the first event, and show them in place of the old ones at the end.

        Args:
            names: Of projections; None means all.
        Raises:
            UnknownProjection: No such name.
            Superseded: Another process began to rebuild the same view; the old one stays until then.
        """
        chosen = [
            self._known(name) for name in (self._projections if names is None else dict.fromkeys(names))
        ]
        return self._runner.rebuild(chosen, progress)

    def status(self) -> list[ProjectionStatus]:
        """Return how far each view is, in order of name."""
        left_out = quarantine.counts(self._database)
        live = [each for each in generations.load(self._database) if each.live]
        head = self._store.head()
        return [
            ProjectionStatus(
                name=each.name,
                version=each.version,
                position=each.position,
                head=head,
                lag=max(0, head - each.position),
                quarantined=left_out.get((each.name, each.generation), 0),
                generation=each.generation,
                updated_at=each.updated_at,
            )
            for each in live
            if each.name in self._projections
        ]

    def quarantined(self, name: str | None = None) -> list[Quarantined]:
        """
        Return the entries that are left out of the views, or of one, in order of position.

        Raises:
            UnknownProjection: No such name.
        """
        names = self._projections if name is None else {self._known(name).name}
        return [each for each in quarantine.listed(self._database) if each.projection in names]

    def steps(self, trace_id: str | None = None) -> Iterator[dict[str, Any]]:
        """
        Yield the step counts of each trace, or of one, in order of trace id.

        Returns:
            trace_id, tenant, runs, model_turns, tool_calls, tool_errors, outcomes: {outcome: runs}.
            A trace id that two tenants use gives a line for each.
        """
        self._check(STEP_COUNTS.name)
        yield from queries.steps(self._database, trace_id)

    def runs(
        self, *, trace_id: str | None = None, status: str | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """
        Yield runs, those that began last first, by their place in the log, not by the clock.

        Args:
            status: `open` or `ended`.
        Returns:
            The columns of the view, and duration_ms from the first recorded time to the last.
        """
        self._check(RUNS.name)
        yield from queries.runs(self._database, trace_id=trace_id, status=status, limit=limit)

    def approvals(
        self,
        *,
        tenant: str | None = None,
        subject: str | None = None,
        execution: str | None = None,
        pending: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """
        Yield approvals in the order in which they were asked for.

        Args:
            execution: How far its effect is: started, done, failed or unknown.
            pending: Those alone that nobody has decided; a late one is among them until that is recorded.
        Returns:
            The columns of the view, and status: pending, granted, denied or expired.
        """
        self._check(APPROVALS.name)
        yield from queries.approvals(
            self._database, tenant=tenant, subject=subject, execution=execution, pending=pending
        )

    def timeline(self, run_id: UUID) -> Iterator[dict[str, Any]]:
        """
        Yield what was recorded of a run, in order of version.

        Returns:
            The columns of the view, and clock_stepped_back: whether a time is lower than one before it.
        """
        self._check(TIMELINE.name)
        yield from queries.timeline(self._database, str(run_id))

    def counts(self) -> list[counting.Count]:
        """Return what was counted for monitoring, over all tenants, the oldest counts first."""
        self._check(METRICS.name)
        return counting.counts(self._database)

    def in_doubt(self) -> dict[str, int]:
        """Return how many calls have no outcome that is known, by their state: see `counting`."""
        for projection in (RUNS, TIMELINE, APPROVALS):
            self._check(projection.name)
        return counting.in_doubt(self._database)

    def facts(self, query: str, span: as_of.Span) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the facts as they stood at a position: see `as_of`."""
        for projection in (FACTS, TIMELINE):
            self._check(projection.name)
        return as_of.rows(self._database, query, span)

    def facts_reached(self) -> int:
        """Return up to which position the views of `facts` have the log."""
        live = [each for each in generations.load(self._database) if each.live]
        return min(each.position for each in live if each.name in (FACTS.name, TIMELINE.name))

    def recorded_at(self, position: int) -> str | None:
        """Return the latest time recorded up to a position, UTC, ISO 8601: see `as_of`."""
        for projection in (FACTS, TIMELINE):
            self._check(projection.name)
        return as_of.recorded_at(self._database, position)

    def open_to_readers(self) -> None:
        """Let the database's role for readers, where there is one, read the views."""
        generations.grant(self._database, self._projections.values())

    def close(self) -> None:
        """Let go of what was opened for the read side; the store stays open."""
        self._database.close()

    def _known(self, name: str) -> Projection:
        if name not in self._projections:
            raise UnknownProjection(name, sorted(self._projections))
        return self._projections[name]

    def _check(self, name: str) -> None:
        """Refuse to read a view that this release's projection has not built: its columns may be others."""
        version = self._known(name).version
        live = next(each for each in generations.load(self._database) if each.name == name and each.live)
        if live.version < version:
            raise ViewOutdated(name)
        if live.version > version:
            raise BuiltByNewerRelease(name)
