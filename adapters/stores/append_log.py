"""
What stores tell Python's `logging` of their appends; nothing where nobody listens.

    tachograph.record   INFO      an event was recorded: `fields`, without content
    tachograph.append   DEBUG     an append is durable: `seconds` that it took, `events`
    tachograph.append   WARNING   an append failed: `fields`
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from tachograph.domain.approvals.events import ApprovalRequested
from tachograph.domain.errors import StoreError
from tachograph.domain.events import Event, Recorded, RunStarted
from tachograph.domain.ports import Append
from tachograph.projections.log_fields import log_fields
from tachograph.projections.plain import time_text

RECORDS: Final = logging.getLogger("tachograph.record")
APPENDS: Final = logging.getLogger("tachograph.append")
TRACES_KNOWN_MAX: Final = 10_000

AppendTogether = TypeVar("AppendTogether", bound=Callable[..., Coroutine[Any, Any, None]])


def logged(append_together: AppendTogether) -> AppendTogether:
    """Make a store's `append_together` tell what it has recorded, and how long that took."""
    traces: dict[UUID, str | None] = {}

    @wraps(append_together)
    async def telling(store: Any, appends: Sequence[Append]) -> None:
        if not (RECORDS.isEnabledFor(logging.INFO) or APPENDS.isEnabledFor(logging.DEBUG)):
            await append_together(store, appends)
            return
        began = time.perf_counter()
        try:
            await append_together(store, appends)
        except (StoreError, asyncio.CancelledError) as exc:
            _tell_failure(appends, exc)
            raise
        events = sum(len(append.events) for append in appends)
        seconds = time.perf_counter() - began
        APPENDS.debug("%d events", events, extra={"seconds": seconds, "events": events})
        for append in appends:
            for version, event in enumerate(append.events, start=append.expected_version + 1):
                _tell(append.run_id, version, event, _trace(store, append.run_id, version, event, traces))

    return cast(AppendTogether, telling)


def _tell(run_id: UUID, version: int, event: Event, trace_id: str | None) -> None:
    fields = {
        "run_id": str(run_id),
        **({"trace_id": trace_id} if trace_id is not None else {}),
        "version": version,
        "recorded_at": time_text(event.recorded_at),
        **log_fields(event),
    }
    RECORDS.info("%s %s %d", event.kind, run_id, version, extra={"event": event.kind, "fields": fields})


def _tell_failure(appends: Sequence[Append], exc: BaseException) -> None:
    error = type(exc).__name__
    for append in appends:
        fields = {
            "run_id": str(append.run_id),
            "expected_version": append.expected_version,
            "events": len(append.events),
            "error": error,
        }
        extra = {"event": "append_failed", "fields": fields}
        APPENDS.warning("append_failed %s %s", append.run_id, error, extra=extra)


def _trace(store: Any, run_id: UUID, version: int, event: Event, known: dict[UUID, str | None]) -> str | None:
    """Return the trace that a run or approval began in; None where that can't be told."""
    if run_id not in known:
        if len(known) >= TRACES_KNOWN_MAX:
            del known[next(iter(known))]
        known[run_id] = _trace_of(event) if version == 1 else _recorded_trace(store, run_id)
    return known[run_id]


def _recorded_trace(store: Any, run_id: UUID) -> str | None:
    try:
        first = store.read(run_id, up_to=1)
    except StoreError:
        return None
    return _trace_of(first[0].event) if first and isinstance(first[0], Recorded) else None


def _trace_of(event: Event) -> str | None:
    if isinstance(event, RunStarted):
        return event.context.trace_id
    return event.trace_id if isinstance(event, ApprovalRequested) else None
