"""
PostgreSQL as a persistence module of `eventsourcing`.

What differs from the library's own: one statement and one round trip an insert; a trigger takes an
advisory lock in place of LOCK TABLE, which would need more rights than a writer should have and
stands in the way of vacuum; no NOTIFY, since readers poll; a version gap is refused; update, delete
and truncate are refused by triggers; no hidden retry, so that an unknown outcome stays known as one.
"""

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final, LiteralString, NoReturn
from uuid import UUID

import psycopg
from eventsourcing import postgres as library
from eventsourcing.persistence import (
    InfrastructureFactory,
    IntegrityError,
    OperationalError,
    StoredEvent,
)
from eventsourcing.utils import Environment, EnvType
from psycopg.rows import tuple_row
from psycopg_pool import PoolTimeout

from tachograph.adapters.stores.heads import KnownHeads
from tachograph.adapters.stores.postgres_server import POOL_MAX, Datastore
from tachograph.adapters.stores.rows import LogRow, RowRecorder, RunRow

SCHEMA: Final = (files(__package__) / "postgres.sql").read_text(encoding="utf-8")
ROLES: Final = (files(__package__) / "postgres_roles.sql").read_text(encoding="utf-8")

_INSERT: Final = """
    INSERT INTO stored_events (originator_id, originator_version, topic, state)
    SELECT id, version, topic, state
    FROM unnest(%b::uuid[], %b::bigint[], %b::text[], %b::bytea[])
        WITH ORDINALITY AS event (id, version, topic, state, place)
    ORDER BY place
    RETURNING notification_id
"""
_SELECT_RUN: Final = """
    SELECT originator_version, topic, state FROM stored_events
    WHERE originator_id = %b AND originator_version > %b AND originator_version <= %b
    ORDER BY originator_version
"""
_SELECT_LOG: Final = """
    SELECT originator_id, originator_version, topic, state, notification_id FROM stored_events
    WHERE notification_id >= %b AND notification_id <= %b
    ORDER BY notification_id LIMIT %b
"""
_LAST_POSITION: Final = "SELECT coalesce(max(notification_id), 0) FROM stored_events"
_SCHEMA_FOUND: Final = """
    SELECT to_regclass('stored_events') IS NOT NULL, EXISTS (
        SELECT 1 FROM pg_trigger
        WHERE tgrelid = to_regclass('stored_events') AND tgname = 'stored_events_in_turn'
    )
"""
_SCHEMA_LOCK: Final = "SELECT pg_advisory_xact_lock(1952539493, 0)"
_VERSION_MAX: Final = 2**62


class Recorder(RowRecorder, library.PostgresApplicationRecorder):
    """The event log in one table."""

    datastore: Datastore

    def __init__(
        self, datastore: library.PostgresDatastore, *, events_table_name: str = "stored_events"
    ) -> None:
        super().__init__(datastore, events_table_name=events_table_name)
        self._heads = KnownHeads(self.has_version)

    def create_table(self) -> None:
        """Create the schema if it isn't there; a role that may not create one can still use it."""
        try:
            with self.datastore.connect() as connection:
                connection.execute(_SCHEMA_LOCK, prepare=False)
                table, ours = connection.execute(_SCHEMA_FOUND, prepare=False).fetchone() or (False, False)
                if not table:
                    connection.execute(SCHEMA.encode(), prepare=False)
                elif not ours:
                    raise OperationalError("its table stored_events lacks the triggers of a store")
        except psycopg.Error as exc:
            raise OperationalError(str(exc)) from exc

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """
        Store rows of any number of runs, all or none, and return their positions.

        Raises:
            IntegrityError: A version is taken, or would leave a gap.
            OperationalError: The connection failed; whether the rows are stored is not known.
        """
        if not stored_events:
            return []
        self._heads.check(stored_events)
        with self.datastore.get_connection() as connection:
            positions = _insert(connection, stored_events)
        self._heads.learn(stored_events)
        return positions

    def insert_beside(
        self, stored_events: Sequence[StoredEvent], beside: Callable[[psycopg.Connection[Any]], object]
    ) -> None:
        """
        Store rows as `insert_events` does, in one transaction with what `beside` does on the connection.

        Raises:
            IntegrityError, OperationalError: As `insert_events`.
        """
        self._heads.check(stored_events)
        with self.datastore.get_connection() as connection, connection.transaction():
            _insert(connection, stored_events)
            beside(connection)
        self._heads.learn(stored_events)

    def run_rows(self, run_id: UUID | str, after: int = 0, up_to: int | None = None) -> list[RunRow]:
        """Return (version, topic, state) of a run, in order of version."""
        return self._rows(_SELECT_RUN, (run_id, after, _VERSION_MAX if up_to is None else up_to))

    def log_rows(self, first: int, limit: int, last: int | None = None) -> list[LogRow]:
        """Return (run id, version, topic, state, position), in order of position."""
        return self._rows(_SELECT_LOG, (first, _VERSION_MAX if last is None else last, limit))

    def max_notification_id(self) -> int:
        """Return the last position, 0 for an empty log."""
        position: int = self._rows(_LAST_POSITION, ())[0][0]
        return position

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> NoReturn:
        """Refuse: a subscription can miss events; readers poll the log."""
        raise NotImplementedError("poll select_notifications")

    def _rows(self, query: LiteralString, parameters: Sequence[Any]) -> list[Any]:
        for _ in range(POOL_MAX):  # A restart leaves a pool full of dead connections.
            try:
                return self._rows_once(query, parameters)
            except OperationalError as exc:
                if isinstance(exc.__cause__, PoolTimeout):
                    raise
        return self._rows_once(query, parameters)

    def _rows_once(self, query: LiteralString, parameters: Sequence[Any]) -> list[Any]:
        with (
            self.datastore.get_connection() as connection,
            connection.cursor(row_factory=tuple_row, binary=True) as cursor,
        ):
            return cursor.execute(query, parameters).fetchall()


def _insert(connection: psycopg.Connection[Any], rows: Sequence[StoredEvent]) -> list[int]:
    columns = (
        [row.originator_id for row in rows],
        [row.originator_version for row in rows],
        [row.topic for row in rows],
        [row.state for row in rows],
    )
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        positions = [row[0] for row in cursor.execute(_INSERT, columns)]
    if len(positions) != len(rows):
        raise IntegrityError("the database swallowed a row")
    return positions


class Factory(library.PostgresFactory):
    """What `PERSISTENCE_MODULE` finds in this module. Takes POSTGRES_URL and nothing else."""

    POSTGRES_URL = "POSTGRES_URL"
    application_recorder_class = Recorder

    def __init__(self, env: Environment | EnvType | None) -> None:
        InfrastructureFactory.__init__(self, env)
        self.datastore = Datastore(self.env[self.POSTGRES_URL])
