"""What the queue is: tickets put in with the record, and given out to workers until they are done with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.adapters.stores.sqlite_file import Datastore
from tachograph.adapters.workers.crew import Crew
from tachograph.adapters.workers.stopping import Stop
from tachograph.adapters.workers.tickets import Ticket
from tachograph.domain.ports import Append, EventStore


@dataclass(frozen=True, slots=True)
class Pace:
    """
    How a worker works.

    Args:
        at_once: Runs under way at the same time.
        grace_s: Seconds that they get to end once the worker is told to stop.
        dead_after_s: Seconds without a sign of life after which a worker counts as dead.
        until_empty: Whether it ends when nothing is due.
    """

    at_once: int = 8
    grace_s: float = 30
    dead_after_s: float = 30
    until_empty: bool = False


class Queue(Protocol):
    """Where runs wait for workers."""

    async def put(self, appends: Sequence[Append], ticket: Ticket) -> None:
        """
        Record events and put a ticket into the queue, in one transaction.

        Raises:
            VersionConflict: A run has moved, or is there already.
            StoreError: Neither is stored, as far as can be known.
        """
        ...

    async def serve(self, crew: Crew, pace: Pace, stop: Stop) -> None:
        """
        Give out what is due until told to stop, or until nothing is due.

        Raises:
            StoreError: The database can't be reached any more.
        """
        ...


def open_queue(store: EventStore) -> Queue:
    """
    Return the queue of a store: the record itself, or procrastinate in the store's PostgreSQL database.

    Raises:
        ExtraMissing: PostgreSQL, and procrastinate isn't installed.
        StoreError: Its tables can't be created.
    """
    datastore = getattr(store, "datastore", None)
    if datastore is None or isinstance(datastore, Datastore):
        from tachograph.adapters.workers.record_queue import RecordQueue

        return RecordQueue(store)
    from tachograph.adapters.workers.postgres_queue import PostgresQueue

    assert isinstance(store, RecordedEventStore), "no other store has a datastore"
    return PostgresQueue(store)
