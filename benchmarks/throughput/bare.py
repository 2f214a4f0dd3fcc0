"""The floors: the same ten rows a run with a database driver and nothing else."""

import json
import sqlite3
import threading
from abc import abstractmethod
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any

from contestants import ThreadedContestant
from workload import PLAN

CREATE_SQLITE = """
create table events (
    run_id text not null, position integer not null, kind text not null, body text not null,
    primary key (run_id, position)
)
"""
CREATE_POSTGRES = CREATE_SQLITE.replace("body text", "body jsonb")
INSERT_SQLITE = "insert into events values (?, ?, ?, ?)"
INSERT_POSTGRES = "insert into events values (%s, %s, %s, %s)"
READ_SQLITE = "select body from events where run_id = ? order by position"
READ_POSTGRES = "select body from events where run_id = %s order by position"
GROUP_MAX = 64
Row = tuple[str, int, str, str]  # run id, position, kind, body
Waiting = tuple[Row, threading.Lock]  # the lock is released once the row is durable


class BareContestant(ThreadedContestant):
    """The loop of the run, over a store that can only append."""

    def run_one(self, run_id: str) -> None:
        """Append a row for each model turn and each tool output."""
        for turn in range(len(PLAN)):
            message = self.workload.ask_model(run_id, turn)
            self.append((run_id, 2 * turn, "model_turn", json.dumps(message)))
            output = self.workload.execute_tool(run_id, turn)
            body = json.dumps({"call_id": message["call_id"], "output": output})
            self.append((run_id, 2 * turn + 1, "tool_call", body))
        self.workload.finish(run_id)

    @abstractmethod
    def append(self, row: Row) -> None:
        """Store a row; return once it is durable."""


class BareSqlite(BareContestant):
    """One connection behind a lock, one commit a step."""

    def open(self) -> None:
        """Open the file with a write-ahead log and a sync for each commit."""
        self._connection = sqlite3.connect(
            self.place.sqlite_path, check_same_thread=False, isolation_level=None
        )
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.execute(CREATE_SQLITE)
        self._writing = threading.Lock()

    def append(self, row: Row) -> None:
        """Insert the row in a transaction of its own."""
        with self._writing:
            self._connection.execute(INSERT_SQLITE, row)

    def steps_stored(self, run_id: str) -> int:
        """Count the rows that parse."""
        return len([json.loads(body) for (body,) in self._connection.execute(READ_SQLITE, (run_id,))])

    def ask(self, statement: str) -> str:
        """Ask the one connection."""
        return str(self._connection.execute(statement).fetchone()[0])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class BareGroupedSqlite(BareSqlite):
    """A writer thread that commits all rows waiting for it in one transaction."""

    def open(self) -> None:
        """Open the file and start the writer."""
        super().open()
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write)
        self._writer.start()

    def append(self, row: Row) -> None:
        """Queue the row and wait for its commit."""
        # A lock wakes its waiter faster than an Event or a Future does, and this is the floor.
        stored = threading.Lock()
        stored.acquire()
        self._queue.put((row, stored))
        stored.acquire()

    def close(self) -> None:
        """Stop the writer, then close the connection."""
        self._queue.put(None)
        self._writer.join()
        super().close()

    def _write(self) -> None:
        for first in iter(self._queue.get, None):
            group = [first, *self._waiting()]
            self._connection.execute("begin immediate")
            self._connection.executemany(INSERT_SQLITE, [row for row, _ in group])
            self._connection.execute("commit")
            for _, stored in group:
                stored.release()

    def _waiting(self) -> Iterator[Waiting]:
        """Take what is queued by now. Nobody appends during `close`, so no end mark is met here."""
        for _ in range(GROUP_MAX - 1):
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                return
            assert waiting is not None
            yield waiting


class BarePostgres(BareContestant):
    """A psycopg connection for each thread, autocommit, one INSERT a step."""

    def open(self) -> None:
        """Create the table; the threads connect when they first append."""
        self._own = threading.local()
        self._connections: list[Any] = []
        self._connection().execute(CREATE_POSTGRES)

    def append(self, row: Row) -> None:
        """Insert the row in a transaction of its own."""
        self._connection().execute(INSERT_POSTGRES, row)

    def steps_stored(self, run_id: str) -> int:
        """Count the rows; jsonb comes back parsed."""
        return len(self._connection().execute(READ_POSTGRES, (run_id,)).fetchall())

    def ask(self, statement: str) -> str:
        """Ask the connection of this thread."""
        return str(self._connection().execute(statement).fetchone()[0])

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._connections:
            connection.close()

    def _connection(self) -> Any:
        import psycopg

        if not hasattr(self._own, "connection"):
            self._own.connection = psycopg.connect(self.place.postgres_url, autocommit=True)
            self._connections.append(self._own.connection)
        return self._own.connection
