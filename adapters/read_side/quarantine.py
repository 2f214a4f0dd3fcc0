"""What could not be put into a view: recorded beside it, counted and shown, and never in the way."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tachograph.adapters.read_side.database import Database, Transaction
from tachograph.projections.plain import plain
from tachograph.projections.projection import Placed

CREATE: Final = """
    CREATE TABLE IF NOT EXISTS projection_quarantine (
        projection TEXT NOT NULL,
        generation BIGINT NOT NULL,
        position BIGINT NOT NULL,
        run_id TEXT NOT NULL,
        version BIGINT NOT NULL,
        kind TEXT NOT NULL,
        error TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (projection, generation, position)
    )
"""
_ADD: Final = "INSERT INTO projection_quarantine VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_EMPTY: Final = "DELETE FROM projection_quarantine WHERE projection = %s AND generation = %s"
_SELECT: Final = """
    SELECT projection, quarantined.position, run_id, quarantined.version, kind, error, at
    FROM projection_quarantine AS quarantined
    JOIN projection_generations AS shown
        ON shown.name = projection AND shown.generation = quarantined.generation AND live = 1
    ORDER BY projection, quarantined.position
"""
_COUNT: Final = """
    SELECT projection, generation, count(*) FROM projection_quarantine GROUP BY projection, generation
"""
_ERROR_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Poison:
    """An entry that a projection can't take, and why."""

    placed: Placed
    error: str


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An entry of the log that is left out of a view, and why. `at`: when that was found, UTC, ISO 8601."""

    projection: str
    position: int
    run_id: str
    version: int
    kind: str
    error: str
    at: str


def add(transaction: Transaction, name: str, generation: int, poison: Iterable[Poison], at: str) -> None:
    """Record entries that are left out of a generation."""
    for placed, error in ((each.placed, each.error) for each in poison):
        entry = (placed.position, placed.run_id, placed.version, plain(placed.kind))
        transaction.execute(_ADD, (name, generation, *entry, plain(error, _ERROR_MAX), at))


def empty(transaction: Transaction, name: str, generation: int) -> None:
    """Forget what was left out of a generation that is dropped."""
    transaction.execute(_EMPTY, (name, generation))


def listed(database: Database) -> list[Quarantined]:
    """Return what is left out of the live views, by name of projection and position."""
    with database.reading() as transaction:
        return [Quarantined(*row) for row in transaction.rows(_SELECT)]


def counts(database: Database) -> dict[tuple[str, int], int]:
    """Count what is left out, by name of projection and generation."""
    with database.reading() as transaction:
        return {(name, generation): number for name, generation, number in transaction.rows(_COUNT)}
