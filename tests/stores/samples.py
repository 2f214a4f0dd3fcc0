"""Events to store, rows as they really are, and ways to do things in another process."""

import asyncio
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.budget import Budget
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import CallRequest, Entry, Event, ModelTurn, Recorded, RunStarted, ToolCall
from tachograph.domain.origins import Message
from tachograph.domain.ports import EventStore

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
RUN = UUID("00000000-0000-7000-8000-000000000001")

Row = tuple[str, int, str, bytes]


def run_ids(count: int) -> list[UUID]:
    """That many run ids, the same each time."""
    return [UUID(int=RUN.int + number) for number in range(1, count + 1)]


def started(text: str = "Refund order #W1, please.") -> RunStarted:
    return RunStarted(
        recorded_at=NOON,
        agent="refund",
        agent_version="1",
        definition_digest="0" * 64,
        catalogue_digest="0" * 64,
        context=TrustedContext(trace_id="trace-1", tenant="shop"),
        input=(Message(role="user", content=text),),
        budget=Budget(),
        owner="host:1:00000000",
    )


def turn(step: int, text: str | None = None) -> ModelTurn:
    return ModelTurn(
        recorded_at=NOON + timedelta(seconds=step),
        step=step,
        model_asked="scripted",
        request_digest="0" * 64,
        text=text,
        calls=(CallRequest(call_key=f"{step}.1", name="order_read", arguments='{"order_id":"#W1"}'),),
        finish_reason="tool_calls",
        latency_ms=1,
    )


def result(output: str, step: int = 1) -> ToolCall:
    return ToolCall(
        recorded_at=NOON + timedelta(seconds=step),
        call_key=f"{step}.1",
        name="order_read",
        arguments='{"order_id":"#W1"}',
        output=output,
        duration_ms=1,
    )


def history(length: int) -> list[Event]:
    """A run_started and turns after it."""
    return [started(), *(turn(step) for step in range(1, length))]


def recorded(events: list[Event], run_id: UUID = RUN, first: int = 1) -> list[Entry]:
    """The entries that reading these events gives."""
    return [Recorded(run_id, version, event) for version, event in enumerate(events, first)]


def append(store: EventStore, events: list[Event], expected_version: int = 0, run_id: UUID = RUN) -> int:
    """Append outside of an event loop."""
    return asyncio.run(store.append(run_id, events, expected_version=expected_version))


def places(entries: list[Entry]) -> list[tuple[UUID, int]]:
    """Run and version of each entry."""
    return [(entry.run_id, entry.version) for entry in entries]


def rows(store: EventStore, url: str) -> list[Row]:
    """The rows as the database itself gives them, in order of position."""
    if isinstance(store, MemoryEventStore):
        return [(run_id.hex, version, kind, state) for run_id, version, kind, state in store._log]
    if url.startswith("sqlite"):
        select = "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY position"
        connection = sqlite3.connect(sqlite_file(url))
        found = connection.execute(select).fetchall()
        connection.close()
        return found
    select = (
        "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY notification_id"
    )
    with psycopg.connect(url) as server:
        return [(row[0].hex, row[1], row[2], row[3]) for row in server.execute(select.encode())]


def execute(url: str, statement: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Do something behind the store's back, as an administrator would. Parameters as ?."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(sqlite_file(url))
        try:
            with connection:
                return connection.execute(statement, parameters).fetchall()
        finally:
            connection.close()
    with psycopg.connect(url) as server:
        cursor = server.execute(statement.replace("?", "%s").encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []


def sqlite_file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def postgres_store(url: str, retry_s: float = 10, connect_s: float = 5) -> RecordedEventStore:
    """Open a store, if need be with less patience than the default."""
    settings = {"PERSISTENCE_MODULE": "tachograph.adapters.stores.postgres", "POSTGRES_URL": url}
    store = RecordedEventStore(settings, retry_s=retry_s)
    store.datastore.pool.timeout = connect_s
    return store


def schema_of(url: str) -> str:
    """The schema that a test's URL leads into; it is the name of the sessions too."""
    return url.rpartition("=")[2]


def in_forked_child(work: Callable[[], object]) -> str:
    """What the work says in a child forked off this process: its result, its error, or nothing in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as exc:
            said = f"{type(exc).__name__}: {exc}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    in_time, _, _ = select.select((reading,), (), (), 20)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said


def appending_processes(url: str, processes: int, appends: int, run_id: UUID | None = None) -> list[Any]:
    """Let several processes append at the same time; see appender.py. One report a process."""
    command = [sys.executable, str(Path(__file__).with_name("appender.py")), url]
    command += [str(processes), str(appends), *([str(run_id)] if run_id else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]
