"""Keep an eye on a run while it is driven, and say how to go on with one that stays open."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from tachograph.adapters.screen.commands import Settings
from tachograph.adapters.screen.failures import without_secrets
from tachograph.domain.errors import StoreError
from tachograph.domain.events import Entry, Event, Terminal
from tachograph.domain.ports import Append, EventStore


class WatchedStore:
    """Passes everything on to a store, and tells a listener what has been recorded."""

    def __init__(self, store: EventStore, listener: Callable[[Event], None]) -> None:
        self._store = store
        self._listener = listener
        self.run_id: UUID | None = None
        self.recorded = 0

    async def append(self, run_id: UUID, events: Sequence[Event], *, expected_version: int) -> int:
        """Add events to a run; see the port."""
        self.run_id = run_id
        version = await self._store.append(run_id, events, expected_version=expected_version)
        for event in events:
            self.recorded += 1
            self._listener(event)
        return version

    async def append_together(self, appends: Sequence[Append]) -> None:
        """Add events to several runs; the listener hears of the first one's."""
        await self._store.append_together(appends)
        self.run_id = appends[0].run_id
        for event in appends[0].events:
            self.recorded += 1
            self._listener(event)

    def read(self, run_id: UUID, *, up_to: int | None = None) -> list[Entry]:
        """Return a run's events in order; see the port."""
        return self._store.read(run_id, up_to=up_to)

    def read_log(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return events of all runs in order; see the port."""
        return self._store.read_log(after=after, limit=limit)

    def head(self) -> int:
        """Return the position of the last event."""
        return self._store.head()

    def close(self) -> None:
        """Do nothing: whoever opened the store closes it."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """The words with which a run that stays open is resumed."""

    agent: str | None
    model: str | None

    def command(self, run_id: UUID, settings: Settings) -> str:
        """Return the command line."""
        words = ["tachograph", "resume", str(run_id)]
        for option, value in (("--agent", self.agent), ("--model", self.model)):
            words += [option, value] if value is not None else []
        if settings.store_named:
            words += ["--store", without_secrets(settings.store, settings.store)]
        return shlex.join(words)


def left(settings: Settings, store: EventStore, run_id: UUID | None, resumption: Resumption) -> str:
    """Say in what state a run was left, as the store tells it."""
    if run_id is None:
        return "No run was begun."
    command = resumption.command(run_id, settings)
    try:
        entries = store.read(run_id)
    except StoreError:
        return f"Run {run_id} may be open. When the store is back: {command}"
    if not entries:
        return "No run was begun."
    last = entries[-1]
    if isinstance(getattr(last, "event", None), Terminal):
        return f"Run {run_id} had ended: tachograph show {run_id}"
    return f"Run {run_id} is open at version {last.version}. Resume it: {command}"
