"""Each command: what it prints, for people and for machines, and its exit code."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.adapters.refund.scenarios import load_scenario, scenario_names
from tachograph.domain.codec import encode
from tachograph.domain.events import Recorded
from tachograph.domain.run import fold, state_digest, state_json

from .program import Call

SPINE = {
    "run_id", "trace_id", "agent", "status", "outcome", "reason", "steps", "started_at", "ended_at",
}  # fmt: skip


class TestDemo:
    def test_the_story_tells_who_said_what_and_how_it_ended(self, call: Call) -> None:
        told = call("demo")
        assert told.code == 0
        assert told.err == ""
        places = [
            told.out.index(words)
            for words in (
                "A refund goes to a person for approval",
                "customer  Hello",
                "turn 1    I'll look up what the policy says",
                "→ policy_search  query return opened electronics",
                "← 4 passages, first returns-policy/2#opened-electronics",
                "turn 2    → order_read  order_id #LL-10412",
                "← 229.55 USD, delivered 2026-03-12",
                "← 175.77 USD to Visa ending in 1881",
                "■ approval requested",
                "amount          175.77",
                "4 turns · 3 tool calls · 0 tool errors · 7,216 tokens read, 288 written",
                "9 events recorded in sqlite:///tachograph.db",
                "tachograph show ",
                "tachograph steps --trace demo-approval_requested",
            )
        ]
        assert places == sorted(places)

    def test_afterwards_runs_shows_it(self, call: Call) -> None:
        call("demo")
        assert "approval requested" in call("runs").out

    @pytest.mark.parametrize("name", scenario_names())
    def test_each_scenario_ends_as_it_says(self, call: Call, name: str) -> None:
        told, machine = call("demo", name), call("demo", name, "--json").json
        scenario = load_scenario(name)
        assert told.code == 0
        assert told.out.count("■ ") == 1
        story = told.out.partition("Look closer")[0]
        assert story.count("✗ ") == len(scenario.expected_errors)
        assert (machine["outcome"], machine["reason"]) == (
            scenario.expected_outcome,
            scenario.expected_reason,
        )

    def test_no_line_of_it_is_longer_than_a_page_or_ends_in_blanks(self, call: Call) -> None:
        for name in scenario_names():
            lines = call("demo", name).out.split("\n")
            assert max(map(len, lines)) <= 100
            assert [line for line in lines if line != line.rstrip()] == []

    def test_an_unknown_scenario_is_wrong_use(self, call: Call) -> None:
        told = call("demo", "nope")
        assert told.code == 2
        assert told.err.startswith("Error: There is no scenario 'nope'. There are: ambiguous_terminals, ")


class TestShow:
    def test_people_see_every_event_in_order(self, call: Call, demo_run: str) -> None:
        told = call("show", demo_run)
        kinds = [line.split()[1] for line in told.out.split("\n") if line[:4].strip().isdigit()]
        assert told.code == 0
        assert kinds == ["run_started", *["model_turn", "tool_call"] * 3, "model_turn", "terminal"]

    def test_machines_get_every_field_as_recorded(self, call: Call, demo_run: str) -> None:
        shown = call("show", demo_run, "--json").json
        store = open_store()
        entries = [entry for entry in store.read(UUID(demo_run)) if isinstance(entry, Recorded)]
        store.close()
        assert (shown["run_id"], shown["version"]) == (demo_run, 9)
        for event, entry in zip(shown["events"], entries, strict=True):
            assert list(event)[:3] == ["version", "kind", "recorded_at"]
            assert (event.pop("version"), event.pop("kind")) == (entry.version, entry.event.kind)
            stored = json.loads(encode(entry.event))
            del stored["v"]
            assert without_nulls(event) == stored

    def test_at_a_version_it_shows_the_run_as_it_stood(self, call: Call, demo_run: str) -> None:
        shown = call("show", demo_run, "--at", "3", "--json").json
        assert shown["version"] == 3
        assert [event["version"] for event in shown["events"]] == [1, 2, 3]
        assert "as it stood at version 3" in call("show", demo_run, "--at", "3").out

    def test_a_version_that_the_run_has_not_reached_is_refused(self, call: Call, demo_run: str) -> None:
        told = call("show", demo_run, "--at", "12")
        assert (told.code, told.out) == (3, "")
        assert told.err.startswith(f"Error: run {demo_run} is at version 9; it has no version 12")

    def test_a_blocked_run_is_nothing_wrong(self, call: Call) -> None:
        blocked = call("demo", "endless_work", "--json").json["run_id"]
        told = call("show", blocked)
        assert told.code == 0
        assert "blocked: max_steps_exceeded" in told.out


class TestRunIds:
    def test_the_first_characters_are_enough_where_they_are_one_run_s_alone(
        self, call: Call, demo_run: str
    ) -> None:
        for beginning in (demo_run[:8], demo_run[:13], demo_run[:20], demo_run.replace("-", "")[:12]):
            assert call("show", beginning, "--json").json["run_id"] == demo_run

    def test_two_runs_with_one_beginning_are_refused(self, call: Call, demo_run: str) -> None:
        other = call("demo", "--json").json["run_id"]
        common = demo_run[
            : next(i for i, pair in enumerate(zip(demo_run, other, strict=True)) if len({*pair}) > 1)
        ]
        told = call("show", common)
        assert told.code == 2
        assert demo_run in told.err
        assert other in told.err

    @pytest.mark.parametrize("text", ["", "1234567", "not-a-run-id", "x" * 400, "..", "1' OR '1'='1"])
    def test_what_is_no_run_id_is_wrong_use(self, call: Call, demo_run: str, text: str) -> None:
        told = call("show", text)
        assert (told.code, told.out) == (2, "")
        assert "is not a run id" in told.err

    @pytest.mark.parametrize("text", ["00000000-0000-0000-0000-000000000000", "00000000"])
    @pytest.mark.parametrize("command", ["show", "rebuild", "cancel", "resume"])
    def test_a_run_that_is_not_there_could_not_be_done(
        self, call: Call, demo_run: str, command: str, text: str
    ) -> None:
        told = call(command, text)
        assert (told.code, told.out) == (3, "")
        assert told.err == f"Error: no run {text} in this store; `tachograph runs` lists them\n"


class TestRebuild:
    def test_the_state_and_its_digest_come_from_the_events_alone(self, call: Call, demo_run: str) -> None:
        line = call("rebuild", demo_run, "--json").out
        store = open_store()
        state = fold(UUID(demo_run), store.read(UUID(demo_run)))
        store.close()
        answer = json.loads(line)
        assert answer == {
            "run_id": demo_run,
            "version": 9,
            "digest": state_digest(state),
            "state": json.loads(state_json(state)),
        }
        assert list(answer) == ["run_id", "version", "digest", "state"]

    def test_at_a_version_it_is_the_state_of_then(self, call: Call, demo_run: str) -> None:
        then = call("rebuild", demo_run, "--at", "4", "--json").json
        now = call("rebuild", demo_run, "--json").json
        assert (then["version"], len(then["state"]["steps"])) == (4, 2)
        assert then["digest"] != now["digest"]

    def test_people_see_what_an_open_run_waits_for(self, call: Call, demo_run: str) -> None:
        told = call("rebuild", demo_run, "--at", "4")
        assert told.code == 0
        assert "waiting   2.1 order_read" in told.out


class TestListsOfRuns:
    def test_runs_gives_a_line_a_run_the_last_one_first(self, call: Call) -> None:
        call("demo", "answered")
        call("demo", "endless_work")
        answers = call("runs", "--json").jsons
        assert [(run["status"], run["outcome"], run["reason"], run["steps"]) for run in answers] == [
            ("ended", "blocked", "max_steps_exceeded", 6),
            ("ended", "answered", None, 3),
        ]
        assert SPINE <= set(answers[0])

    def test_runs_of_one_trace(self, call: Call) -> None:
        call("demo", "answered")
        call("demo", "handoff")
        [run] = call("runs", "--trace", "demo-handoff", "--json").jsons
        assert run["trace_id"] == "demo-handoff"

    def test_a_limit_keeps_the_latest(self, call: Call) -> None:
        for name in ("answered", "clarification", "handoff"):
            call("demo", name)
        assert [run["trace_id"] for run in call("runs", "--limit", "2", "--json").jsons] == [
            "demo-handoff",
            "demo-clarification",
        ]

    def test_steps_counts_a_trace_s_runs(self, call: Call) -> None:
        call("demo", "invalid_arguments")
        call("demo", "invalid_arguments")
        assert call("steps", "--trace", "demo-invalid_arguments", "--json").json == {
            "trace_id": "demo-invalid_arguments",
            "tenant": "lantern-lane",
            "runs": 2,
            "model_turns": 10,
            "tool_calls": 2,
            "tool_errors": 6,
            "outcomes": {"approval_requested": 2},
        }
        assert "approval_requested 2" in call("steps").out

    @pytest.mark.parametrize("command", ["runs", "steps"])
    def test_an_empty_store_has_an_empty_answer(self, call: Call, command: str) -> None:
        call("db", "init")
        told = call(command)
        assert (told.code, told.out, call(command, "--json").out) == (0, "", "")
        assert "yet" in told.err


class TestImport:
    def test_a_file_is_imported_once_however_often_it_is_given(self, call: Call, tau_file: Path) -> None:
        first = call("import", "tau-bench", str(tau_file), "--json").json
        again = call("import", "tau-bench", str(tau_file), "--json").json
        assert first["file"] == str(tau_file)
        assert first["runs_added"] == again["runs_already_there"] > 0
        assert again["runs_added"] == again["events_added"] == 0
        assert len(call("runs", "--json").jsons) == first["runs_added"]
        assert str(tau_file) in call("import", "tau-bench", str(tau_file)).out

    def test_a_rejected_file_could_not_be_done(self, call: Call, folder: Path, tau_file: Path) -> None:
        (folder / "broken.json").write_text("[{]")
        told = call("import", "tau-bench", str(tau_file), "broken.json")
        assert told.code == 3
        assert told.err.startswith("Error: broken.json: not JSON")
        assert str(tau_file) in told.out

    def test_an_unknown_format_is_wrong_use(self, call: Call) -> None:
        told = call("import", "csv", "x")
        assert told.code == 2
        assert "There are: tau-bench, tau2, otel, openinference." in told.err


class TestProjections:
    def test_status_says_how_far_each_is(self, call: Call, demo_run: str) -> None:
        behind = {row["name"]: row["lag"] for row in call("projections", "status", "--json").jsons}
        caught_up = call("projections", "catch-up", "--json").jsons
        assert set(behind) == {"approvals", "facts", "metrics", "runs", "step_counts", "timeline"}
        assert {row["lag"] for row in caught_up} == {0}
        assert {row["position"] for row in caught_up} == {11}

    def test_rebuild_takes_names_and_refuses_others(self, call: Call, demo_run: str) -> None:
        call("projections", "catch-up")
        rebuilt = {
            row["name"]: row["generation"] for row in call("projections", "rebuild", "runs", "--json").jsons
        }
        assert rebuilt["runs"] > rebuilt["timeline"]
        assert call("projections", "rebuild").code == 0
        told = call("projections", "rebuild", "nope")
        assert told.code == 2
        assert "There are: approvals, facts, metrics, runs, step_counts, timeline." in told.err


class TestSimulate:
    @pytest.mark.parametrize("name", scenario_names())
    def test_it_steps_through_each_scenario_and_keeps_nothing(
        self, call: Call, folder: Path, name: str
    ) -> None:
        told = call("simulate", name, "--auto")
        steps = call("simulate", name, "--json").jsons
        assert told.code == 0
        assert told.out.count("step ") >= len(steps)
        assert steps[-1]["decided"]["action"] == "finish"
        assert steps[-1]["decided"]["outcome"] == load_scenario(name).expected_outcome
        assert list(folder.iterdir()) == []

    def test_without_a_terminal_it_wants_auto(self, call: Call) -> None:
        told = call("simulate")
        assert (told.code, told.out) == (2, "")
        assert told.err.startswith("Error: There is no terminal to take keys from; give --auto")


@pytest.fixture
def tau_file(folder: Path, shared_data: Path) -> Path:
    """Two recorded conversations."""
    recorded = json.loads((shared_data / "trajectories/tau-bench/gpt-4o-airline.trials-0-1.json").read_text())
    path = folder / "airline.json"
    path.write_text(json.dumps(recorded[:2]))
    return path


def without_nulls(value: object) -> object:
    """Leave members out that are null, as stored events do."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value
