"""
What became of each due time of a report schedule, from what was noted of it, and what is to be done next.

Notes are only ever added. A due time is taken by whoever adds its next note; the note that another one adds
at the same place is refused, so a worker that was taken over can't note anything any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from tachograph.adapters.ownership import abandoned, is_this_process
from tachograph.domain.queueing import pause_after

TRIES_MAX: Final = 5


class _Note(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: datetime


class Asked(BaseModel):
    """
    What is made for a due time: settled when it is taken the first time, so that it is the same again.

    Args:
        since, until: The period, from and before, UTC, ISO 8601.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    report: str
    since: str | None
    until: str | None
    zone: str
    tenant: str | None
    section: str | None
    formats: tuple[str, ...]
    position: int


class File(BaseModel):
    """A file that was made. `path`: where it was put; its name alone where it was only handed over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    bytes: int
    sha256: str


class Taken(_Note):
    """Somebody began to make it."""

    kind: Literal["taken"] = "taken"
    owner: str
    asked: Asked


class Made(_Note):
    """Its files are there. `digest`: the report's own."""

    kind: Literal["made"] = "made"
    digest: str
    files: tuple[File, ...]


class Done(_Note):
    """It is done with. `exit_code`: of its command, if it has one."""

    kind: Literal["done"] = "done"
    exit_code: int | None = None


class Failed(_Note):
    """A try failed."""

    kind: Literal["failed"] = "failed"
    reason: str
    exit_code: int | None = None


Note = Annotated[Taken | Made | Done | Failed, Field(discriminator="kind")]
Status = Literal["under_way", "done", "failed", "given_up"]


@dataclass(frozen=True, slots=True)
class ReportRun:
    """
    A due time of a schedule as it stands.

    Args:
        number: Of its last note.
        at: Of its last note.
        tried: How often it was taken.
        exit_code, reason: Of the last try.
    """

    schedule: str
    due_at: datetime
    asked: Asked
    owner: str
    status: Status
    number: int
    at: datetime
    tried: int
    files: tuple[File, ...] = ()
    digest: str | None = None
    exit_code: int | None = None
    reason: str | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing is to be done any more."""
        return self.status in ("done", "given_up")


def fold(schedule: str, due_at: datetime, notes: Sequence[Note]) -> ReportRun:
    """
    Return what became of a due time, from its notes in order.

    Raises:
        ValueError: They don't begin with who took it.
    """
    first = notes[0]
    if not isinstance(first, Taken):
        raise ValueError("the first note is missing")
    run = ReportRun(schedule, due_at, first.asked, first.owner, "under_way", 1, first.at, 1)
    for note in notes[1:]:
        run = evolve(run, note)
    return run


def evolve(run: ReportRun, note: Note) -> ReportRun:
    """Return the run after its next note."""
    run = replace(run, number=run.number + 1, at=note.at)
    match note:
        case Taken():
            return replace(run, owner=note.owner, status="under_way", tried=run.tried + 1)
        case Made():
            return replace(run, files=note.files, digest=note.digest)
        case Done():
            return replace(run, status="done", exit_code=note.exit_code, reason=None)
        case Failed():
            status: Status = "given_up" if run.tried >= TRIES_MAX else "failed"
            return replace(run, status=status, exit_code=note.exit_code, reason=note.reason)
    assert_never(note)


def again_at(run: ReportRun) -> datetime | None:
    """Return when a run whose last try failed is to be tried again."""
    return run.at + pause_after(run.tried) if run.status == "failed" else None


def next_step(run: ReportRun, me: str, now: datetime) -> Literal["take", "give_up", "leave"]:
    """
    Decide what to do with a due time that was taken before.

    Args:
        me: The owner who asks, not busy with this one.
    """
    if run.settled:
        return "leave"
    due = again_at(run)
    if due is not None:
        return "take" if now >= due else "leave"
    left = run.owner == me or is_this_process(run.owner) or abandoned(run.owner, run.at, now)
    if not left:
        return "leave"
    return "give_up" if run.tried >= TRIES_MAX else "take"
