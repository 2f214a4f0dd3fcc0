"""Runs to fill a log with, what views must say of them, and rows that no release wrote."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from tachograph.adapters.read_side import ReadSide
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.budget import Budget, Totals
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import (
    CallRequest,
    Event,
    ModelTurn,
    Outcome,
    Recorded,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.origins import Message
from tachograph.domain.ports import EventStore
from tachograph.domain.run import fold

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)

View = dict[str, Any]
Story = list[Event]


def run_id(number: int) -> UUID:
    """The id of a run, the same each time."""
    return UUID(f"00000000-0000-7000-8000-{number:012x}")


def started(trace_id: str = "trace-1", tenant: str = "shop", **fields: Any) -> RunStarted:
    given: dict[str, Any] = {
        "recorded_at": NOON,
        "agent": "refund",
        "agent_version": "1",
        "definition_digest": "0" * 64,
        "catalogue_digest": "0" * 64,
        "context": TrustedContext(trace_id=trace_id, tenant=tenant),
        "input": (Message(role="user", content="Refund order #W1, please."),),
        "budget": Budget(max_steps=50),
        "owner": "host:1:aaaaaaaa",
    }
    return RunStarted(**(given | fields))


def turn(step: int, calls: int = 1, *, at: datetime = NOON, **fields: Any) -> ModelTurn:
    keys = [f"{step}.{index}" for index in range(1, calls + 1)]
    given: dict[str, Any] = {
        "recorded_at": at,
        "step": step,
        "model_asked": "scripted",
        "request_digest": "0" * 64,
        "calls": tuple(CallRequest(call_key=key, name="order_read", arguments="{}") for key in keys),
        "finish_reason": "tool_calls",
        "latency_ms": 1,
    }
    return ModelTurn(**(given | fields))


def begun(key: str, *, at: datetime = NOON) -> ToolStarted:
    return ToolStarted(
        recorded_at=at,
        call_key=key,
        name="order_read",
        effect="once",
        arguments_digest="0" * 64,
        idempotency_key="tg1-0",
    )


def result(key: str, *, at: datetime = NOON, **fields: Any) -> ToolCall:
    given: dict[str, Any] = {
        "recorded_at": at,
        "call_key": key,
        "name": "order_read",
        "arguments": "{}",
        "output": '{"state":"delivered"}',
        "duration_ms": 1,
    }
    return ToolCall(**(given | fields))


def failure(key: str, *, at: datetime = NOON, **fields: Any) -> ToolError:
    given: dict[str, Any] = {
        "recorded_at": at,
        "call_key": key,
        "name": "order_read",
        "code": "timed_out",
        "message": "It took too long.",
        "duration_ms": 1,
    }
    return ToolError(**(given | fields))


def resumed(*, at: datetime = NOON, owner: str = "host:2:bbbbbbbb") -> RunResumed:
    return RunResumed(recorded_at=at, owner=owner, actor="anonymous", reason="its process ended")


def ended(outcome: Outcome = "answered", *, at: datetime = NOON, **fields: Any) -> Terminal:
    return Terminal(**{"recorded_at": at, "outcome": outcome, "totals": Totals()} | fields)


def refund_run(trace_id: str = "trace-1", tenant: str = "shop", outcome: Outcome = "answered") -> Story:
    """Six events: two turns, one call that succeeds, one that fails."""
    return [
        started(trace_id, tenant),
        turn(1, calls=2),
        result("1.1"),
        failure("1.2"),
        turn(2, calls=0),
        ended(outcome),
    ]


def append(store: EventStore, run: UUID, events: Sequence[Event], expected_version: int = 0) -> None:
    """Append outside of an event loop."""
    asyncio.run(store.append(run, events, expected_version=expected_version))


def fill(store: EventStore, runs: int, first: int = 1) -> None:
    """Append that many whole runs, two a trace, at once."""

    async def all_runs() -> None:
        await asyncio.gather(
            *(
                store.append(run_id(number), refund_run(f"trace-{number // 2}"), expected_version=0)
                for number in range(first, first + runs)
            )
        )

    asyncio.run(all_runs())


def append_foreign(store: EventStore, url: str, run: UUID, version: int, kind: str, state: bytes) -> None:
    """Add a row that this release can't read, as a newer one would."""
    if isinstance(store, MemoryEventStore):
        store._runs.setdefault(run, []).append(len(store._log))
        store._log.append((run, version, kind, state))
        return
    columns = "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES"
    if url.startswith("sqlite"):
        connection = sqlite3.connect(Path(url.removeprefix("sqlite:///")))
        with connection:
            connection.execute(f"{columns} (?, ?, ?, ?)", (run.hex, version, kind, state))
        connection.close()
    else:
        with psycopg.connect(url) as server:
            server.execute(f"{columns} (%s, %s, %s, %s)".encode(), (run, version, kind, state))


def query(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Ask the database itself."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(Path(url.removeprefix("sqlite:///")))) as connection:
            return connection.execute(statement).fetchall()
    with psycopg.connect(url) as server:
        return server.execute(statement.encode()).fetchall()


def contents(side: ReadSide, *runs: UUID) -> View:
    """Everything that the views show of these runs, or of all."""
    shown = [UUID(row["run_id"]) for row in side.runs()]
    return {
        "steps": list(side.steps()),
        "runs": list(side.runs()),
        "timelines": {run: list(side.timeline(run)) for run in runs or sorted(shown)},
        "counts": side.counts(),
        "in doubt": side.in_doubt(),
    }


def counted(store: EventStore) -> list[View]:
    """Step counts worked out another way: by folding each run."""
    runs = sorted({entry.run_id for entry in store.read_log(limit=1_000_000)})
    lines: dict[tuple[str, str], Counter[str]] = {}
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for run in runs:
        entries = [entry for entry in store.read(run) if isinstance(entry, Recorded)]
        state = fold(run, entries)
        key = (state.started.context.trace_id, state.started.context.tenant)
        line = lines.setdefault(key, Counter(runs=0, model_turns=0, tool_calls=0, tool_errors=0))
        line["runs"] += 1
        line["model_turns"] += state.totals.steps
        line["tool_calls"] += state.totals.tool_calls
        line["tool_errors"] += state.totals.tool_errors
        if state.terminal is not None:
            outcomes.setdefault(key, Counter())[state.terminal.outcome] += 1
    return [
        {"trace_id": key[0], "tenant": key[1], **lines[key], "outcomes": dict(outcomes.get(key, {}))}
        for key in sorted(lines)
    ]


class Undisclosed:
    """A store that keeps its database to itself, so that views of it stand in memory."""

    def __init__(self, store: EventStore) -> None:
        self.append, self.read, self.read_log = store.append, store.read, store.read_log
        self.head, self.close, self.append_together = store.head, store.close, store.append_together


def append_all(store: EventStore, log: Iterable[tuple[UUID, int, Event]]) -> None:
    """Append events one at a time, in this order."""

    async def one_by_one() -> None:
        for run, version, event in log:
            await store.append(run, [event], expected_version=version - 1)

    asyncio.run(one_by_one())


def physical_tables(url: str) -> set[str]:
    """The physical tables that are there."""
    listed = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if url.startswith("sqlite")
        else "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    )
    return {name for (name,) in query(url, listed) if "_g" in name and not name.startswith("projection_")}


class Interrupted(Exception):
    """Stands for whatever ends a process in the middle."""


def interrupt(position: int, head: int) -> None:
    if position > head // 2:
        raise Interrupted
