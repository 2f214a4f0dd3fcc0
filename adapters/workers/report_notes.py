"""The table of what became of each due time of a report schedule, beside the record in the same database."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from tachograph.adapters.read_side.database import Database
from tachograph.adapters.workers.report_runs import Note, ReportRun, fold
from tachograph.domain.errors import StoreError
from tachograph.projections.plain import time_text

TABLE: Final = "report_notes"
_CREATE: Final = """
    CREATE TABLE IF NOT EXISTS report_notes (
        schedule TEXT NOT NULL,
        due_at TEXT NOT NULL,
        number BIGINT NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (schedule, due_at, number)
    )
"""
_INSERT: Final = "INSERT INTO report_notes VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
_OF_ONE: Final = """
    SELECT schedule, due_at, number, note FROM report_notes WHERE schedule = %s AND due_at > %s
    ORDER BY due_at, number
"""
_ALL: Final = "SELECT schedule, due_at, number, note FROM report_notes ORDER BY due_at, schedule, number"
_NOTE: Final[TypeAdapter[Note]] = TypeAdapter(Note)


class ReportNotes:
    """
    The notes of one store's database.

    Raises:
        StoreError: From every method: the database failed, or a row in it is none of ours.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self) -> None:
        """Create the table where it is missing."""
        if self._there():
            return
        with self._database.changing_schema() as transaction:
            transaction.execute(_CREATE)
            transaction.grant(TABLE)

    def open_to_readers(self) -> None:
        """Let the database's role for readers, where there is one, read the table if it is there."""
        with self._database.changing_schema() as transaction:
            if transaction.has(TABLE):
                transaction.grant(TABLE)

    def add(self, schedule: str, due_at: datetime, number: int, note: Note) -> bool:
        """Add a note, durable on return. False: there is one at this place already; nothing was added."""
        row = (schedule, time_text(due_at), number, note.model_dump_json())
        with self._database.recording() as transaction:
            return transaction.execute(_INSERT, row) == 1

    def after(self, schedule: str, due_at: datetime | None) -> list[ReportRun]:
        """Return the due times of a schedule past one, in order."""
        with self._database.reading() as transaction:
            rows = transaction.rows(_OF_ONE, (schedule, "" if due_at is None else time_text(due_at)))
        return list(_runs(rows))

    def all(self) -> list[ReportRun]:
        """Return all due times that were ever taken, in order of time."""
        if not self._there():
            return []
        with self._database.reading() as transaction:
            rows = transaction.rows(_ALL)
        return list(_runs(rows))

    def _there(self) -> bool:
        with self._database.reading() as transaction:
            return transaction.has(TABLE)


def _runs(rows: list[tuple[Any, ...]]) -> Iterator[ReportRun]:
    notes: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for schedule, due_at, number, note in rows:
        notes[schedule, due_at].append((number, note))
    for (schedule, due_at), found in notes.items():
        if [number for number, _ in found] != list(range(1, len(found) + 1)):
            raise StoreError(f"{TABLE}: notes of {schedule[:100]!r}, {due_at[:40]!r}, are missing")
        try:
            read = [_NOTE.validate_json(note) for _, note in found]
            yield fold(schedule, datetime.fromisoformat(due_at), read)
        except (ValidationError, ValueError) as exc:
            raise StoreError(
                f"{TABLE}: a note of {schedule[:100]!r} at {due_at[:40]!r} is unreadable"
            ) from exc
