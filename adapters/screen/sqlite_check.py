"""Look at a SQLite store as it really is, through a connection that can't change it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from tachograph.adapters.screen.findings import Finding, same
from tachograph.adapters.stores.sqlite import SCHEMA
from tachograph.adapters.stores.sqlite_file import LOCK_TIMEOUT_S, Datastore
from tachograph.domain.errors import StoreError

_OBJECTS: Final = """
    SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'stored_events' AND sql IS NOT NULL
    ORDER BY name
"""
_SYNCHRONOUS: Final = {0: "off", 1: "normal", 2: "full", 3: "extra"}

Objects = dict[tuple[str, str], str]


def findings(path: Path) -> list[Finding]:
    """
    Compare a file with the schema and the settings that a store should have.

    Raises:
        StoreError: There is no such file, or it can't be read as a database.
    """
    if not path.is_file():
        raise StoreError(f"there is no store at {path}")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = _objects(connection)
            journal = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    except sqlite3.Error as exc:
        raise StoreError(f"the store could not be looked at: {exc}: {path}") from exc
    results = [*_schema(found), same("journal mode", journal, "wal")]
    if all(finding.ok for finding in results):
        results.append(same("synchronous", _synchronous(path), "full"))
    return results


def has_schema(path: Path) -> bool:
    """Tell whether the file holds the table of the record."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return ("table", "stored_events") in _objects(connection)
    except sqlite3.Error:
        return False


def create(path: Path) -> None:
    """Create what is missing of the schema in a file that is a store. Raises StoreError."""
    try:
        with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)) as connection:
            connection.executescript(SCHEMA)
    except sqlite3.Error as exc:
        raise StoreError(f"the schema could not be created: {exc}: {path}") from exc


def _schema(found: Objects) -> list[Finding]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        expected = _objects(connection)
    results = [
        Finding(
            f"{kind} {name}",
            _same_sql(found.get((kind, name)), sql),
            _said(found.get((kind, name)), sql),
            "as defined",
        )
        for (kind, name), sql in sorted(
            expected.items(), key=lambda item: item[0] != ("table", "stored_events")
        )
    ]
    extra = sorted(f"{kind} {name}" for kind, name in found.keys() - expected.keys() if kind == "trigger")
    if extra:
        results.append(Finding("other triggers on it", False, ", ".join(extra), "none"))
    return results


def _objects(connection: sqlite3.Connection) -> Objects:
    return {(kind, name): sql for kind, name, sql in connection.execute(_OBJECTS)}


def _same_sql(found: str | None, expected: str) -> bool:
    return found is not None and re.sub(r"\s+", " ", found) == re.sub(r"\s+", " ", expected)


def _said(found: str | None, expected: str) -> str:
    if found is None:
        return "missing"
    return "as defined" if _same_sql(found, expected) else "another definition"


def _synchronous(path: Path) -> str:
    """Ask a connection such as the store uses: this setting belongs to the connection, not to the file."""
    datastore = Datastore(path.absolute().as_uri())
    try:
        with datastore.transaction(commit=False) as cursor:
            cursor.execute("PRAGMA synchronous")
            return _SYNCHRONOUS.get(cursor.fetchone()[0], "unknown")
    finally:
        datastore.close()
