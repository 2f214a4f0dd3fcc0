"""On a terminal: keys for the simulation, colours, progress, and pages of any width."""

import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tachograph.adapters.ownership import SILENT_AFTER
from tachograph.adapters.screen.status import open_status

from .program import Call, owner_of_a_dead_process

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, *words: str, width: int) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (60, width))
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(width)}
        program = "import os; os.login_tty(0); from tachograph.cli import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
        )
        os.close(theirs)
        self.seen = ""

    def read_until(self, words: str) -> str:
        """Return what is shown up to these words, without colours."""
        seen = ""
        while words not in COLOURS.sub("", seen):
            read = self._read()
            if not read:
                raise AssertionError(f"it ended before {words!r}: {seen}")
            seen += read
        return COLOURS.sub("", seen)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def end(self) -> tuple[int, str]:
        """Return the exit code, and what was shown in all, colours included."""
        while self._read():
            pass
        return self._process.wait(timeout=20), self.seen

    def close(self) -> None:
        """End what is still there."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)

    def _read(self) -> str:
        ready, _, _ = select.select([self._ours], [], [], 20)
        if not ready:
            raise AssertionError(f"nothing more came after {self.seen!r}")
        try:
            read = os.read(self._ours, 65_536).decode(errors="replace").replace("\r\n", "\n")
        except OSError:  # The other side is closed.
            return ""
        self.seen += read
        return read


Open = Callable[..., Terminal]


@pytest.fixture
def terminal() -> Iterator[Open]:
    """Open the program on a terminal."""
    opened: list[Terminal] = []

    def open_terminal(*words: str, width: int = 100) -> Terminal:
        opened.append(Terminal(*words, width=width))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


class TestSimulation:
    def test_enter_makes_a_step_and_q_ends_it(self, terminal: Open) -> None:
        page = terminal("simulate")
        assert "ask the model for turn 1 of at most 6" in page.read_until("q quit")
        page.press("\r")
        seen = page.read_until("q quit")
        assert "→ policy_search" in seen
        assert "recorded: 2 model_turn" in seen
        assert "1.1  run policy_search: every check is passed" in seen
        page.press("q")
        code, _ = page.end()
        assert code == 0

    @pytest.mark.parametrize(
        ("key", "recorded", "reaction"),
        [
            ("u", "→ wire_money_now", "1.1  refuse wire_money_now (unknown_tool): its handler never sees it"),
            ("i", "→ policy_search  injected true", "1.1  refuse policy_search (invalid_arguments)"),
            ("t", "→ answer_user", "finish: blocked (ambiguous_terminal_calls)"),
        ],
    )
    def test_a_key_spoils_the_model_s_next_reply(
        self, terminal: Open, key: str, recorded: str, reaction: str
    ) -> None:
        page = terminal("simulate")
        page.read_until("q quit")
        page.press(key)
        page.read_until("Injected: the model's next reply has an error")
        page.press("\r")
        seen = page.read_until("q quit")
        assert recorded in seen
        assert reaction in seen

    def test_a_failing_tool_reaches_the_model_which_tries_again(self, terminal: Open) -> None:
        page = terminal("simulate")
        page.press("\rf")
        page.read_until("Injected: the next tool call fails")
        page.press("\r\r\r\r\r\r\r\r\r\r")
        code, seen = page.end()
        assert code == 0
        assert "tool_execution_failed" in seen
        assert COLOURS.sub("", seen).count("→ policy_search") == 2
        assert "The run has ended: 11 events, 5 turns, 1 tool errors." in COLOURS.sub("", seen)

    def test_an_injection_can_be_taken_back(self, terminal: Open) -> None:
        page = terminal("simulate", "clarification")
        page.press("uu")
        page.read_until("Injected: nothing any more")
        page.press("\r\r")
        code, seen = page.end()
        assert code == 0
        assert "wire_money_now" not in seen

    def test_arrow_keys_inject_nothing(self, terminal: Open) -> None:
        page = terminal("simulate", "clarification")
        page.read_until("q quit")
        page.press("\x1b[F")
        page.press("q")
        _, seen = page.end()
        assert "Injected" not in seen

    def test_ctrl_c_ends_it(self, terminal: Open) -> None:
        page = terminal("simulate")
        page.read_until("q quit")
        page.press("\x03")
        code, seen = page.end()
        assert code == 130
        assert seen.endswith("Interrupted.\n")


class TestPages:
    @pytest.mark.parametrize(
        ("width", "widest", "words"),
        [
            (80, 80, ("demo", "answered")),
            (80, 80, ("show", "RUN")),
            (80, 80, ("runs",)),
            (200, 120, ("show", "RUN")),
        ],
    )
    def test_no_line_is_too_wide(
        self, terminal: Open, call: Call, demo_run: str, width: int, widest: int, words: tuple[str, ...]
    ) -> None:
        call("demo", "text_without_terminal")
        code, seen = terminal(*(word.replace("RUN", demo_run) for word in words), width=width).end()
        assert code == 0
        assert max(map(len, re.split("[\r\n]", COLOURS.sub("", seen)))) <= widest
        assert "\x1b[" in seen
        assert "\x1b" not in call(*(word.replace("RUN", demo_run) for word in words)).out
        if words in (("runs",), ("show", "RUN")):
            assert demo_run in seen


class TestStatus:
    def test_a_run_of_a_living_process_is_open(self) -> None:
        owner = f"{os.uname().nodename}:{os.getpid()}:0badcafe"
        assert open_status(owner, NOW, NOW) == "open"

    def test_a_run_of_a_dead_process_is_interrupted(self) -> None:
        assert open_status(owner_of_a_dead_process(), NOW, NOW) == "interrupted"

    def test_of_another_host_only_the_silence_tells(self) -> None:
        owner = "elsewhere:1:0badcafe"
        assert open_status(owner, NOW - SILENT_AFTER, NOW) == "open"
        assert open_status(owner, NOW - SILENT_AFTER - timedelta(seconds=1), NOW) == "interrupted"

    @pytest.mark.parametrize(
        "owner", ["", "import", "::", "a:b:c", f"{os.uname().nodename}:x:y", "h:" + "9" * 40 + ":t"]
    )
    def test_an_owner_of_another_form_says_nothing(self, owner: str) -> None:
        assert open_status(owner, NOW, NOW) == "open"

    def test_a_clock_that_runs_ahead_says_nothing(self) -> None:
        assert open_status("elsewhere:1:0badcafe", NOW + timedelta(hours=1), NOW) == "open"


def test_a_read_model_that_set_an_event_aside_says_so(call: Call, folder: Path, demo_run: str) -> None:
    with _connected(folder / "tachograph.db") as connection:
        connection.execute(
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?, ?, ?, ?)",
            ("0" * 31 + "1", 1, "terminal\x1b[2J", b"{}"),
        )
    call("projections", "catch-up")
    told = call("projections", "status")
    assert told.code == 1
    assert "set aside" in told.err
    assert "\x1b" not in told.err


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path)
    try:
        yield connection
        connection.commit()
    finally:
        connection.close()
