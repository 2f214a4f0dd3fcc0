"""What all contestants share: the effects that count, the kill, the forger, the script of the model."""

import base64
import os
import signal
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

AMOUNT, FORGED = "49.90", "99.90"
RUN = "refund-1"
STEPS = ("order_read", "refund_send", "answer_user")
TERMINALS = ("request_refund", "request_handoff")


def effect(folder: Path, name: str, *, die: bool = False) -> None:
    """Change the world: one line in a file. `die`: as if the power went, right after that."""
    with (folder / "effects.txt").open("a") as file:
        file.write(f"{name}\n")
    if die and name == "refund_send":
        os.kill(os.getpid(), signal.SIGKILL)


def effects(folder: Path) -> list[str]:
    """What has happened in the world."""
    file = folder / "effects.txt"
    return file.read_text().split() if file.exists() else []


def forge(database: Path) -> int:
    """
    Put another amount wherever the database has one, as somebody who holds the file can.

    Texts and bytes, zlib streams, and Base64 of bytes are looked into.

    Returns:
        How many values were changed.
    """
    changed = 0
    with closing(sqlite3.connect(database)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table.startswith("sqlite_"):
                continue
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            for column in columns:
                rows = connection.execute(f'SELECT rowid, "{column}" FROM "{table}"').fetchall()
                for rowid, value in rows:
                    forged = _forged(value)
                    if forged is not None:
                        statement = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'
                        connection.execute(statement, (forged, rowid))
                        changed += 1
    return changed


def _forged(value: object) -> str | bytes | None:
    if isinstance(value, str):
        if AMOUNT in value:
            return value.replace(AMOUNT, FORGED)
        try:
            inside = base64.b64decode(value, validate=True)
        except ValueError:
            return None
        found = inside.replace(AMOUNT.encode(), FORGED.encode())
        return base64.b64encode(found).decode() if found != inside else None
    if isinstance(value, bytes):
        try:
            value = zlib.decompress(value)
        except zlib.error:
            pass
        return value.replace(AMOUNT.encode(), FORGED.encode()) if AMOUNT.encode() in value else None
    return None
