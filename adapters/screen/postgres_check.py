"""Look at a PostgreSQL store as it really is, in a transaction that can't change it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from eventsourcing.persistence import OperationalError

from tachograph.adapters.screen.findings import Finding, same
from tachograph.adapters.stores.postgres import ROLES, SCHEMA
from tachograph.adapters.stores.postgres_server import Datastore
from tachograph.domain.errors import StoreError

Connection = psycopg.Connection[tuple[Any, ...]]

_SCHEMA_LOCK: Final = "SELECT pg_advisory_xact_lock(1952539493, 0)"
_TABLE: Final = "SELECT to_regclass('stored_events') IS NOT NULL"
_COLUMNS: Final = """
    SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity
    FROM pg_attribute WHERE attrelid = 'stored_events'::regclass AND attnum > 0 AND NOT attisdropped
    ORDER BY attnum
"""
_UNIQUE: Final = """
    SELECT array_agg(attname::text ORDER BY place)
    FROM pg_index, unnest(indkey::int[]) WITH ORDINALITY AS key (number, place)
    JOIN pg_attribute ON attnum = number AND attrelid = 'stored_events'::regclass
    WHERE indrelid = 'stored_events'::regclass AND indisunique AND indisvalid AND indpred IS NULL
    GROUP BY indexrelid
"""
_TRIGGERS: Final = """
    SELECT tgname, tgtype, tgenabled, tgqual IS NULL, prosrc
    FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE tgrelid = 'stored_events'::regclass AND NOT tgisinternal ORDER BY tgname
"""
_ROLES: Final = "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)"
_RIGHTS: Final = """
    SELECT verb, has_table_privilege(%(role)s, 'stored_events', verb), (
        SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = 'stored_events'::regclass AND attnum > 0 AND NOT attisdropped
            AND CASE WHEN verb IN ('SELECT', 'INSERT', 'UPDATE')
                THEN has_column_privilege(%(role)s, 'stored_events', attname, verb) ELSE false END
    )
    FROM unnest(%(verbs)s::text[]) WITH ORDINALITY AS verbs (verb, place) ORDER BY place
"""
_SETTING: Final = "SELECT current_setting(%s)"

_COLUMNS_EXPECTED: Final = [
    ("originator_id", "uuid", True, ""),
    ("originator_version", "bigint", True, ""),
    ("topic", "text", True, ""),
    ("state", "bytea", True, ""),
    ("notification_id", "bigint", True, "a"),
]
_UNIQUE_EXPECTED: Final = (("originator_id", "originator_version"), ("notification_id",))
# tgtype: BEFORE 2, INSERT 4, DELETE 8, UPDATE 16, TRUNCATE 32; without 1 it is for each statement.
_TRIGGERS_EXPECTED: Final = {
    "stored_events_no_change": (58, "stored_events_refuse"),
    "stored_events_in_turn": (6, "stored_events_take_turn"),
}
_FUNCTIONS: Final = dict(re.findall(r"REPLACE FUNCTION (\w+)\(\)[^$]*\$\$(.*?)\$\$", SCHEMA, re.DOTALL))
_VERBS: Final = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "TRIGGER"]
_NO_RIGHTS: Final = "nothing"
_ROLE_RIGHTS: Final = {
    "tachograph_writer": "SELECT, INSERT (originator_id, originator_version, topic, state)",
    "tachograph_reader": "SELECT",
}


def findings(url: str) -> list[Finding]:
    """Compare a database with the schema, roles and settings that a store should have. Raises StoreError."""
    with _connected(url) as connection:
        connection.read_only = True
        if not _value(connection, _TABLE):
            return [Finding("table stored_events", False, "missing", "as defined"), *_durability(connection)]
        return [
            *_table(connection),
            *_triggers(connection),
            *_roles(connection),
            *_durability(connection),
        ]


def has_schema(url: str) -> bool:
    """Tell whether the database holds the table of the record. Raises StoreError."""
    with _connected(url) as connection:
        return bool(_value(connection, _TABLE))


def create(url: str, *, roles: bool) -> None:
    """Create what is missing of the schema, and the roles if asked to. Raises StoreError."""
    with _connected(url) as connection:
        connection.execute(_SCHEMA_LOCK)
        connection.execute(SCHEMA.encode(), prepare=False)
        if roles:
            connection.execute(ROLES.encode(), prepare=False)


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    datastore = Datastore(url)
    try:
        with datastore.connect() as connection:
            yield connection
    except (psycopg.Error, OperationalError) as exc:
        raise StoreError(f"PostgreSQL says: {exc}") from exc
    finally:
        datastore.close()


def _table(connection: Connection) -> Iterator[Finding]:
    columns = connection.execute(_COLUMNS).fetchall()
    fine = columns[: len(_COLUMNS_EXPECTED)] == _COLUMNS_EXPECTED
    found = "as defined" if fine else ", ".join(f"{row[0]} {row[1]}" for row in columns)
    yield Finding("table stored_events", fine, found, "as defined")
    unique = {tuple(row[0]) for row in connection.execute(_UNIQUE)}
    for names in _UNIQUE_EXPECTED:
        yield same(f"unique {', '.join(names)}", "yes" if names in unique else "missing", "yes")


def _triggers(connection: Connection) -> Iterator[Finding]:
    found = {
        name: (kind, enabled, always, source)
        for name, kind, enabled, always, source in connection.execute(_TRIGGERS)
    }
    for name, (kind, function) in _TRIGGERS_EXPECTED.items():
        yield same(f"trigger {name}", _trigger(found.get(name), kind, _FUNCTIONS[function]), "as defined")
    if others := sorted(found.keys() - _TRIGGERS_EXPECTED.keys()):
        yield Finding("other triggers on it", False, ", ".join(others), "none")
    yield same("session_replication_role", _setting(connection, "session_replication_role"), "origin")


def _trigger(found: tuple[int, str | bytes, bool, str] | None, kind: int, source: str) -> str:
    if found is None:
        return "missing"
    enabled = found[1].decode() if isinstance(found[1], bytes) else found[1]
    if enabled not in ("O", "A"):
        return "disabled"
    return "as defined" if found[0] == kind and found[2] and found[3] == source else "another definition"


def _roles(connection: Connection) -> Iterator[Finding]:
    known = {row[0] for row in connection.execute(_ROLES, (list(_ROLE_RIGHTS),))}
    for role, expected in _ROLE_RIGHTS.items():
        if role in known:
            yield same(f"role {role}", _rights(connection, role), expected)
        else:
            yield Finding(f"role {role}", True, "not created", "made by `tachograph db init --roles`")
    yield same("everybody (PUBLIC)", _rights(connection, "public"), _NO_RIGHTS)


def _rights(connection: Connection, role: str) -> str:
    """Say what a role may do with the table, or with some of its columns."""
    rights = connection.execute(_RIGHTS, {"role": role, "verbs": _VERBS}).fetchall()
    said = [verb if whole else f"{verb} ({columns})" for verb, whole, columns in rights if whole or columns]
    return ", ".join(said) or _NO_RIGHTS


def _durability(connection: Connection) -> Iterator[Finding]:
    yield same("fsync", _setting(connection, "fsync"), "on")
    yield same("full_page_writes", _setting(connection, "full_page_writes"), "on")
    commit = _setting(connection, "synchronous_commit")
    yield same("synchronous_commit", commit, "on", "local", "remote_write", "remote_apply")


def _setting(connection: Connection, name: str) -> str:
    return str(_value(connection, _SETTING, (name,)))


def _value(connection: Connection, query: str, parameters: tuple[Any, ...] = ()) -> Any:
    row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None, "these queries always give one row"
    return row[0]
