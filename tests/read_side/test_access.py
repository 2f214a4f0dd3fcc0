"""Views on PostgreSQL for a role that may only read."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.stores.postgres import ROLES
from tachograph.domain.errors import StoreError

from .conftest import OpenReadSide
from .stories import counted, fill


@pytest.fixture
def reader_url(postgres_server: Any, postgres_schema_url: str) -> Iterator[str]:
    """The store's URL for a member of `tachograph_reader`; the role is there before the views are."""
    open_store(postgres_schema_url).close()
    schema = postgres_schema_url.rpartition("=")[2]
    with psycopg.connect(postgres_schema_url, autocommit=True) as owner:
        owner.execute(ROLES.encode())
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC".encode())
        owner.execute("CREATE ROLE onlooker LOGIN IN ROLE tachograph_reader")
    yield postgres_schema_url.replace("postgres:@", "onlooker:@")
    postgres_server.execute("DROP OWNED BY tachograph_writer, tachograph_reader")
    postgres_server.execute("DROP ROLE onlooker, tachograph_writer, tachograph_reader")


def test_a_reader_reads_what_others_caught_up_and_can_not_write(
    postgres_schema_url: str, reader_url: str, opened: OpenReadSide
) -> None:
    owned, seen = open_store(postgres_schema_url), None
    try:
        fill(owned, 3)
        owner = opened(owned)
        owner.catch_up()
        owner.rebuild(["runs"])
        seen = open_store(reader_url)
        reader = opened(seen)
        assert list(reader.steps()) == counted(owned)
        assert len(list(reader.runs())) == 3
        assert [each.lag for each in reader.status()] == [0] * 6
        assert reader.catch_up() == 0
        fill(owned, 1, first=4)
        with pytest.raises(StoreError, match="permission denied"):
            reader.catch_up()
        assert [each.lag for each in reader.status()] == [6] * 6
    finally:
        owned.close()
        if seen is not None:
            seen.close()
