"""Make the reports that are due: take a due time, make its files, hand them over, note what became of it."""

import asyncio
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from tachograph.adapters.exporters.report_file import written
from tachograph.adapters.read_side.opening import database_of
from tachograph.adapters.reports.making import make_report
from tachograph.adapters.workers.delivering import COMMAND_S_MAX, call, put
from tachograph.adapters.workers.report_notes import ReportNotes
from tachograph.adapters.workers.report_runs import (
    Asked,
    Done,
    Failed,
    File,
    Made,
    Note,
    ReportRun,
    Status,
    Taken,
    again_at,
    evolve,
    fold,
    next_step,
)
from tachograph.adapters.workers.report_schedules import ReportSchedule
from tachograph.adapters.world import SystemClock, SystemIds
from tachograph.domain.ports import Clock, EventStore
from tachograph.domain.text import clipped, storable

LOOK_EVERY_S: Final = 5.0
_REASON_MAX: Final = 500


class _TakenOver(Exception):
    """Another worker has noted something since: it is that worker's."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a due time. `again_at`: when it will be tried again."""

    run: ReportRun
    result: Status | Literal["taken_over"]
    again_at: datetime | None = None


@dataclass
class Rounds:
    """
    Makes what is due, one after the other.

    Args:
        store: With a database.
        told: Hears what became of each due time.
    """

    schedules: Sequence[ReportSchedule]
    store: EventStore
    told: Callable[[Reported], object]
    clock: Clock = field(default_factory=SystemClock)
    owner: str = field(default_factory=lambda: SystemIds().owner())
    _settled: dict[str, datetime] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._notes = ReportNotes(database_of(self.store))

    async def keep(self) -> None:
        """Go on for ever. Raises StoreError."""
        while True:
            await self.once()
            await asyncio.sleep(LOOK_EVERY_S)

    async def once(self) -> None:
        """
        Do what is due now: what is new, and what was begun and can be gone on with.

        Raises:
            StoreError: The database failed.
        """
        if self.schedules:
            await asyncio.to_thread(self._notes.create)
        for schedule in self.schedules:
            begun, due = await asyncio.to_thread(self._look, schedule)
            for run in begun:
                await self._go_on(schedule, run)
            if due is not None:
                await self._begin(schedule, due)

    def _look(self, schedule: ReportSchedule) -> tuple[list[ReportRun], datetime | None]:
        """Return what was begun of a schedule and isn't settled, and the time that is due and new."""
        known = self._notes.after(schedule.name, self._settled.get(schedule.name))
        for run in known:
            if not run.settled:
                break
            self._settled[schedule.name] = run.due_at
        latest = known[-1].due_at if known else self._settled.get(schedule.name)
        due = schedule.due_before(self.clock.now())
        return [run for run in known if not run.settled], due if latest is None or due > latest else None

    async def _begin(self, schedule: ReportSchedule, due: datetime) -> None:
        since, until = schedule.span(due)
        asked = Asked(
            report=schedule.report,
            since=since,
            until=until,
            zone=schedule.zone,
            tenant=schedule.tenant,
            section=schedule.section,
            formats=schedule.formats,
            position=await asyncio.to_thread(self.store.head),
        )
        note = Taken(at=self.clock.now(), owner=self.owner, asked=asked)
        if await asyncio.to_thread(self._notes.add, schedule.name, due, 1, note):
            await self._make(schedule, fold(schedule.name, due, [note]))

    async def _go_on(self, schedule: ReportSchedule, run: ReportRun) -> None:
        now = self.clock.now()
        step = next_step(run, self.owner, now)
        try:
            if step == "take":
                run = await self._note(run, Taken(at=now, owner=self.owner, asked=run.asked))
                await self._make(schedule, run)
            elif step == "give_up":
                self._tell(await self._note(run, Failed(at=now, reason="each process that made it ended")))
        except _TakenOver:
            return

    async def _make(self, schedule: ReportSchedule, run: ReportRun) -> None:
        try:
            self._tell(await self._try(schedule, run))
        except _TakenOver:
            self.told(Reported(run, "taken_over"))

    async def _try(self, schedule: ReportSchedule, run: ReportRun) -> ReportRun:
        """Make what was taken, and return what became of it. Raises _TakenOver, StoreError."""
        exit_code: int | None = None
        try:
            with tempfile.TemporaryDirectory(prefix="tachograph-") as folder:
                made, paths = await asyncio.to_thread(self._made, run, schedule.directory, Path(folder))
                run = await self._note(run, made)
                if schedule.command is not None:
                    exit_code = await call(schedule.command, paths)
        except _TakenOver:
            raise
        except TimeoutError:
            return await self._failed(run, f"the command took longer than {COMMAND_S_MAX} s and was ended")
        except Exception as exc:  # Whatever stops one report, the others and the runs go on.
            return await self._failed(run, f"{type(exc).__name__}: {exc}")
        if exit_code:
            return await self._failed(run, f"the command ended with {exit_code}", exit_code)
        return await self._note(run, Done(at=self.clock.now(), exit_code=exit_code))

    def _made(self, run: ReportRun, directory: Path | None, folder: Path) -> tuple[Made, list[Path]]:
        """Put the files into the directory, without one into the folder; return them, and their paths."""
        asked = run.asked
        report = make_report(
            self.store,
            asked.report,
            since=asked.since,
            until=asked.until,
            zone=asked.zone,
            tenant=asked.tenant,
            position=asked.position,
        )
        section = None if asked.section is None else report.section(asked.section)
        paths: list[Path] = []
        files: list[File] = []
        for form in asked.formats:
            content = written(report, form, section)
            path = (directory or folder) / f"{run.schedule}_{run.due_at:%Y-%m-%dT%H%MZ}.{form}"
            put(path, content)
            paths.append(path.absolute())
            said = path.name if directory is None else str(path)
            files.append(File(path=said, bytes=len(content), sha256=hashlib.sha256(content).hexdigest()))
        return Made(at=self.clock.now(), digest=report.digest, files=tuple(files)), paths

    async def _failed(self, run: ReportRun, reason: str, exit_code: int | None = None) -> ReportRun:
        said, _ = storable("reason", reason)
        note = Failed(at=self.clock.now(), reason=clipped(said, _REASON_MAX), exit_code=exit_code)
        return await self._note(run, note)

    async def _note(self, run: ReportRun, note: Note) -> ReportRun:
        """Add the next note, and return the run with it. Raises _TakenOver: another one is there."""
        added = await asyncio.to_thread(self._notes.add, run.schedule, run.due_at, run.number + 1, note)
        if not added:
            raise _TakenOver
        return evolve(run, note)

    def _tell(self, run: ReportRun) -> None:
        self.told(Reported(run, run.status, again_at(run)))
