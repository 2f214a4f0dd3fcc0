"""`db init` and `db check`: the store as it really is."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .program import Call, Result

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer


def wrong(told: Result) -> dict[str, str]:
    """What a check has found that should be otherwise."""
    return {check["name"]: check["found"] for check in told.json["checks"] if not check["ok"]}


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


class TestSqlite:
    @pytest.fixture(autouse=True)
    def store(self, call: Call, folder: Path) -> Path:
        call("db", "init")
        return folder / "tachograph.db"

    def test_init_can_be_repeated(self, call: Call) -> None:
        assert call("db", "init", "--json").json == {
            "store": "sqlite:///tachograph.db",
            "schema": "there already",
            "roles": False,
        }
        assert call("db", "init", "--store", "sqlite:///new.db", "--json").json["schema"] == "created"

    def test_a_new_store_is_as_it_should_be(self, call: Call) -> None:
        told = call("db", "check")
        assert (told.code, told.err) == (0, "")
        assert "NO" not in told.out
        answer = call("db", "check", "--json").json
        assert answer["ok"]
        found = {check["name"]: check["found"] for check in answer["checks"]}
        assert found["journal mode"] == "wal"
        assert found["synchronous"] == "full"
        assert (
            found["trigger stored_events_no_update"]
            == found["trigger stored_events_no_delete"]
            == "as defined"
        )

    def test_a_dropped_trigger_is_missed_and_init_brings_it_back(self, call: Call, store: Path) -> None:
        change(store, "DROP TRIGGER stored_events_no_delete")
        told = call("db", "check")
        assert told.code == 1
        assert "trigger stored_events_no_delete" in told.out
        assert told.err == "Not as it should be.\n`tachograph db init` creates what is missing.\n"
        assert wrong(call("db", "check", "--json")) == {"trigger stored_events_no_delete": "missing"}
        call("db", "init")
        assert call("db", "check").code == 0

    def test_a_trigger_that_does_nothing_is_found(self, call: Call, store: Path) -> None:
        change(
            store,
            "DROP TRIGGER stored_events_no_update",
            "CREATE TRIGGER stored_events_no_update BEFORE UPDATE ON stored_events BEGIN SELECT 1; END",
        )
        assert wrong(call("db", "check", "--json")) == {
            "trigger stored_events_no_update": "another definition"
        }

    def test_a_trigger_too_many_is_found(self, call: Call, store: Path) -> None:
        change(store, "CREATE TRIGGER extra AFTER INSERT ON stored_events BEGIN SELECT 1; END")
        assert wrong(call("db", "check", "--json")) == {"other triggers on it": "trigger extra"}

    def test_a_weaker_journal_is_found_and_left_as_it_is(self, call: Call, store: Path) -> None:
        change(store, "PRAGMA journal_mode = DELETE")
        for _ in range(2):
            told = call("db", "check", "--json")
            assert told.code == 1
            assert wrong(told) == {"journal mode": "delete"}

    def test_a_database_of_something_else_is_no_store(self, call: Call, folder: Path) -> None:
        change(folder / "other.db", "CREATE TABLE things (x)", "PRAGMA journal_mode = WAL")
        told = call("db", "check", "--store", "sqlite:///other.db", "--json")
        assert told.code == 1
        assert wrong(told)["table stored_events"] == "missing"

    def test_there_are_no_roles_to_create(self, call: Call) -> None:
        told = call("db", "init", "--roles")
        assert told.code == 2
        assert told.err.startswith("Error: Only PostgreSQL has roles")


class TestPostgres:
    @pytest.fixture
    def url(self, postgres_server: "PostgresServer", postgres_schema_url: str) -> Iterator[str]:
        """The URL of an empty schema; roles that a test made are dropped."""
        yield postgres_schema_url
        for role in ("tachograph_writer", "tachograph_reader"):
            if postgres_server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):
                postgres_server.execute(f"DROP OWNED BY {role}")
                postgres_server.execute(f"DROP ROLE {role}")

    @staticmethod
    def change(server: "PostgresServer", url: str, statement: str) -> None:
        server.execute(f"SET search_path = {url.rpartition('=')[2]}; {statement}")

    def test_a_database_without_a_schema_is_no_store(self, call: Call, url: str) -> None:
        told = call("db", "check", "--json", "--store", url)
        assert told.code == 1
        assert wrong(told) == {"table stored_events": "missing"}

    def test_with_its_roles_a_new_store_is_as_it_should_be(self, call: Call, url: str) -> None:
        assert call("db", "init", "--roles", "--json", "--store", url).json["schema"] == "created"
        told = call("db", "check", "--json", "--store", url)
        assert (told.code, wrong(told)) == (0, {})
        found = {check["name"]: check["found"] for check in told.json["checks"]}
        assert found["role tachograph_writer"].startswith("SELECT, INSERT (originator_id, ")
        assert found["role tachograph_reader"] == "SELECT"
        assert found["fsync"] == found["full_page_writes"] == found["synchronous_commit"] == "on"

    def test_the_roles_are_optional_and_how_to_make_them_is_said(self, call: Call, url: str) -> None:
        call("db", "init", "--store", url)
        told = call("db", "check", "--json", "--store", url)
        roles = [check for check in told.json["checks"] if check["name"].startswith("role ")]
        assert told.code == 0
        assert [(role["found"], role["expected"]) for role in roles] == [
            ("not created", "made by `tachograph db init --roles`")
        ] * 2

    @pytest.mark.parametrize(
        ("statement", "name", "found"),
        [
            (
                "DROP TRIGGER stored_events_no_change ON stored_events",
                "trigger stored_events_no_change",
                "missing",
            ),
            (
                "ALTER TABLE stored_events DISABLE TRIGGER stored_events_in_turn",
                "trigger stored_events_in_turn",
                "disabled",
            ),
            (
                "CREATE OR REPLACE FUNCTION stored_events_refuse() RETURNS trigger LANGUAGE plpgsql"
                " AS $$ BEGIN RETURN NULL; END $$",
                "trigger stored_events_no_change",
                "another definition",
            ),
            (
                "CREATE TRIGGER extra AFTER INSERT ON stored_events"
                " EXECUTE FUNCTION stored_events_take_turn()",
                "other triggers on it",
                "extra",
            ),
            (
                "DROP INDEX stored_events_notification_id_idx",
                "unique notification_id",
                "missing",
            ),
            (
                "GRANT DELETE ON stored_events TO tachograph_writer",
                "role tachograph_writer",
                "SELECT, INSERT (originator_id, originator_version, topic, state), DELETE",
            ),
            ("GRANT SELECT ON stored_events TO PUBLIC", "everybody (PUBLIC)", "SELECT"),
        ],
    )
    def test_what_was_changed_is_found_and_init_mends_what_is_missing(
        self, call: Call, postgres_server: "PostgresServer", url: str, statement: str, name: str, found: str
    ) -> None:
        call("db", "init", "--roles", "--store", url)
        self.change(postgres_server, url, statement)
        told = call("db", "check", "--json", "--store", url)
        assert told.code == 1
        assert wrong(told)[name] == found
        call("db", "init", "--roles", "--store", url)
        mended = wrong(call("db", "check", "--json", "--store", url))
        assert set(mended) <= {"trigger stored_events_in_turn", "other triggers on it"}

    def test_commit_without_waiting_for_the_disk_is_found(self, call: Call, url: str) -> None:
        call("db", "init", "--roles", "--store", url)
        hasty = url.replace("options=", "options=-csynchronous_commit%3Doff%20")
        assert wrong(call("db", "check", "--json", "--store", hasty)) == {"synchronous_commit": "off"}

    def test_the_demo_runs_there_and_every_list_shows_it(self, call: Call, url: str) -> None:
        run = call("demo", "--json", "--store", url).json["run_id"]
        assert call("show", run[:13], "--json", "--store", url).json["run_id"] == run
        assert [row["run_id"] for row in call("runs", "--json", "--store", url).jsons] == [run]
        assert call("steps", "--json", "--store", url).json["model_turns"] == 4
        assert call("projections", "status", "--store", url).code == 0
