"""A store that isn't there, can't be used or goes away: one line, the way out, and never a password."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tachograph.adapters.screen.failures import without_secrets

from .program import PROGRAM, Call, Result

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer

RUN = "01890000-0000-7000-8000-000000000000"
READING = [
    ("runs",),
    ("steps",),
    ("show", RUN),
    ("rebuild", RUN),
    ("resume", RUN),
    ("cancel", RUN),
    ("projections", "status"),
]


def assert_told(told: Result, code: int, said: str) -> None:
    assert (told.code, told.out) == (code, "")
    assert told.err.startswith("Error: ")
    assert said in told.err.split("\n")[0]
    assert "Traceback" not in told.err
    assert "s3cret" not in told.err


@pytest.mark.parametrize("words", READING)
class TestCommandsThatOnlyRead:
    def test_make_no_store(self, call: Call, folder: Path, words: tuple[str, ...]) -> None:
        told = call(*words)
        assert_told(told, 3, "there is no store at tachograph.db")
        assert told.err.split("\n")[1] == (
            "`tachograph demo` or `tachograph db init` makes one; --store names another."
        )
        assert list(folder.iterdir()) == []

    def test_find_nothing_in_memory(self, call: Call, words: tuple[str, ...]) -> None:
        told = call(*words, "--store", "memory:")
        assert told.code == (3 if RUN in words else 0)


class TestFiles:
    def test_a_folder_is_no_store(self, call: Call, folder: Path) -> None:
        told = call("demo", "--store", f"sqlite:///{folder}")
        assert_told(told, 3, f"{folder} is a folder, not a store")

    def test_a_file_of_another_kind_is_no_store(self, call: Call, folder: Path) -> None:
        (folder / "x.db").write_bytes(b"no database at all " * 100)
        for words in (("demo",), ("runs",), ("db", "check"), ("db", "init")):
            assert_told(call(*words, "--store", "sqlite:///x.db"), 3, "file is not a database")

    def test_a_folder_that_is_not_there(self, call: Call) -> None:
        assert_told(call("demo", "--store", "sqlite:///none/x.db"), 3, "there is no folder none for a store")

    def test_an_empty_file_is_an_empty_store(self, call: Call, folder: Path) -> None:
        (folder / "tachograph.db").touch()
        assert call("runs").code == 0

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
    def test_a_file_that_may_only_be_read(self, call: Call, folder: Path) -> None:
        call("demo")
        (folder / "tachograph.db").chmod(0o444)
        told = call("demo")
        assert_told(told, 3, "readonly")
        assert "SQLite must be allowed to write to the file" in told.err

    @pytest.mark.slow
    def test_a_disk_that_is_full_leaves_the_run_open(self, call: Call, folder: Path) -> None:
        program = (
            "import resource\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
            "from tachograph.cli import main\n"
            "main()\n"
        )
        done = subprocess.run([sys.executable, "-c", program, "demo"], capture_output=True, text=True)
        run = call("runs", "--json").json["run_id"]
        assert done.returncode == 3
        assert done.stderr.startswith("Error: the store could not append: ")
        assert f"Run {run} is open at version " in done.stderr
        assert call("resume", run, "--json").json["outcome"] == "approval_requested"

    def test_an_unknown_kind_of_store(self, call: Call) -> None:
        for url in ("mysql://app:s3cret@db/x", "x.db", "sqlite:", "sqlite:///"):
            told = call("runs", "--store", url)
            assert_told(told, 2, "a store is named as sqlite:///FILE, postgresql://")


class TestServers:
    def test_a_server_that_is_down(self, call_process: Call) -> None:
        url = "postgresql://app:s3cret@127.0.0.1:1/shop"
        for words in (("runs",), ("db", "check")):
            told = call_process(*words, env={**os.environ, "TACHOGRAPH_STORE": url})
            assert_told(told, 3, "Connection refused")
            assert "postgresql://app:***@127.0.0.1:1/shop" in told.err

    def test_a_wrong_password(self, call_process: Call, postgres_server: "PostgresServer") -> None:
        with postgres_server.passwords_asked_for("cli_user", "right"):
            url = postgres_server.url(user="cli_user", password="s3cret")
            for words in (("runs",), ("db", "check")):
                told = call_process(*words, "--store", url)
                assert_told(told, 3, 'password authentication failed for user "cli_user"')

    def test_a_url_that_can_not_be_read(self, call: Call) -> None:
        for url in (
            "postgresql://app:s3cret@[db/x",
            "postgresql://app:s3cret%zz@db/x",
            "postgresql://a:s3cret@h:x/y",
        ):
            for words in (("runs",), ("db", "check")):
                assert_told(call(*words, "--store", url), 3, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
class TestFullDisk:
    def test_output_that_can_not_be_written_is_said(self, demo_run: str) -> None:
        assert self.print_to_full_disk("show", demo_run) == (3, "Error: No space left on device\n")

    def test_a_run_comes_to_its_end_all_the_same(self, call: Call) -> None:
        told = "Note: the output can't be written: No space left on device\n"
        assert self.print_to_full_disk("demo") == (0, told)
        assert call("runs", "--json").json["outcome"] == "approval_requested"

    @staticmethod
    def print_to_full_disk(*words: str) -> tuple[int, str]:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        return done.returncode, done.stderr


class TestPipes:
    def test_a_reader_who_has_seen_enough_ends_it_quietly(
        self, call: Call, folder: Path, demo_run: str
    ) -> None:
        for words in (
            ("show", demo_run),
            ("runs", "--json"),
            ("--help",),
        ):
            assert self.read_a_byte(*words) == (0, b"")

    def test_so_does_a_reader_of_something_large(self, call: Call, shop: Path) -> None:
        large = "y" * 5_000_000
        call("run", "shop:agent", "--input", "-", "--model", "scripted:leave.toml", typed=large)
        run = call("runs", "--json").json["run_id"]
        assert self.read_a_byte("show", run, "--json") == (0, b"")

    @staticmethod
    def read_a_byte(*words: str) -> tuple[int, bytes]:
        """Read one byte of what the program prints, and go."""
        process = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        with closing(process.stderr):
            process.stdout.read(1)
            process.stdout.close()
            told = process.stderr.read()
        return process.wait(timeout=20), told


@pytest.mark.parametrize(
    ("text", "url", "shown"),
    [
        ("at postgresql://app:s3cret@db/x", "", "at postgresql://app:***@db/x"),
        ("at postgresql://app@db/x", "", "at postgresql://app@db/x"),
        ("said s3cret", "postgresql://app:s3cret@db/x", "said ***"),
        ("said p@ss", "postgresql://app:p%40ss@db/x", "said ***"),
        ("said s3cret", "postgresql:///x?password=s3cret", "said ***"),
        ("host=h password=s3cret user=x", "", "host=h password=*** user=x"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
    ],
)
def test_no_message_shows_a_password(text: str, url: str, shown: str) -> None:
    assert without_secrets(text, url) == shown
