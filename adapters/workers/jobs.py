"""Jobs of procrastinate: what a ticket is as a job, how it is put in, and the tables that jobs stand in."""

import asyncio
import hashlib
import re
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

import psycopg
from eventsourcing.persistence import OperationalError
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision, SyncPsycopgConnector
from procrastinate.jobs import Job
from procrastinate.schema import SchemaManager

from tachograph.adapters.stores.postgres_server import CONNECT_TIMEOUT_S, Datastore
from tachograph.adapters.workers.tickets import BEGUN_FIRST, Ticket
from tachograph.domain.errors import StoreError

GRANTS: Final = (files(__package__) / "postgres_roles.sql").read_text(encoding="utf-8")
TASKS: Final = {"run": "tachograph.run", "effect": "tachograph.effect"}
CONNECTIONS_MAX: Final = 4
_DEFECT_PAUSE_S: Final = 60
_PREFIX: Final = "tachograph:"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]{1,28}")
_SCHEMA_LOCK: Final = b"SELECT pg_advisory_xact_lock(1952539493, 2)"
# It reads pg_class itself: a name that was looked up in vain is remembered as missing for a while.
_TABLE: Final = b"SELECT EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('procrastinate_jobs'))"
_DROP_JOB: Final = b"SELECT procrastinate_finish_job_v1(%s, 'failed', true)"


class PutBack(Exception):
    """A job is to be given out again at a time."""

    def __init__(self, at: datetime) -> None:
        super().__init__(f"again at {at}")
        self.at = at


class _KeepUntilDone(BaseRetryStrategy):
    """No job ends but by its run: it is handed over, given out again later, or kept for after a defect."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:
        if isinstance(exception, PutBack):
            return RetryDecision(retry_at=exception.at)
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_at=datetime.now(UTC))
        return RetryDecision(retry_in={"seconds": _DEFECT_PAUSE_S})


KEEP_UNTIL_DONE: Final = _KeepUntilDone()


def new_app(datastore: Datastore) -> App:
    """Return procrastinate's app for a worker. Its connections are its own."""
    return App(
        connector=PsycopgConnector(
            conninfo=datastore.conninfo,
            kwargs={"connect_timeout": CONNECT_TIMEOUT_S, **datastore.options},
            min_size=1,
            max_size=CONNECTIONS_MAX,
            timeout=CONNECT_TIMEOUT_S,
        )
    )


def queue_name(agent: str) -> str:
    """Return the queue of an agent: its name, where PostgreSQL can name a channel after it."""
    if _PLAIN.fullmatch(agent):
        return f"{_PREFIX}{agent}"
    return f"{_PREFIX}{hashlib.sha256(agent.encode()).hexdigest()[:28]}"


def defer(connection: psycopg.Connection[Any], ticket: Ticket) -> None:
    """
    Put a ticket in as a job, in the transaction that the connection is in.

    Raises:
        AlreadyEnqueued: It waits in the queue already.
    """
    app = App(connector=SyncPsycopgConnector())  # Never opened: it works on the connection that it is given.
    app.configure_task(TASKS[ticket.what], connection=connection, **_options(ticket)).defer(id=str(ticket.id))


async def defer_anew(app: App, ticket: Ticket) -> None:
    """Put a ticket in as a job of its own transaction. Raises as `defer`."""
    await app.configure_task(TASKS[ticket.what], **_options(ticket)).defer_async(id=str(ticket.id))


def replace_job(connection: psycopg.Connection[Any], job: Job) -> None:
    """
    Put a new job in place of one whose worker is dead, in the transaction that the connection is in.

    The worker may be alive after all: what it says of the old job then concerns nobody.

    Raises:
        psycopg.Error: Somebody else has done it, or the worker was alive and has ended the job.
    """
    connection.execute(_DROP_JOB, (job.id,))
    app = App(connector=SyncPsycopgConnector())
    app.configure_task(
        job.task_name,
        connection=connection,
        queue=job.queue,
        lock=job.lock,
        queueing_lock=job.queueing_lock,
        priority=BEGUN_FIRST,
    ).defer(**job.task_kwargs)


def create_tables(datastore: Datastore) -> None:
    """
    Create the tables of procrastinate where they are missing.

    Raises:
        StoreError: They can't be created.
    """
    try:
        with datastore.connect() as connection:
            if _there(connection):
                return
            connection.execute(_SCHEMA_LOCK)
            if not _there(connection):
                connection.execute(SchemaManager.get_schema().encode(), prepare=False)
    except (psycopg.Error, OperationalError) as exc:
        raise StoreError(f"the queue's tables could not be created: {exc}") from exc


def grant_to_writer(datastore: Datastore) -> None:
    """
    Let the role `tachograph_writer` submit.

    Raises:
        StoreError: There is no such role, or no right to grant it anything.
    """
    try:
        with datastore.connect() as connection:
            connection.execute(GRANTS.encode(), prepare=False)
    except (psycopg.Error, OperationalError) as exc:
        raise StoreError(f"the queue's rights could not be set: {exc}") from exc


def _there(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute(_TABLE).fetchone()
    return bool(row and row[0])


def _options(ticket: Ticket) -> dict[str, Any]:
    return {
        "queue": queue_name(ticket.agent),
        "lock": str(ticket.id),
        "queueing_lock": str(ticket.id),
        "priority": ticket.priority,
        "schedule_at": ticket.not_before,
    }
