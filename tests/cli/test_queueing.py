"""`submit`, `worker` and `requeue`: what is printed, what is refused, and with which exit code."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from .program import PROGRAM, Call

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer

BUNDLED = "tachograph.adapters.refund.agent:refund_agent"
HELLO = ("submit", BUNDLED, "--input", "Hello", "--model", "scripted:answered")


class TestSubmit:
    def test_it_prints_the_run_and_nothing_else(self, call: Call) -> None:
        told = call(*HELLO)
        [row] = call("runs", "--json").jsons
        assert (told.code, told.out, told.err) == (0, f"{row['run_id']}\n", "")
        assert (row["status"], row["owner"]) == ("queued", "queue")

    def test_for_programs_it_says_more(self, call: Call) -> None:
        answer = call(*HELLO, "--json", "--trace", "t-1").json
        assert set(answer) == {"run_id", "trace_id", "agent", "already"}
        assert (answer["trace_id"], answer["agent"], answer["already"]) == ("t-1", "refund", False)

    def test_the_same_request_is_the_same_run(self, call: Call) -> None:
        first, again = (call(*HELLO, "--request-id", "r-1") for _ in range(2))
        assert (again.code, again.out) == (0, first.out)
        assert again.err == "This request was submitted before; it is that run.\n"
        assert call(*HELLO, "--request-id", "r-1", "--tenant", "other").out != first.out

    def test_the_input_can_come_from_standard_input(self, call: Call) -> None:
        words = [word if word != "Hello" else "-" for word in HELLO]
        run_id = call(*words, typed="two\nlines").out.strip()
        [started] = call("show", run_id, "--json").json["events"]
        assert started["input"][0]["content"] == "two\nlines"

    def test_a_models_name_is_recorded_and_its_client_is_not_made(self, call: Call) -> None:
        """Whoever submits needs no key of a provider."""
        run_id = call(*HELLO[:-1], "openai:gpt-5.2").out.strip()
        [started] = call("show", run_id, "--json").json["events"]
        assert started["queued"]["model"] == "openai:gpt-5.2"

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("--at", "noon"), 2, "--at takes a time, such as 2026-12-01T12:00Z."),
            (("--priority", "x"), 2, "Invalid value for '--priority'"),
            (("--priority", "1001"), 2, "Invalid value for '--priority'"),
            (("--input", " "), 2, "The input is empty"),
            (("--model", "gpt-5"), 2, "There is no model 'gpt-5'"),
            (("--request-id", "\x1b"), 2, "request id is not acceptable"),
            (("--tenant", ""), 2, "--tenant must be"),
            (("--store", "memory:"), 2, "Nothing in memory: waits for a worker"),
            (("--store", "sqlite:///none/x.db"), 3, "there is no folder none"),
        ],
    )
    def test_wrong_use_records_nothing(
        self, call: Call, folder: Path, words: tuple[str, ...], code: int, said: str
    ) -> None:
        told = call(*HELLO, *words)
        assert (told.code, told.out) == (code, "")
        assert told.err.startswith(f"Error: {said}")
        assert list(folder.iterdir()) == []

    def test_without_any_model_it_says_which_there_are(self, call: Call) -> None:
        told = call(*HELLO[:-2])
        assert told.code == 2
        assert told.err.startswith("Error: Which model is to answer? Give --model.")


class TestWorker:
    def test_it_says_what_became_of_each_run(self, call: Call) -> None:
        first = call(*HELLO).out.strip()
        told = call("worker", "--until-empty")
        assert (told.code, told.out) == (0, f"{first} answered\n")
        assert "runs refund, 8 at once. Ctrl-C or SIGTERM stops it." in told.err
        second = call(*HELLO).out.strip()
        assert call("worker", "--until-empty", "--json").json == {
            "what": "run",
            "id": second,
            "agent": "refund",
            "result": "ended",
            "outcome": "answered",
            "reason": None,
            "tried": 1,
            "again_at": None,
        }

    def test_nothing_to_do_is_fine(self, call: Call) -> None:
        told = call("worker", "--until-empty")
        assert (told.code, told.out) == (0, "")

    def test_what_a_worker_did_does_not_drift(self, call: Call) -> None:
        run_id = call(*HELLO).out.strip()
        call("worker", "--until-empty")
        assert call("replay", run_id, "--json").json["drift"] is None

    def test_hostile_text_of_a_failure_is_not_obeyed(self, call: Call, shop: Path) -> None:
        agent = (
            "from shop import *\nimport dataclasses\nclass Angry:\n    async def complete(self, request):\n"
        )
        agent += '        raise ValueError("\\x1b[2J\\n\\u202eboom")\n'
        (shop / "angry.py").write_text(f"{agent}angry = dataclasses.replace(agent, model=Angry())\n")
        call("submit", "angry:angry", "--input", "hi")
        told = call("worker", "--agent", "angry:angry", "--until-empty", "--tries", "1")
        assert "set aside: tried 1 times; the last time: ValueError: \\x1b[2J" in told.out
        assert "\x1b" not in told.out
        assert [row["status"] for row in call("runs", "--json").jsons] == ["set_aside"]

    def test_periodic_runs_come_from_a_file(self, call: Call, folder: Path) -> None:
        (folder / "s.toml").write_text(
            '[[schedule]]\nname = "hello"\ncron = "* * * * *"\nagent = "refund"\ninput = "Hello"\n'
            'model = "scripted:answered"\n'
        )
        call("worker", "--schedules", "s.toml", "--until-empty")
        [row] = call("runs", "--json").jsons
        assert (row["outcome"], row["request_id"][:15]) == ("answered", "schedule:hello:")

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("--agent", "shop"), 2, "'shop' names no agent"),
            (("--agent", "nowhere:agent"), 3, "there is no module nowhere"),
            (("--agent", BUNDLED, "--agent", BUNDLED), 3, "two of the worker's agents are named refund"),
            (("--at-once", "0"), 2, "Invalid value for '--at-once'"),
            (("--dead-after", "0.1"), 2, "Invalid value for '--dead-after'"),
            (("--grace", "nan"), 2, "Invalid value for '--grace'"),
            (("--schedules", "none.toml"), 3, "none.toml can't be used"),
            (("--store", "postgresql://a:s3cret@127.0.0.1:1/x"), 3, "the store could not open"),
        ],
    )
    def test_wrong_use_is_said_in_a_line(
        self, call: Call, folder: Path, words: tuple[str, ...], code: int, said: str
    ) -> None:
        told = call("worker", "--until-empty", *words)
        assert (told.code, told.out) == (code, "")
        assert told.err.startswith(f"Error: {said}")
        assert "s3cret" not in told.err
        assert list(folder.iterdir()) == []


class TestRequeue:
    @pytest.fixture
    def aside(self, call: Call, folder: Path) -> str:
        """A run that was set aside, since the script of its model was not there."""
        (folder / "x.toml").write_text(
            'title="t"\nshows="s"\ncustomer="c"\ninput="i"\nexpected={outcome="answered"}\n'
            '[[replies]]\ntext="Hm."\n'
        )
        run_id: str = call(*HELLO[:-1], "scripted:x.toml").out.strip()
        (folder / "x.toml").unlink()
        call("worker", "--until-empty", "--tries", "1")
        return run_id

    def test_a_run_that_was_set_aside_goes_on(self, call: Call, folder: Path, aside: str) -> None:
        assert [row["status"] for row in call("runs", "--json").jsons] == ["set_aside"]
        assert "set_aside" in call("show", aside).out
        told = call("requeue", aside, "--reason", "the script is back", "--actor", "ann")
        assert (told.code, told.out) == (0, f"Run {aside} is in the queue again.\n")
        assert call("runs", "--json").json["status"] == "queued"
        last = call("show", aside, "--json").json["events"][-1]
        assert (last["actor"], last["reason"]) == ("ann", "the script is back")

    def test_by_hand_it_can_be_resumed(self, call: Call, aside: str) -> None:
        assert call("resume", aside, "--model", "scripted:answered", "--json").json["outcome"] == "answered"

    def test_what_can_not_be_put_back(self, call: Call, demo_run: str) -> None:
        told = call("requeue", demo_run, "--reason", "again")
        assert (told.code, told.err) == (3, f"Error: run {demo_run} has ended already (approval_requested)\n")
        assert call("requeue", "0" * 32, "--reason", "x").code == 3
        assert call("requeue", demo_run, "--reason", " ").code == 2
        assert call("requeue", demo_run).code == 2


class TestPostgres:
    def test_whoever_may_write_may_submit(
        self, call: Call, postgres_server: "PostgresServer", postgres_url: str
    ) -> None:
        call("db", "init", "--roles", "--store", postgres_url)
        postgres_server.execute("CREATE ROLE submitter LOGIN IN ROLE tachograph_writer")
        database = urlsplit(postgres_url).path.removeprefix("/")
        try:
            url = postgres_server.url(database, user="submitter")
            told = call(*HELLO, "--store", url)
            assert told.err == ""
        finally:
            postgres_server.execute("DROP ROLE submitter")
        done = call("worker", "--until-empty", "--store", postgres_url)
        assert done.out == f"{told.out.strip()} answered\n"

    def test_without_the_extra_it_says_what_is_missing(self, folder: Path, postgres_schema_url: str) -> None:
        program = "import sys\nsys.modules['procrastinate'] = None\nfrom tachograph.cli import main\nmain()\n"
        words = [sys.executable, "-c", program, *HELLO, "--store", postgres_schema_url]
        done = subprocess.run(words, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == "Error: this needs more packages: pip install 'tachograph[workers]'\n"


def test_many_readers_of_json_get_a_line_a_run(call: Call) -> None:
    for _ in range(3):
        call(*HELLO)
    done = subprocess.run(
        [*PROGRAM, "worker", "--until-empty", "--json"], capture_output=True, text=True, check=True
    )
    assert [json.loads(line)["outcome"] for line in done.stdout.splitlines()] == ["answered"] * 3
