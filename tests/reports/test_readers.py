"""Reports on PostgreSQL for a role that may only read: as far as the views are, and it says so."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.read_side import ViewsBehind
from tachograph.adapters.reports.making import make_report
from tachograph.domain.ports import EventStore
from tachograph.tests.cli.program import call_program as call

from .generated import fill


@pytest.fixture
def owned(postgres_schema_url: str) -> Iterator[EventStore]:
    """A store with three runs, and no views yet."""
    store = open_store(postgres_schema_url)
    fill(store, 3)
    yield store
    store.close()


@pytest.fixture
def reader_url(postgres_server: Any, postgres_schema_url: str, owned: EventStore) -> Iterator[str]:
    """The store's URL for a member of `tachograph_reader`, which was made after the views."""
    with psycopg.connect(postgres_schema_url, autocommit=True) as owner:
        schema = postgres_schema_url.rpartition("=")[2]
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC".encode())
    make_report(owned, "oversight")
    assert call("--store", postgres_schema_url, "db", "init", "--roles").code == 0
    postgres_server.execute("CREATE ROLE onlooker LOGIN IN ROLE tachograph_reader")
    yield postgres_schema_url.replace("postgres:@", "onlooker:@")
    postgres_server.execute("DROP OWNED BY tachograph_writer, tachograph_reader")
    postgres_server.execute("DROP ROLE onlooker, tachograph_writer, tachograph_reader")


def test_where_the_views_are_at_the_end_it_is_the_report_of_the_owner(
    owned: EventStore, reader_url: str
) -> None:
    told = call("--store", reader_url, "report", "approvals", "--json")
    assert (told.code, told.err) == (0, "")
    assert told.jsons[-1] == {"digest": make_report(owned, "approvals").digest}


def test_where_they_are_behind_it_goes_as_far_as_they_do_and_says_who_must_do_what(
    owned: EventStore, reader_url: str
) -> None:
    reached = owned.head()
    fill(owned, 2, first=4)
    told = call("--store", reader_url, "report", "approvals", "--json")
    assert (told.code, told.err.strip()) == (
        0,
        f"The views end at position {reached} of {owned.head()}, and so does this report: this role may not "
        "write. A role that may has to run `tachograph projections catch-up`.",
    )
    assert told.jsons[0]["position"] == reached
    assert told.jsons[-1] == {"digest": make_report(owned, "approvals", position=reached).digest}


def test_a_position_that_they_have_is_reported_and_one_past_them_refused(
    owned: EventStore, reader_url: str
) -> None:
    reached = owned.head()
    fill(owned, 2, first=4)
    assert call("--store", reader_url, "report", "access", "--position", str(reached)).err == ""
    told = call("--store", reader_url, "report", "access", "--position", str(reached + 1))
    assert (told.code, told.out) == (3, "")
    assert told.err.startswith(
        f"Error: the views end at position {reached}, before {reached + 1}, and this role"
    )
    assert "`tachograph projections catch-up`" in told.err
    assert call("--store", reader_url, "report", "access", "--position", "999999").code == 2
    seen = open_store(reader_url)
    try:
        with pytest.raises(ViewsBehind):
            make_report(seen, "access", position=reached + 1)
    finally:
        seen.close()


def test_what_schedules_have_made_is_listed_to_it(reader_url: str) -> None:
    told = call("--store", reader_url, "report", "runs", "--json")
    assert (told.code, told.out, told.err) == (0, "", "")


def test_without_views_it_says_that_they_are_missing(
    postgres_server: Any, postgres_schema_url: str, owned: EventStore
) -> None:
    with psycopg.connect(postgres_schema_url, autocommit=True) as owner:
        schema = postgres_schema_url.rpartition("=")[2]
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC".encode())
        owner.execute(b"CREATE ROLE onlooker LOGIN")
        owner.execute(b"GRANT SELECT ON stored_events TO onlooker")
    try:
        told = call("--store", postgres_schema_url.replace("postgres:@", "onlooker:@"), "report", "access")
    finally:
        postgres_server.execute("DROP OWNED BY onlooker")
        postgres_server.execute("DROP ROLE onlooker")
    assert (told.code, told.out) == (3, "")
    assert told.err.startswith("Error: the views are missing, or closed to this role;")
