"""The read side of a store, in the database that the store has."""

from collections.abc import Sequence
from typing import Final

from tachograph.adapters.read_side.database import Database
from tachograph.adapters.read_side.reading import ReadSide
from tachograph.adapters.read_side.sqlite import SqliteDatabase
from tachograph.adapters.stores.sqlite_file import Datastore
from tachograph.adapters.world import SystemClock
from tachograph.domain.ports import Clock, EventStore
from tachograph.projections.catalogue import PROJECTIONS
from tachograph.projections.projection import Projection

BATCH_SIZE: Final = 1000


def open_read_side(
    store: EventStore,
    *,
    projections: Sequence[Projection] = PROJECTIONS,
    clock: Clock | None = None,
    batch_size: int = BATCH_SIZE,
) -> ReadSide:
    """
    Open the views of a store, and create their tables where they are missing.

    A store without a database, such as `memory:`, gets views in memory, anew each time.

    Args:
        batch_size: Events that are applied in one transaction.
    Raises:
        StoreError: The tables can't be created.
    """
    return ReadSide(store, database_of(store), projections, clock or SystemClock(), batch_size)


def database_of(store: EventStore) -> Database:
    """Return the database of a store; of one without, such as `memory:`, one in memory."""
    datastore = getattr(store, "datastore", None)
    if datastore is None:
        return SqliteDatabase.in_memory()
    if isinstance(datastore, Datastore):
        return SqliteDatabase(datastore)
    from tachograph.adapters.read_side.postgres import PostgresDatabase

    return PostgresDatabase(datastore)
