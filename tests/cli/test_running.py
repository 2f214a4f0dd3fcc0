"""Run, resume and cancel: what is recorded and said whatever happens on the way."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.domain.events import Recorded, RunResumed, RunStarted

from .program import Call, gone

Start = Callable[..., "subprocess.Popen[str]"]

LOOK_UP = ("run", "shop:agent", "--input", "Where is my order?", "--model", "scripted:slow_lookup.toml")
AS_SHOP = ("--agent", "shop:agent", "--model", "scripted:slow_lookup.toml")
OWN_MODEL = """
from dataclasses import replace
from tachograph import ScriptedModel
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import load_scenario

agent = replace(refund_agent, model=ScriptedModel(load_scenario("answered").replies))
"""


@pytest.fixture
def at_work(shop: Path, start: Start) -> Iterator["subprocess.Popen[str]"]:
    """A process whose run waits in a tool."""
    process = start(*LOOK_UP)
    assert process.stdout is not None
    for line in process.stdout:
        if "→ slow_lookup" in line:
            break
    while not (shop / "looked-up").exists():
        assert process.poll() is None
    yield process
    gone(process)


class TestRun:
    def test_it_records_what_the_caller_vouches_for(self, call: Call, shop: Path) -> None:
        (shop / "go").touch()
        who = ("--trace", "t-1", "--tenant", "lamps", "--actor", "ann", "--customer", "cus_1")
        may = ("--permission", "read", "--permission", "write")
        answer = call(*LOOK_UP, *who, *may, "--request-id", "req-1", "--json").json
        assert (answer["outcome"], answer["steps"], answer["trace_id"]) == ("answered", 2, "t-1")
        started = self.started(answer["run_id"])
        assert started.context.model_dump() == {
            "trace_id": "t-1",
            "tenant": "lamps",
            "actor": "ann",
            "customer": "cus_1",
            "permissions": ("read", "write"),
        }
        assert [message.content for message in started.input] == ["Where is my order?"]

    def test_its_story_is_told(self, call: Call, shop: Path) -> None:
        (shop / "go").touch()
        told = call(*LOOK_UP)
        assert (told.code, told.err) == (0, "")
        assert "← order_id #7 · state delivered" in told.out
        assert "text  It has been delivered." in told.out

    def test_a_request_that_was_answered_is_not_run_again(self, call: Call, shop: Path) -> None:
        (shop / "go").touch()
        first = call(*LOOK_UP, "--request-id", "req-1", "--json").json
        assert call(*LOOK_UP, "--request-id", "req-1", "--json").json == first
        assert "This request was answered before: answered." in call(*LOOK_UP, "--request-id", "req-1").out

    def test_the_input_can_come_from_standard_input(self, call: Call, shop: Path) -> None:
        (shop / "go").touch()
        words = [word if word != "Where is my order?" else "-" for word in LOOK_UP]
        answer = call(*words, "--json", typed="two\nlines").json
        assert self.started(answer["run_id"]).input[0].content == "two\nlines"

    def test_a_blocked_run_is_a_no(self, call: Call, shop: Path) -> None:
        script = shop / "silent.toml"
        script.write_text(
            (shop / "leave.toml").read_text().split("[[replies]]")[0] + '[[replies]]\ntext = "Hm."\n'
        )
        told = call("run", "shop:agent", "--input", "hi", "--model", "scripted:silent.toml")
        assert told.code == 1
        assert "blocked: terminal_tool_missing" in told.out

    def test_a_model_that_fails_leaves_the_run_open_and_says_how_to_go_on(
        self, call: Call, shop: Path
    ) -> None:
        (shop / "go").touch()
        script = (shop / "slow_lookup.toml").read_text()
        (shop / "short.toml").write_text(script[: script.rindex("[[replies]]")])
        told = call("run", "shop:agent", "--input", "hi", "--model", "scripted:short.toml")
        [run] = call("runs", "--json").jsons
        resume = f"tachograph resume {run['run_id']} --agent shop:agent --model scripted:short.toml"
        assert told.code == 3
        assert told.err == (
            "Error: the script has 1 replies and the run asks for turn 2\n"
            f"Run {run['run_id']} is open at version 3. Resume it: {resume}\n"
        )
        assert run["status"] == "open"
        assert call("resume", run["run_id"], *AS_SHOP, "--json").json["outcome"] == "answered"

    def test_a_tool_that_ends_the_process_ends_it_in_order(self, call: Call, shop: Path) -> None:
        told = call("run", "shop:agent", "--input", "hi", "--model", "scripted:leave.toml")
        assert told.code == 3
        assert told.err.startswith("Error: a tool asked the process to exit.\nRun ")
        assert "is open at version 3. Resume it: tachograph resume" in told.err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--input", ""), "The input is empty"),
            (("--tenant", "\x1b[2J"), "--tenant must be 1 to 200 printable characters."),
            (("--permission", ""), "--permission must be 1 to 200 printable characters."),
            (("--trace", "0000"), "trace id is not acceptable"),
            (
                ("--model", "gpt-5"),
                "There is no model 'gpt-5'. There are: openai:NAME",
            ),
            (("--model", "scripted:x"), "There is no model 'scripted:x'. There are: openai:NAME"),
            (("--model", "scripted:shop.py"), "There is no model 'scripted:shop.py'"),
            (("--model", "scripted:none.toml"), "none.toml can't be used as a script"),
            (("--model", ""), "There is no model ''"),
        ],
    )
    def test_wrong_use_records_nothing(
        self, call: Call, shop: Path, words: tuple[str, ...], said: str
    ) -> None:
        told = call(*LOOK_UP, *words)
        assert (told.code, told.out) == (2, "")
        assert told.err.startswith(f"Error: {said}")
        assert not (shop / "tachograph.db").exists()

    def test_without_a_model_it_says_which_there_are(self, call: Call, shop: Path) -> None:
        told = call("run", "shop:agent", "--input", "hi")
        assert told.code == 2
        assert "scripted:FILE.toml" in told.err
        assert "unknown_tool" in told.err

    @staticmethod
    def started(run_id: str) -> RunStarted:
        store = open_store()
        entry = store.read(UUID(run_id))[0]
        store.close()
        assert isinstance(entry, Recorded)
        assert isinstance(entry.event, RunStarted)
        return entry.event


class TestAgents:
    @pytest.mark.parametrize(
        ("name", "code", "said"),
        [
            ("shop", 2, "'shop' names no agent: write MODULE:AGENT"),
            ("shop:", 2, "'shop:' names no agent"),
            ("./shop.py:agent", 2, "'./shop.py:agent' names no agent"),
            ("shop:none", 3, "shop has nothing named none"),
            ("shop:not_an_agent", 3, "shop:not_an_agent is of type int, not an Agent"),
            ("nowhere.shop:agent", 3, "there is no module nowhere, neither here nor installed"),
            ("raises:agent", 3, "importing raises failed: ValueError: boom \\x1b[2J (line 2 of "),
            ("leaves:agent", 3, "importing leaves failed: SystemExit: 0"),
            ("garbled:agent", 3, "importing garbled failed: SyntaxError: "),
            ("needs:agent", 3, "importing needs failed: ModuleNotFoundError: No module named 'nowhere'"),
        ],
    )
    def test_what_is_wrong_is_said_in_a_line(
        self, call: Call, shop: Path, name: str, code: int, said: str
    ) -> None:
        (shop / "raises.py").write_text('\nraise ValueError("boom \\x1b[2J")')
        (shop / "leaves.py").write_text("raise SystemExit(0)")
        (shop / "garbled.py").write_text("def agent(:")
        (shop / "needs.py").write_text("import nowhere")
        told = call("run", name, "--input", "hi", "--model", "scripted:answered")
        assert (told.code, told.out) == (code, "")
        assert told.err.startswith(f"Error: {said}")
        assert "Traceback" not in told.err
        assert not (shop / "tachograph.db").exists()


class TestModel:
    def test_an_agent_runs_on_its_own_unless_another_is_named(self, call: Call, shop: Path) -> None:
        (shop / "own.py").write_text(OWN_MODEL)
        assert call("run", "own:agent", "--input", "Hello", "--json").json["outcome"] == "answered"
        named = ("--model", "scripted:text_without_terminal", "--json")
        answer = call("run", "own:agent", "--input", "Hello", *named).json
        assert answer["reason"] == "terminal_tool_missing"

    def test_its_own_takes_no_options_of_a_named_one(self, call: Call, shop: Path) -> None:
        (shop / "own.py").write_text(OWN_MODEL)
        told = call("run", "own:agent", "--input", "Hello", "--stream")
        assert told.code == 2
        assert told.err.startswith("Error: Which model is to answer? Give --model.")


class TestInterrupted:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_says_which_run_is_open_and_how_to_resume_it(
        self, call: Call, at_work: "subprocess.Popen[str]", shop: Path, number: int, code: int
    ) -> None:
        at_work.send_signal(number)
        _, told = at_work.communicate(timeout=20)
        [run] = call("runs", "--json").jsons
        command = f"tachograph resume {run['run_id']} {' '.join(AS_SHOP)}"
        assert at_work.returncode == code
        assert told == f"Interrupted. Run {run['run_id']} is open at version 2. Resume it: {command}\n"
        (shop / "go").touch()
        resumed = call(*command.split()[1:])
        assert resumed.code == 0
        assert "← order_id #7 · state delivered" in resumed.out

    def test_a_killed_run_shows_as_interrupted_and_goes_on_without_asking_twice(
        self, call: Call, at_work: "subprocess.Popen[str]", shop: Path
    ) -> None:
        assert [run["status"] for run in call("runs", "--json").jsons] == ["open"]
        at_work.kill()
        at_work.wait()
        [run] = call("runs", "--json").jsons
        assert run["status"] == "interrupted"
        assert "interrupted" in call("runs").out
        assert "interrupted" in call("show", run["run_id"]).out
        (shop / "go").touch()
        assert call("resume", run["run_id"], *AS_SHOP, "--json").json["outcome"] == "answered"
        kinds = [event["kind"] for event in call("show", run["run_id"], "--json").json["events"]]
        assert kinds == ["run_started", "model_turn", "run_resumed", "tool_call", "model_turn", "terminal"]

    def test_nobody_is_blamed_for_it(self, call: Call, at_work: "subprocess.Popen[str]", shop: Path) -> None:
        at_work.kill()
        at_work.wait()
        (shop / "go").touch()
        [run] = call("runs", "--json").jsons
        call("resume", run["run_id"], *AS_SHOP)
        store = open_store()
        resumed = [
            entry.event
            for entry in store.read(UUID(run["run_id"]))
            if isinstance(entry, Recorded) and isinstance(entry.event, RunResumed)
        ]
        store.close()
        assert [(event.actor, event.reason) for event in resumed] == [("anonymous", "its process ended")]

    def test_the_former_owner_stops_when_its_run_is_taken_over(
        self, call: Call, at_work: "subprocess.Popen[str]", shop: Path
    ) -> None:
        [run] = call("runs", "--json").jsons
        call("cancel", run["run_id"])
        (shop / "go").touch()
        _, told = at_work.communicate(timeout=20)
        assert at_work.returncode == 3
        assert told == (
            f"Error: run {run['run_id']} was taken over by another process; nothing more was done\n"
        )

    def test_a_reader_who_goes_does_not_end_the_run(
        self, call: Call, at_work: "subprocess.Popen[str]", shop: Path
    ) -> None:
        assert at_work.stdout is not None
        at_work.stdout.close()
        (shop / "go").touch()
        assert at_work.wait(timeout=20) == 0
        assert at_work.stderr is not None
        assert at_work.stderr.read() == ""
        assert [run["outcome"] for run in call("runs", "--json").jsons] == ["answered"]


class TestResumeAndCancel:
    def test_a_run_that_has_ended_can_be_neither_resumed_nor_cancelled(
        self, call: Call, demo_run: str
    ) -> None:
        for command in ("resume", "cancel"):
            told = call(command, demo_run)
            assert (told.code, told.out) == (3, "")
            assert told.err == f"Error: run {demo_run} has ended already (approval_requested)\n"

    def test_cancelling_is_recorded_with_who_did_it(self, call: Call, open_demo: str) -> None:
        answer = call("cancel", open_demo, "--actor", "ann", "--json").json
        assert (answer["outcome"], answer["reason"]) == ("blocked", "cancelled")
        events = call("show", open_demo, "--json").json["events"]
        assert (events[-1]["kind"], events[-1]["actor"]) == ("terminal", "ann")

    def test_a_run_of_the_demo_goes_on_with_its_own_agent_and_script(
        self, call: Call, open_demo: str
    ) -> None:
        told = call("resume", open_demo)
        assert told.code == 0
        assert "resumed   taken over by anonymous" in told.out
        assert "approval requested" in told.out

    def test_a_run_of_another_agent_asks_for_it(self, call: Call, at_work: "subprocess.Popen[str]") -> None:
        [run] = call("runs", "--json").jsons
        told = call("resume", run["run_id"])
        assert told.code == 2
        assert "say with --agent MODULE:AGENT" in told.err
        told = call("resume", run["run_id"], "--agent", "shop:agent")
        assert told.code == 2
        assert "Give --model" in told.err

    @pytest.fixture
    def open_demo(self, call: Call, demo_run: str) -> str:
        """A run of the demo that was left after its second turn."""
        import asyncio

        store = open_store("sqlite:///tachograph.db")
        entries = store.read(UUID(demo_run))
        events = [entry.event for entry in entries if isinstance(entry, Recorded)]
        run_id = UUID(int=UUID(demo_run).int + 1)
        asyncio.run(store.append(run_id, events[:4], expected_version=0))
        store.close()
        return str(run_id)
