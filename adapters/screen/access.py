"""Open the store that the user named, and find the run that the user means."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click

from tachograph.adapters.stores.opening import open_store
from tachograph.domain.approvals.definition import approval_id_of
from tachograph.domain.errors import RunNotFound, StoreError
from tachograph.domain.events import Entry
from tachograph.domain.ports import EventStore

PREFIX_MIN: Final = 8
_SHOWN_MAX: Final = 5
_SQLITE: Final = "sqlite:///"
_LOGGERS: Final = ("psycopg", "psycopg.pool", "eventsourcing", "procrastinate")
_RUN_ID: Final = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_PREFIX: Final = re.compile(r"[0-9a-f-]{8,36}", re.IGNORECASE)

_SQLITE_RUNS: Final = (
    "SELECT originator_id AS run_id FROM stored_events"
    " WHERE originator_id BETWEEN ? AND ? AND originator_version = 1 ORDER BY originator_id LIMIT ?"
)
_POSTGRES_RUNS: Final = (
    b"SELECT originator_id AS run_id FROM stored_events"
    b" WHERE originator_id BETWEEN %s AND %s AND originator_version = 1 ORDER BY originator_id LIMIT %s"
)


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[EventStore]:
    """
    Open a store for the length of a command.

    Args:
        create: Whether a SQLite file that isn't there is made; a command that only reads makes none.
    Raises:
        InvalidStoreUrl, StoreError: As `open_store`; the message says what the database said.
    """
    _check(url)
    store = open_store(url, create=create)
    try:
        yield store
    finally:
        store.close()


def find_run(store: EventStore, text: str) -> UUID:
    """
    Return the id of the run that a text names: a run id, or the first 8 or more characters of one.

    Raises:
        click.UsageError: The text can't be part of a run id, or more than one run begins with it.
        RunNotFound: No run begins with it. A whole id isn't looked up.
    """
    if _RUN_ID.fullmatch(text):
        return UUID(text)
    digits = text.replace("-", "").lower()
    if not _PREFIX.fullmatch(text) or not PREFIX_MIN <= len(digits) <= 32:
        raise click.UsageError(
            f"{text[:80]!r} is not a run id: give the id, or at least its first {PREFIX_MIN} characters."
        )
    found = _runs_from(store, digits)
    if not found:
        raise RunNotFound(text)
    if len(found) > 1:
        shown = ", ".join(map(str, found[:_SHOWN_MAX]))
        more = " and others" if len(found) > _SHOWN_MAX else ""
        raise click.UsageError(f"Several runs begin with {text}: {shown}{more}.")
    return found[0]


def is_approval(store: EventStore, found: UUID) -> bool:
    """Tell whether an id is that of an approval, not of a run."""
    first = store.read(found, up_to=1)
    return bool(first) and first[0].kind == "approval_requested"


def asks_people(store: EventStore, run_id: UUID) -> bool:
    """Tell whether a run has asked for an approval."""
    return bool(store.read(approval_id_of(run_id), up_to=1))


def read_run(store: EventStore, run_id: UUID, at: int | None = None) -> list[Entry]:
    """
    Return a run's events up to a version.

    Raises:
        RunNotFound: No such run.
        StoreError: The run has not come to that version.
    """
    entries = store.read(run_id, up_to=at)
    if not entries:
        raise RunNotFound(run_id)
    if at is not None and entries[-1].version < at:
        raise StoreError(f"run {run_id} is at version {entries[-1].version}; it has no version {at}")
    return entries


def _runs_from(store: EventStore, digits: str) -> list[UUID]:
    datastore: Any = getattr(store, "datastore", None)
    if datastore is None:
        return []
    first, last = digits.ljust(32, "0"), digits.ljust(32, "f")
    with datastore.transaction(commit=False) as cursor:
        if type(cursor).__module__.startswith("psycopg"):
            cursor.execute(_POSTGRES_RUNS, (UUID(first), UUID(last), _SHOWN_MAX + 1))
        else:
            cursor.execute(_SQLITE_RUNS, (first, last, _SHOWN_MAX + 1))
        return [UUID(str(row["run_id"])) for row in cursor.fetchall()]


def _check(url: str) -> None:
    """Say plainly what SQLite says vaguely, and keep drivers from printing what will be told anyway."""
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    path = url.removeprefix(_SQLITE)
    if path and path != url and Path(path).is_dir():
        raise StoreError(f"{path} is a folder, not a store")
