"""Begin a run, with its agent's definition beside it where that isn't recorded yet."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID
from weakref import WeakKeyDictionary

from tachograph.domain.agent import Agent
from tachograph.domain.definitions import AgentDefined, definition_id
from tachograph.domain.errors import VersionConflict
from tachograph.domain.events import Event
from tachograph.domain.ports import Append, EventStore

AppendTogether = Callable[[Sequence[Append]], Awaitable[None]]

_known: WeakKeyDictionary[EventStore, set[str]] = WeakKeyDictionary()  # Digests that a store has for sure.


async def begin(store: EventStore, agent: Agent, run_id: UUID, events: Sequence[Event]) -> None:
    """
    Append the first events of a run, in one transaction with the definition of its agent if that is new.

    Raises:
        VersionConflict: There is such a run.
        StoreError: Nothing was stored.
    """
    await begin_with(store, agent, Append(run_id, events, 0), store.append_together)


async def begin_with(store: EventStore, agent: Agent, first: Append, append: AppendTogether) -> None:
    """Do what `begin` does, with another way to append: one that does more in the same transaction."""
    digest = agent.definition_digest
    known = _known.setdefault(store, set())
    defined = definition_id(digest)
    if digest not in known and not await asyncio.to_thread(store.read, defined, up_to=1):
        at = first.events[0].recorded_at
        definition = AgentDefined(recorded_at=at, agent=agent.name, definition=agent.definition)
        try:
            await append([first, Append(defined, [definition], 0)])
        except VersionConflict as exc:
            if exc.run_id != defined:
                raise
        else:
            known.add(digest)
            return
    known.add(digest)
    await append([first])
