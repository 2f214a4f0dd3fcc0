"""Who gets into PostgreSQL, behind which pooler, and with which rights."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters.stores.postgres import ROLES
from tachograph.adapters.stores.recorded import RecordedEventStore
from tachograph.domain.errors import StoreError, VersionConflict
from tachograph.domain.events import Event

from .samples import RUN, append, execute, history, postgres_store, recorded, schema_of, turn

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer


@pytest.fixture
def url(postgres_schema_url: str) -> str:
    return postgres_schema_url


@pytest.fixture
def store(url: str) -> Iterator[RecordedEventStore]:
    store = postgres_store(url)
    yield store
    store.close()


class TestAccess:
    def test_a_wrong_password_is_said_at_once_and_never_shown(
        self, postgres_server: "PostgresServer"
    ) -> None:
        with postgres_server.passwords_asked_for("app", "right"):
            wrong = postgres_server.url(user="app", password="s3cret")
            with pytest.raises(StoreError, match='password authentication failed for user "app"') as caught:
                open_store(wrong)
        assert_silent_about(caught.value, "s3cret")

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ("postgresql://app:s3cret@nowhere.invalid/shop", "nowhere.invalid"),
            ("postgresql://app:s3cret@127.0.0.1:1/shop", "port 1"),
            ("postgresql://app:s3cret@/shop?host=/nowhere", "/nowhere"),
        ],
    )
    def test_a_server_that_is_not_there(self, wrong: str, said: str) -> None:
        with pytest.raises(StoreError, match="the store could not open: ") as caught:
            open_store(wrong)
        assert said in str(caught.value)
        assert_silent_about(caught.value, "s3cret")

    @pytest.mark.parametrize(
        "password", ["s3cret/more", "s3cret@more", "s3cret#more", "s3cret%more", "s3cret?more"]
    )
    def test_a_password_with_signs_that_a_url_reads_otherwise(self, password: str) -> None:
        with pytest.raises(StoreError, match="the store could not open: ") as caught:
            open_store(f"postgresql://app:{password}@127.0.0.1:1/shop")
        assert_silent_about(caught.value, "s3cret", "more")

    def test_a_database_that_is_not_there(self, postgres_server: "PostgresServer") -> None:
        with pytest.raises(StoreError, match='database "nowhere" does not exist'):
            open_store(postgres_server.url("nowhere"))


def assert_silent_about(error: BaseException, *secrets: str) -> None:
    """No text of the error or of what caused it holds any of these."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(f"{cause!s} {cause!r}")
        cause = cause.__cause__
    assert [secret for secret in secrets if any(secret in text for text in texts)] == []


@pytest.mark.case("C110")
class TestPooler:
    def prepared(self, store: RecordedEventStore) -> int:
        with store.datastore.get_connection() as connection:
            row = connection.execute(
                "SELECT count(*) AS count FROM pg_prepared_statements", prepare=False
            ).fetchone()
        return int(row["count"])

    def work(self, url: str) -> RecordedEventStore:
        store = postgres_store(url)
        for version, event in enumerate(history(15)):
            append(store, [event], version)
            store.read(RUN)
            store.read_log(after=version)
            store.head()
        return store

    def test_C110_behind_a_transaction_pooler_no_statement_is_prepared(self, url: str) -> None:
        store = self.work(f"{url}&pooler=transaction")
        assert self.prepared(store) == 0
        assert store.read(RUN) == recorded(history(15))
        store.close()

    def test_C110_without_the_parameter_they_are(self, url: str) -> None:
        store = self.work(url)
        assert self.prepared(store) > 0
        store.close()

    def test_C110_the_sessions_hold_no_state_that_a_pooler_would_mix_up(
        self, url: str, store: RecordedEventStore
    ) -> None:
        """Nothing that the store sets, listens to, locks or creates outlives its statement."""
        append(store, history(3))
        store.read(RUN)
        with store.datastore.get_connection() as connection:

            def count(source: str) -> int:
                row = connection.execute(f"SELECT count(*) AS count FROM {source}", prepare=False).fetchone()
                return int(row["count"])

            assert count("pg_settings WHERE source = 'session'") == 0
            assert count("pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'") == 0
            assert count("pg_listening_channels()") == 0
            assert count("pg_class WHERE relpersistence = 't'") == 0


FORBIDDEN = [
    "UPDATE stored_events SET topic = 'terminal'",
    "DELETE FROM stored_events",
    "TRUNCATE stored_events",
    "DROP TABLE stored_events",
    "ALTER TABLE stored_events DISABLE TRIGGER ALL",
    "DROP TRIGGER stored_events_in_turn ON stored_events",
    "CREATE OR REPLACE FUNCTION stored_events_refuse() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN RETURN NULL; END'",
    "INSERT INTO stored_events (originator_id, originator_version, topic, state, notification_id)"
    f" OVERRIDING SYSTEM VALUE VALUES ('{RUN}', 3, 'terminal', '', -5)",
]


class TestRoles:
    @pytest.fixture
    def roles(self, store: RecordedEventStore, postgres_server: "PostgresServer", url: str) -> Iterator[Any]:
        """URLs of a writer and of a reader who have no other rights."""
        append(store, history(2))
        execute(url, f"GRANT USAGE ON SCHEMA {schema_of(url)} TO PUBLIC")
        execute(url, ROLES.replace("%", "%%"))
        execute(url, "CREATE ROLE pen LOGIN IN ROLE tachograph_writer")
        execute(url, "CREATE ROLE eye LOGIN IN ROLE tachograph_reader")
        yield url.replace("postgres:@", "pen:@"), url.replace("postgres:@", "eye:@")
        postgres_server.execute("DROP OWNED BY tachograph_writer, tachograph_reader")
        postgres_server.execute("DROP ROLE pen, eye, tachograph_writer, tachograph_reader")

    def test_a_writer_appends_and_reads_through_the_store(self, roles: tuple[str, str]) -> None:
        store = postgres_store(roles[0])
        assert append(store, [turn(2)], 2) == 3
        assert store.read(RUN) == recorded(history(3))
        assert (len(store.read_log()), store.head()) == (3, 3)
        with pytest.raises(VersionConflict):
            append(store, [turn(2)], 2)
        store.close()

    def test_a_writer_can_only_add_and_not_even_choose_the_place(self, roles: tuple[str, str]) -> None:
        for statement in FORBIDDEN:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                execute(roles[0], statement)

    def test_a_reader_reads_through_the_store_and_can_not_append(self, roles: tuple[str, str]) -> None:
        store = postgres_store(roles[1])
        assert store.read(RUN) == recorded(history(2))
        assert len(store.read_log()) == 2
        began = time.monotonic()
        with pytest.raises(StoreError, match="could not append: permission denied") as caught:
            append(store, [turn(2)], 2)
        assert not isinstance(caught.value, VersionConflict)
        assert time.monotonic() - began < 5
        store.close()

    def test_a_role_that_may_not_create_the_missing_table_is_told_so(
        self, roles: tuple[str, str], postgres_server: "PostgresServer"
    ) -> None:
        empty = postgres_server.new_schema().replace("postgres:@", "pen:@")
        with pytest.raises(StoreError, match=r"permission denied|no schema has been selected"):
            open_store(empty)

    def test_giving_the_roles_again_changes_nothing(self, roles: tuple[str, str], url: str) -> None:
        execute(url, ROLES.replace("%", "%%"))
        store = postgres_store(roles[0])
        events: list[Event] = [turn(2)]
        assert append(store, events, 2) == 3
        store.close()
