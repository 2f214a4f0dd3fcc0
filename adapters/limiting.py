"""Limits of one process: each model call and tool call passes a gate, which knows how many are under way."""

import asyncio
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tachograph.adapters.world import SystemClock
from tachograph.domain.admission import Admission, Kind, Limit, Limited, Limits, Ticket
from tachograph.domain.errors import InvalidLimits
from tachograph.domain.ports import Clock

_ERRORS_SHOWN: Final = 3


class Gate:
    """
    Lets calls through, as many as the limits allow, tenants in turn. For one event loop.

    What waits here is not under way: no timeout of a model or a tool has begun.
    """

    def __init__(self, limits: Limits, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._admission = Admission(limits)
        self._waiting: dict[Ticket, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def passed(self, tenant: str, kind: Kind, name: str) -> AsyncIterator[None]:
        """Wait until a tenant's call of a model or tool may be made, and count it until the block ends."""
        ticket = Ticket(tenant, Limited(kind, name))
        if self._admission.is_free(ticket):
            yield
            return
        await self._enter(ticket)
        try:
            yield
        finally:
            self._admission.leave(ticket)
            self._let_in()

    async def _enter(self, ticket: Ticket) -> None:
        future = self._waiting[ticket] = asyncio.get_running_loop().create_future()
        self._admission.line_up(ticket)
        self._let_in()
        try:
            await future
        except asyncio.CancelledError:
            if self._waiting.pop(ticket, None) is not None:
                self._admission.give_up(ticket)
            else:  # It was let in at the same moment.
                self._admission.leave(ticket)
            self._let_in()
            raise

    def _let_in(self) -> None:
        now = self._clock.monotonic()
        for ticket in self._admission.let_in(now):
            future = self._waiting.pop(ticket)
            if not future.done():  # Else it was cancelled, and leaves as soon as it hears of it.
                future.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._admission.next_at is not None:
            delay = max(0.0, self._admission.next_at - now)
            self._timer = asyncio.get_running_loop().call_later(delay, self._let_in)


class _Limit(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    at_once: int | None = Field(default=None, ge=1)
    per_minute: int | None = Field(default=None, ge=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tenants: dict[str, _Limit] = {}
    models: dict[str, _Limit] = {}
    tools: dict[str, _Limit] = {}


def read_limits(path: Path) -> Limits:
    """
    Read limits from a TOML file: tables `tenants`, `models`, `tools`, each `NAME = { at_once, per_minute }`.

    Raises:
        InvalidLimits: The file can't be read, or says something else.
    """
    try:
        said = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise InvalidLimits(f"{path}: {exc}") from exc
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_input=False)[:_ERRORS_SHOWN]
        told = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in errors)
        raise InvalidLimits(f"{path}: {told}") from exc
    return Limits(*(_limits(named) for named in (said.tenants, said.models, said.tools)))


def _limits(named: dict[str, _Limit]) -> dict[str, Limit]:
    return {name: Limit(limit.at_once, limit.per_minute) for name, limit in named.items()}
