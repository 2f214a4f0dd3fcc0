"""What all contestants share: the script, the effects that count, the kill, the forger."""

import base64
import binascii
import os
import signal
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

AMOUNT, FORGED = "49.90", "99.90"
RUN = "refund-1"
READ, SEND, ANSWER = STEPS = ("order_read", "refund_send", "answer_user")
TERMINALS = ("request_refund_approval", "request_handoff")


def database(folder: Path) -> Path:
    """Name the SQLite file of a probe."""
    return folder / "store.db"


def effect(folder: Path, name: str, *, dies: bool = False) -> None:
    """Change the world: a line in a file. `dies`: and be killed right after the one that sends the money."""
    with (folder / "effects.txt").open("a") as file:
        file.write(f"{name}\n")
    if dies and name == SEND:
        os.kill(os.getpid(), signal.SIGKILL)


def effects(folder: Path) -> list[str]:
    """Say what has happened in the world."""
    file = folder / "effects.txt"
    return file.read_text().split() if file.exists() else []


def forge(file: Path, last: int | None = None) -> int:
    """
    Put another amount wherever the database has it, as somebody who holds the file can.

    Looked into are text, bytes, zlib streams and Base64; triggers are dropped first.

    Args:
        last: Forge so many values alone, the last ones of a store that has one table. None: all.
    Returns:
        How many values were changed.
    """
    with closing(sqlite3.connect(file)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        forgeries = [*_forgeries(connection)][-last if last else 0 :]
        for table, column, row, value in forgeries:
            connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (value, row))
    return len(forgeries)


def _forgeries(connection: sqlite3.Connection) -> Iterator[tuple[str, str, int, str | bytes]]:
    """Give the table, the column, the row and the new value of each place with the amount, in their order."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    for (table,) in connection.execute(tables).fetchall():
        found = connection.execute(f'SELECT rowid AS row_forged, * FROM "{table}" ORDER BY rowid')
        columns = [column[0] for column in found.description][1:]
        for row, *values in found.fetchall():
            for column, value in zip(columns, values, strict=True):
                if (forged := _forged(value)) is not None:
                    yield table, column, row, forged


def _forged(value: object) -> str | bytes | None:
    """Return the value with the other amount, None if it has none."""
    if isinstance(value, str):
        if AMOUNT in value:
            return value.replace(AMOUNT, FORGED)
        try:
            inside = _forged(base64.b64decode(value, validate=True))
        except binascii.Error:
            return None
        return base64.b64encode(inside).decode() if isinstance(inside, bytes) else None
    if not isinstance(value, bytes):
        return None
    if AMOUNT.encode() in value:
        return value.replace(AMOUNT.encode(), FORGED.encode())
    try:
        inside = _forged(zlib.decompress(value))
    except zlib.error:
        return None
    return zlib.compress(inside) if isinstance(inside, bytes) else None
