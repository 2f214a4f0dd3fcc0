"""Approvals and settlements from the command line."""

import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .program import Call


@pytest.fixture
def asked(call: Call) -> dict[str, Any]:
    """The approval that the demo's run asks for."""
    call("demo")
    return call("approvals", "list", "--json").json


MAY = ("--permission", "support", "--actor", "ann")


class TestApprovals:
    def test_the_list_says_who_waits_for_what(self, call: Call, asked: dict[str, Any]) -> None:
        told = call("approvals", "list")
        assert told.code == 0
        for said in (
            asked["approval_id"],
            "pending",
            "175.77 USD",
            "5 supported, 1 free text",
            "support, 0 of 1",
        ):
            assert said in told.out
        assert (asked["status"], asked["execution"], asked["group"]) == ("pending", "none", "support")

    def test_show_has_the_explanation_and_the_way_to_decide(self, call: Call, asked: dict[str, Any]) -> None:
        told = call("approvals", "show", asked["run_id"])
        assert told.code == 0
        assert "What could have stopped it" in told.out
        assert "tachograph approvals grant" in told.out

    def test_a_grant_runs_the_effect_and_a_second_answer_is_the_answer_no(
        self, call: Call, asked: dict[str, Any]
    ) -> None:
        answer = ("approvals", "grant", asked["approval_id"][:8], "--reason", "It fits.", *MAY)
        granted = call(*answer, "--json")
        assert granted.code == 0
        assert (granted.json["status"], granted.json["execution"]) == ("granted", "done")
        assert json.loads(granted.json["output"])["amount_minor"] == 17577
        again = call(*answer)
        assert (again.code, again.err) == (1, "Error: It has been granted already.\n")
        assert call("approvals", "list").err == "Nobody waits for a decision.\n"
        [line] = call("approvals", "list", "--all", "--json").jsons
        assert (line["votes"][0]["by"], line["refusals"]) == ("ann", 1)

    def test_a_denial(self, call: Call, asked: dict[str, Any]) -> None:
        assert call("approvals", "deny", asked["run_id"], "--reason", "No.", *MAY).code == 0
        why = call("why", asked["approval_id"])
        assert "denied by ann" in why.out
        assert call("why", asked["run_id"], "--json").json["approval"]["status"] == "denied"
        assert call("why", asked["run_id"], "--format", "html").out.count("denied by ann") == 1

    def test_refusals(self, call: Call, asked: dict[str, Any]) -> None:
        grant = ("approvals", "grant", asked["approval_id"], "--reason", "Yes.")
        assert call(*grant).code == 1
        assert call(*grant, "--permission", "support", "--actor", "cus_1042").code == 1
        assert call(*grant, *MAY, "--digest", "0" * 64).code == 1
        assert call(*grant, *MAY, "--digest", asked["arguments_digest"][:16]).code == 0
        codes = [event.get("code") for event in call("show", asked["approval_id"], "--json").json["events"]]
        assert [code for code in codes if code] == ["not_allowed", "own_request", "arguments_changed"]

    def test_the_second_refund_of_an_order_is_more_than_is_left(
        self, call: Call, asked: dict[str, Any]
    ) -> None:
        call("demo")
        first, second = call("approvals", "list", "--json").jsons
        assert call("approvals", "grant", first["approval_id"], "--reason", "Yes.", *MAY).code == 0
        refused = call("approvals", "grant", second["approval_id"], "--reason", "Yes.", *MAY)
        assert (refused.code, "more than can still be refunded" in refused.err) == (1, True)

    def test_wrong_use(self, call: Call, asked: dict[str, Any]) -> None:
        assert call("approvals", "grant", asked["approval_id"]).code == 2
        assert call("approvals", "grant", asked["approval_id"], "--reason", " ").code == 2
        assert call("approvals", "show", "00000000-0000-7000-8000-000000000000").code == 3
        assert call("approvals", "remind").err == "Nothing is late.\n"

    def test_what_changed_since_it_was_shown_is_said(
        self, call: Call, asked: dict[str, Any], folder: Path
    ) -> None:
        forge(folder / "tachograph.db", asked["run_id"], "tool_call", "175.77", "975.77")
        told = call("approvals", "show", asked["approval_id"])
        assert told.code == 1
        assert "not what was shown" in told.err


def forge(file: Path, run_id: str, kind: str, old: str, new: str) -> None:
    """Edit what is stored, as somebody who holds the file can."""
    with closing(sqlite3.connect(file)) as database, database:
        triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            database.execute(f"DROP TRIGGER {name}")
        rows = database.execute(
            "SELECT rowid, state FROM stored_events WHERE originator_id = ? AND topic = ?",
            (run_id.replace("-", ""), kind),
        ).fetchall()
        for rowid, state in rows:
            plain = state if state[:1] == b"{" else zlib.decompress(state)
            changed = plain.replace(old.encode(), new.encode())
            database.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (changed, rowid))


class TestReplaying:
    def test_what_is_unchanged_drifts_nowhere(self, call: Call) -> None:
        for scenario in ("approval_requested", "answered", "invalid_arguments", "endless_work"):
            call("demo", scenario)
        told = call("replay", "--all")
        assert told.code == 0
        assert "4 runs" in told.out
        assert "Drift: none." in told.out

    def test_a_forged_amount_is_found(self, call: Call, asked: dict[str, Any], folder: Path) -> None:
        forge(folder / "tachograph.db", asked["run_id"], "terminal", "175.77", "975.77")
        told = call("replay", asked["run_id"], "--json")
        assert (told.code, told.json["drift"]["kind"]) == (1, "outcome")
        assert "975.77" in told.json["drift"]["actual"]
        shown = call("replay", asked["run_id"])
        assert "975.77" in shown.out

    def test_a_forged_approval_is_found(self, call: Call, asked: dict[str, Any], folder: Path) -> None:
        forge(folder / "tachograph.db", asked["approval_id"], "approval_requested", "175.77", "975.77")
        told = call("replay", asked["run_id"], "--json")
        assert (told.code, told.json["drift"]["kind"]) == (1, "record")
        assert call("approvals", "grant", asked["approval_id"], "--reason", "Yes.", *MAY).code == 1

    def test_an_agent_of_today_is_named(self, call: Call, asked: dict[str, Any], folder: Path) -> None:
        (folder / "mine.py").write_text(
            "from dataclasses import replace\n"
            "from tachograph.adapters.refund.agent import refund_agent\n"
            "kind = replace(refund_agent, instructions='Be kind.')\n"
        )
        told = call("replay", "--all", "--agent", "mine:kind")
        assert told.code == 1
        assert "request would differ at version 2" in told.out
        assert "Drift: request 1." in told.out

    def test_wrong_use(self, call: Call, demo_run: str) -> None:
        assert call("replay").code == 2
        assert call("replay", demo_run, "--all").code == 2
        assert call("replay", demo_run, "--since", "2026-01-01").code == 2
        assert call("replay", "--all", "--since", "yesterday").code == 2
        assert call("replay", "--all", "--agent", "nobody:nothing").code == 3
        assert call("replay", "--all", "--since", "2999-01-01").out.startswith("0 runs")


class TestForking:
    def test_a_fork_shares_the_steps_and_asks_for_no_approval(self, call: Call, demo_run: str) -> None:
        forked = call("fork", demo_run, "--at", "2", "--json").json
        assert (forked["outcome"], forked["steps"]) == ("approval_requested", 4)
        assert call("diff", demo_run, forked["run_id"]).code == 0
        assert len(call("approvals", "list", "--json").jsons) == 1
        assert call("replay", forked["run_id"]).code == 0
        [started, *_] = call("show", forked["run_id"], "--json").json["events"]
        assert (started["forked_from"], started["fork"]["live"]) == (demo_run, False)
        steps = {line["trace_id"]: line["model_turns"] for line in call("steps", "--json").jsons}
        assert steps["demo-approval_requested"] == 4

    def test_another_output_shows_in_the_difference(self, call: Call, demo_run: str, folder: Path) -> None:
        (folder / "gone.json").write_text('{"ok":false,"code":"not_found"}')
        forked = call("fork", demo_run, "--at", "2", "--edit", "2.1=gone.json", "--json").json
        told = call("diff", demo_run, forked["run_id"])
        assert told.code == 1
        assert "step 2, result 2.1" in told.out
        assert call("diff", demo_run, forked["run_id"], "--json").json["same"] is False

    def test_other_instructions(self, call: Call, demo_run: str, folder: Path) -> None:
        (folder / "kind.txt").write_text("Be kind.")
        forked = call("fork", demo_run, "--at", "0", "--instructions", "kind.txt", "--json").json
        assert "definition" in call("diff", demo_run, forked["run_id"]).out
        assert call("replay", forked["run_id"]).code == 1

    def test_live_asks_people_too(self, call: Call, demo_run: str) -> None:
        call("fork", demo_run, "--at", "3", "--live")
        assert len(call("approvals", "list", "--json").jsons) == 2

    def test_wrong_use(self, call: Call, demo_run: str, folder: Path) -> None:
        (folder / "x.json").write_text("{}")
        assert call("fork", demo_run, "--at", "9").code == 3
        assert call("fork", demo_run, "--at", "2", "--edit", "7.1=x.json").code == 3
        assert call("fork", demo_run, "--at", "2", "--edit", "x.json").code == 2
        assert call("fork", demo_run, "--at", "2", "--edit", "2.1=nowhere").code == 3
        assert call("fork", demo_run).code == 2


GOING_ON = """
from pydantic import BaseModel
from tachograph import Agent, Approval, TerminalTool

class Ask(BaseModel):
    order_id: str = ""

class Answer(BaseModel):
    text: str

agent = Agent(
    name="shop", version="1", instructions="Ask.",
    terminals=(
        TerminalTool("ask_boss", "Ask.", Ask, "approval_requested", Approval(continues=True)),
        TerminalTool("answer_user", "Answer.", Answer, "answered"),
    ),
)
"""


class TestGoingOn:
    @pytest.fixture
    def approval(self, call: Call, shop: Path) -> str:
        (shop / "boss.py").write_text(GOING_ON)
        script = (shop / "leave.toml").read_text().replace("leave", "ask_boss")
        (shop / "boss.toml").write_text(script)
        call("run", "boss:agent", "--input", "May I?", "--model", "scripted:boss.toml", "--trace", "t-1")
        approval_id: str = call("approvals", "list", "--json").json["approval_id"]
        (shop / "told.toml").write_text(
            script.split("[[replies]]")[0] + "[[replies]]" + script.split("[[replies]]")[2]
        )
        return approval_id

    def test_the_run_goes_on_with_the_decision(self, call: Call, approval: str) -> None:
        grant = ("approvals", "grant", approval, "--reason", "He may.", "--actor", "ann")
        told = call(*grant, "--agent", "boss:agent", "--model", "scripted:told.toml")
        assert (told.code, "went on with the decision: answered" in told.out) == (0, True)
        [after, before] = call("runs", "--trace", "t-1", "--json").jsons
        assert (after["continues"], after["outcome"]) == (before["run_id"], "answered")
        [started, *_] = call("show", after["run_id"], "--json").json["events"]
        assert '"decision":"granted","by":["ann"],"reasons":["He may."]' in started["input"][0]["content"]
        assert call("replay", after["run_id"], "--agent", "boss:agent").code == 0

    def test_without_a_model_it_says_how(self, call: Call, approval: str) -> None:
        deny = ("approvals", "deny", approval, "--reason", "No.", "--actor", "ann", "--agent", "boss:agent")
        told = call(*deny)
        assert told.code == 0
        [said] = [line for line in told.err.splitlines() if "tachograph resume" in line]
        resumed = call("resume", said.split()[-1], "--agent", "boss:agent", "--model", "scripted:told.toml")
        assert resumed.code == 0


ONCE = '''
import os, signal
from pydantic import BaseModel
from tachograph import Agent, TerminalTool, tool

class Order(BaseModel):
    order_id: str = ""

class Answer(BaseModel):
    text: str

@tool(effect="once")
def pay(order: Order) -> dict:
    """Pay, and lose the process."""
    open("paid", "a").write("x")
    os.kill(os.getpid(), signal.SIGKILL)

agent = Agent(
    name="shop", version="1", instructions="Pay.", tools=(pay,),
    terminals=(TerminalTool("answer_user", "Answer.", Answer, "answered"),),
)
'''


class TestReconciling:
    @pytest.fixture
    def died(self, call_process: Call, call: Call, shop: Path) -> str:
        """A run whose process died within a tool that may run only once."""
        (shop / "once.py").write_text(ONCE)
        script = (shop / "leave.toml").read_text().replace("leave", "pay")
        (shop / "pay.toml").write_text(script)
        call_process("run", "once:agent", "--input", "Pay.", "--model", "scripted:pay.toml")
        run_id: str = call("runs", "--json").json["run_id"]
        return run_id

    AS = ("--agent", "once:agent", "--model", "scripted:pay.toml")

    def test_it_is_listed_settled_and_goes_on(self, call: Call, died: str, folder: Path) -> None:
        [line] = call("runs", "--in-doubt", "--json").jsons
        assert (line["call_key"], line["tool"], line["state"]) == ("1.1", "pay", "under way or interrupted")
        waits = call("resume", died, *self.AS)
        assert waits.code == 1
        assert f"tachograph reconcile {died} 1.1" in waits.err
        assert call("runs", "--in-doubt", "--json").json["state"] == "outcome_unknown"
        (folder / "paid.json").write_text('{"paid": "49.90"}')
        settle = ("reconcile", died, "1.1", "--succeeded", "paid.json")
        assert call(*settle).code == 2
        settled = call(*settle, "--reason", "The bank has it.", "--actor", "ann")
        assert (settled.code, f"tachograph resume {died}" in settled.out) == (0, True)
        assert call("runs", "--in-doubt").err == "Nothing is in doubt.\n"
        assert call("resume", died, *self.AS, "--json").json["outcome"] == "answered"
        assert (folder / "paid").read_text() == "x"
        [event] = [one for one in call("show", died, "--json").json["events"] if one["kind"] == "tool_call"]
        assert event["settled"] == {"actor": "ann", "reason": "The bank has it."}
        assert event["output"] == '{"paid": "49.90"}'
        assert call("replay", died, "--agent", "once:agent").code == 0

    def test_it_is_settled_before_anybody_resumes(self, call: Call, died: str) -> None:
        assert call("reconcile", died, "1.1", "--failed", "The bank has nothing of it.").code == 0
        assert call("resume", died, *self.AS).code == 0
        assert call("reconcile", died, "1.1", "--failed", "Again.").code == 3

    def test_wrong_use(self, call: Call, died: str) -> None:
        assert call("reconcile", died, "1.1").code == 2
        assert call("reconcile", died, "1.1", "--failed", "x", "--succeeded", "y").code == 2
        other = call("reconcile", died, "2.1", "--failed", "x")
        assert other.code == 3
        assert other.err.startswith(f"Error: call '2.1' of run {died} is not in doubt")
        assert call("reconcile", died, "1.1", "--succeeded", "nowhere", "--reason", "x").code == 3
        assert call("runs", "--in-doubt", "--limit", "1").code == 2


class TestRequests:
    def test_what_the_model_was_sent_is_shown(self, call: Call, demo_run: str) -> None:
        lines = call("show", demo_run, "--requests", "--json").jsons
        assert [(line["step"], line["matches"]) for line in lines] == [(step, True) for step in range(1, 5)]
        assert "You are the refund assistant" in lines[0]["instructions"]
        assert {tool["name"] for tool in lines[0]["tools"]} >= {"order_read", "request_refund_approval"}
        assert [message["role"] for message in lines[1]["messages"]] == ["user", "assistant", "tool"]
        told = call("show", demo_run, "--requests")
        assert (told.code, told.out.count("as recorded")) == (0, 4)

    def test_a_record_that_was_edited_says_so(self, call: Call, demo_run: str, folder: Path) -> None:
        forge(folder / "tachograph.db", demo_run, "tool_call", "175.77", "975.77")
        told = call("show", demo_run, "--requests")
        assert (told.code, "NOT as recorded" in told.out) == (1, True)

    def test_an_imported_run_has_none(self, call: Call, demo_run: str, shared_data: Path) -> None:
        assert call("show", demo_run, "--requests", "--at", "2").code == 2
        file = shared_data / "trajectories" / "tau-bench" / "gpt-4o-airline.trials-0-1.json"
        call("import", "tau-bench", str(file))
        [imported, *_] = call("runs", "--json").jsons
        told = call("show", imported["run_id"], "--requests")
        assert (told.code, "is not recorded" in told.err) == (3, True)
