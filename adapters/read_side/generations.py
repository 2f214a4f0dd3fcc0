"""
Which tables hold a view, and how far they have come.

A view is built in tables of a generation: `runs` shows `runs_g3`. One generation a view is live; at most
one more is being built. Numbers are never used again, so a process that still works on tables that were
dropped finds no row here and stops.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tachograph.adapters.read_side import quarantine, statements
from tachograph.adapters.read_side.database import Database, Transaction
from tachograph.adapters.read_side.errors import NotPermitted, Superseded, ViewsClosed
from tachograph.domain.errors import StoreError
from tachograph.projections.projection import Projection

_CREATE: Final = (
    """
    CREATE TABLE IF NOT EXISTS projection_generations (
        name TEXT NOT NULL,
        generation BIGINT NOT NULL,
        version BIGINT NOT NULL,
        position BIGINT NOT NULL,
        live BIGINT NOT NULL,
        tables TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        PRIMARY KEY (name, generation)
    )
    """,
    """
    CREATE UNIQUE INDEX IF NOT EXISTS projection_generations_live ON projection_generations (name)
    WHERE live = 1
    """,
    quarantine.CREATE,
)
_TABLES: Final = ("projection_generations", "projection_quarantine")
_SELECT: Final = """
    SELECT name, generation, version, position, live, tables, updated_at FROM projection_generations
    ORDER BY name, generation
"""
_INSERT: Final = "INSERT INTO projection_generations VALUES (%s, %s, %s, 0, %s, %s, %s)"
_DELETE: Final = "DELETE FROM projection_generations WHERE name = %s AND generation = %s"
_ADVANCE: Final = """
    UPDATE projection_generations SET position = %s, updated_at = %s
    WHERE name = %s AND generation = %s AND position = %s
"""
_RETIRE: Final = "DELETE FROM projection_generations WHERE name = %s AND live = 1 AND position <= %s"
_GO_LIVE: Final = """
    UPDATE projection_generations SET live = 1, updated_at = %s
    WHERE name = %s AND generation = %s AND live = 0
"""


@dataclass(frozen=True, slots=True)
class Generation:
    """
    One generation of a view's tables.

    `version` is that of the projection that fills them, `tables` their names then, and before them those of
    views over them: a later version may have others.
    """

    name: str
    generation: int
    version: int
    position: int
    live: bool
    tables: tuple[str, ...]
    updated_at: str


def load(database: Database) -> list[Generation]:
    """Return all generations, those of one name in order."""
    with database.reading() as transaction:
        return _select(transaction)


def create_missing(database: Database, projections: Sequence[Projection], at: str) -> None:
    """
    Create the read side's own tables, and a first generation of each view that has none.

    Where nothing is missing nothing is written, so that a role that may only read can open the views.
    """
    try:
        missing = _without_generation(load(database), projections)
    except StoreError:  # The tables aren't there yet; if it is something worse, creating them tells.
        missing = list(projections)
    if not missing:
        return
    try:
        _create(database, projections, at)
    except NotPermitted as exc:
        raise ViewsClosed from exc


def grant(database: Database, projections: Iterable[Projection]) -> None:
    """Let readers read the views: a role that was made after them can't yet."""
    with database.changing_schema() as transaction:
        for table in _TABLES:
            transaction.grant(table)
        for projection in projections:
            for name in (*(table.name for table in projection.tables), *(v.name for v in projection.views)):
                if transaction.has(name):
                    transaction.grant(name)


def begin(database: Database, projection: Projection, at: str) -> Generation:
    """Start a new generation beside the live one; drop what an interrupted rebuild left behind."""
    with database.changing_schema() as transaction:
        return _begin(transaction, projection, at, live=False)


def advance(transaction: Transaction, generation: Generation, position: int, at: str) -> bool:
    """Move a generation's position. False: it isn't where it was read, so nothing may be written."""
    before = (generation.name, generation.generation, generation.position)
    return transaction.execute(_ADVANCE, (position, at, *before)) == 1


def go_live(database: Database, projection: Projection, generation: Generation, at: str) -> bool:
    """
    Show a generation in place of the live one and drop that, all in one transaction.

    Returns:
        Whether it is live now. False: the old one has come further; readers must not go back in time.
    Raises:
        Superseded: It was dropped for another rebuild.
    """
    with database.changing_schema() as transaction:
        known = [each for each in _select(transaction) if each.name == generation.name]
        new = next((each for each in known if each.generation == generation.generation), None)
        if new is None:
            raise Superseded(generation.name)
        if new.live:
            return True
        old = [each for each in known if each.live]
        if transaction.execute(_RETIRE, (new.name, new.position)) != len(old):
            return False
        transaction.execute(_GO_LIVE, (at, new.name, new.generation))
        for each in old:
            for table in each.tables:
                transaction.execute(statements.drop_view(table))
        _show(transaction, projection, new)
        for each in old:
            _drop(transaction, each)
    return True


def _create(database: Database, projections: Sequence[Projection], at: str) -> None:
    with database.changing_schema() as transaction:
        for statement in _CREATE:
            transaction.execute(statement)
        for table in _TABLES:
            transaction.grant(table)
        for projection in _without_generation(_select(transaction), projections):
            _show(transaction, projection, _begin(transaction, projection, at, live=True))


def _select(transaction: Transaction) -> list[Generation]:
    return [
        Generation(name, generation, version, position, live == 1, tuple(tables.split()), updated_at)
        for name, generation, version, position, live, tables, updated_at in transaction.rows(_SELECT)
    ]


def _without_generation(known: list[Generation], projections: Sequence[Projection]) -> list[Projection]:
    live = {generation.name for generation in known if generation.live}
    return [projection for projection in projections if projection.name not in live]


def _begin(transaction: Transaction, projection: Projection, at: str, *, live: bool) -> Generation:
    known = [each for each in _select(transaction) if each.name == projection.name]
    number = max((each.generation for each in known), default=0) + 1
    for leftover in (each for each in known if not each.live):
        _drop(transaction, leftover)
        transaction.execute(_DELETE, (leftover.name, leftover.generation))
    for table in projection.tables:
        transaction.create(table, number)
    views = [
        view.name for view in reversed(projection.views)
    ]  # Dropped in this order: before what they need.
    names = (*views, *(table.name for table in projection.tables))
    new = Generation(projection.name, number, projection.version, 0, live, names, at)
    transaction.execute(_INSERT, (new.name, number, new.version, int(live), " ".join(names), at))
    return new


def _show(transaction: Transaction, projection: Projection, generation: Generation) -> None:
    for table in projection.tables:
        transaction.execute(statements.create_view(table, generation.generation))
        transaction.grant(table.name)
    for view in projection.views:
        transaction.execute(statements.create_sql_view(view, projection, generation.generation))
        transaction.grant(view.name)


def _drop(transaction: Transaction, generation: Generation) -> None:
    for table in generation.tables:
        transaction.execute(statements.drop_table(table, generation.generation))
    quarantine.empty(transaction, generation.name, generation.generation)
