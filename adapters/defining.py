"""Begin a run, with its agent's definition beside it where that isn't recorded yet."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID
from weakref import WeakKeyDictionary

from tachograph.domain.agent import Agent
from tachograph.domain.definitions import AgentDefined, definition_id
from tachograph.domain.errors import VersionConflict
from tachograph.domain.events import Event
from tachograph.domain.ports import Append, EventStore

_known: WeakKeyDictionary[EventStore, set[str]] = WeakKeyDictionary()  # Digests that a store has for sure.


async def begin(store: EventStore, agent: Agent, run_id: UUID, events: Sequence[Event]) -> None:
    """
    Append the first events of a run, in one transaction with the definition of its agent if that is new.

    Raises:
        VersionConflict: There is such a run.
        StoreError: Nothing was stored.
    """
    digest = agent.definition_digest
    known = _known.setdefault(store, set())
    first = Append(run_id, events, 0)
    defined = definition_id(digest)
    if digest not in known and not await asyncio.to_thread(store.read, defined, up_to=1):
        definition = AgentDefined(recorded_at=_at(events), agent=agent.name, definition=agent.definition)
        try:
            await store.append_together([first, Append(defined, [definition], 0)])
        except VersionConflict as exc:
            if exc.run_id != defined:
                raise
        else:
            known.add(digest)
            return
    known.add(digest)
    await store.append_together([first])


def _at(events: Sequence[Event]) -> datetime:
    return events[0].recorded_at
