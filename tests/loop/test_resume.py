"""One owner at a time, also across processes: taking over, fencing out, cancelling."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from tachograph import open_store
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import resume
from tachograph.domain.errors import ModelError, RunTakenOver
from tachograph.domain.events import Event, Recorded, RunResumed, Terminal, ToolCall, ToolError
from tachograph.domain.ports import EventStore, ModelReply

from .processes import Worker, worker
from .story import DONE, ListeningModel, agent, ask, probe, tell, turn
from .victim import CONTEXT, World, check_answered

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer

KILLED = {"signal": 9}


@pytest.fixture(scope="module")
def first() -> Iterator[Worker]:
    with worker() as started:
        yield started


@pytest.fixture(scope="module")
def second() -> Iterator[Worker]:
    with worker() as started:
        yield started


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('resume') / 'store.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_schema()


@pytest.fixture
def job(url: str, effects_file: Path) -> dict[str, Any]:
    return {"url": url, "run_id": uuid4(), "effects": effects_file}


def history(job: dict[str, Any]) -> list[Event]:
    store = open_store(job["url"])
    entries = store.read(job["run_id"])
    store.close()
    return [entry.event for entry in entries if isinstance(entry, Recorded)]


def effects(job: dict[str, Any]) -> Counter[str]:
    lines = job["effects"].read_text().splitlines()
    return Counter(line.split()[0] for line in lines if not line.startswith("model"))


def wait_for(job: dict[str, Any], effect: str) -> None:
    """Wait until another process has come to an effect."""
    deadline = time.monotonic() + 20
    while not (job["effects"].exists() and effect in job["effects"].read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.case("C103")
class TestFencing:
    def test_C103_who_is_taken_over_inside_a_once_handler_stops_and_nobody_runs_it_again(
        self, first: Worker, second: Worker, job: dict[str, Any], tmp_path: Path
    ) -> None:
        release = tmp_path / "release"
        first.start(do="run", hold={"tool": "money_send", "until": release}, **job)
        wait_for(job, "money_send")
        assert second.do(do="resume", **job) == {"error": "RunInDoubt"}
        taken_over = history(job)
        release.touch()
        assert first.wait() == {"error": "RunTakenOver"}
        assert history(job) == taken_over
        assert effects(job)["money_send"] == 1
        assert [event.kind for event in taken_over[-3:]] == ["tool_started", "run_resumed", "tool_error"]

    @pytest.mark.parametrize("tool", ["order_read", "refund_preview"])
    def test_C103_the_result_of_who_is_taken_over_is_not_recorded(
        self, first: Worker, second: Worker, job: dict[str, Any], tmp_path: Path, tool: str
    ) -> None:
        release = tmp_path / "release"
        first.start(do="run", hold={"tool": tool, "until": release}, **job)
        wait_for(job, tool)
        assert second.do(do="resume", **job) == {"outcome": "answered", "reason": None}
        finished = history(job)
        release.touch()
        assert first.wait() == {"error": "RunTakenOver"}
        assert history(job) == finished
        results = [event.call_key for event in finished if isinstance(event, (ToolCall, ToolError))]
        assert results == ["1.1", "2.1", "2.2", "3.1"]
        assert effects(job)["money_send"] == 1

    def test_C103_who_is_taken_over_while_the_model_thinks_does_nothing_more(
        self, first: Worker, second: Worker, job: dict[str, Any], tmp_path: Path
    ) -> None:
        release = tmp_path / "release"
        first.start(do="run", hold={"tool": "model", "until": release}, **job)
        wait_for(job, "model 1")
        assert second.do(do="resume", **job)["outcome"] == "answered"
        release.touch()
        assert first.wait() == {"error": "RunTakenOver"}
        assert effects(job) == {"order_read": 2, "refund_preview": 1, "money_send": 1}

    def test_C103_two_who_take_over_at_the_same_time_leave_one_result(
        self, first: Worker, second: Worker, job: dict[str, Any]
    ) -> None:
        assert first.do(do="run", kill={"append": 8, "when": "after"}, **job) == KILLED
        first.start(do="resume", **job)
        second.start(do="resume", **job)
        answers = [first.wait(), second.wait()]
        finished = history(job)
        assert finished[-1].kind == "terminal"
        assert effects(job)["money_send"] == 1
        errors = {"RunTakenOver", "RunClosed"}
        assert sum("outcome" in answer for answer in answers) == 1
        assert all(answer.get("error", "RunClosed") in errors for answer in answers)


@pytest.mark.case("C097")
class TestADeadRun:
    def test_C097_it_can_be_cancelled(self, first: Worker, job: dict[str, Any]) -> None:
        assert first.do(do="run", kill={"tool": "refund_preview", "when": "after"}, **job) == KILLED
        assert first.do(do="cancel", **job) == {"outcome": "blocked", "reason": "cancelled"}
        assert first.do(do="resume", **job) == {"error": "RunClosed"}
        terminal = history(job)[-1]
        assert isinstance(terminal, Terminal)
        assert (terminal.reason, terminal.actor) == ("cancelled", "ops")

    def test_C097_it_can_be_resumed(self, first: Worker, job: dict[str, Any]) -> None:
        assert first.do(do="run", kill={"tool": "refund_preview", "when": "after"}, **job) == KILLED
        assert first.do(do="resume", **job) == {"outcome": "answered", "reason": None}
        assert first.do(do="cancel", **job) == {"error": "RunClosed"}

    def test_C097_a_live_run_that_another_process_cancels_stops_at_its_next_step(
        self, first: Worker, second: Worker, job: dict[str, Any], tmp_path: Path
    ) -> None:
        release = tmp_path / "release"
        first.start(do="run", hold={"tool": "refund_preview", "until": release}, **job)
        wait_for(job, "refund_preview")
        assert second.do(do="cancel", **job) == {"outcome": "blocked", "reason": "cancelled"}
        release.touch()
        assert first.wait() == {"error": "RunTakenOver"}
        assert effects(job) == {"order_read": 1, "refund_preview": 1}
        assert [event.kind for event in history(job)[-2:]] == ["tool_started", "terminal"]

    @pytest.mark.case("C098")
    def test_C098_its_end_is_never_put_down_to_the_user(self, first: Worker, job: dict[str, Any]) -> None:
        assert first.do(do="run", kill={"tool": "money_send", "when": "after"}, **job) == KILLED
        assert first.do(do="resume", **job) == {"error": "RunInDoubt"}
        *_, resumed, unknown = history(job)
        assert isinstance(resumed, RunResumed)
        assert isinstance(unknown, ToolError)
        assert (resumed.actor, resumed.reason) == ("ops", "its process ended")
        assert unknown.code == "outcome_unknown"
        assert unknown.message.startswith("The process that ran this call died")
        assert [event.kind for event in history(job) if CONTEXT.actor in event.model_dump_json()] == [
            "run_started"
        ]


class TestCtrlC:
    @pytest.mark.case("C114")
    @pytest.mark.parametrize(
        ("tool", "resumed"),
        [
            ("order_read", {"outcome": "answered", "reason": None}),
            ("money_send", {"error": "RunInDoubt"}),
        ],
    )
    def test_C114_in_the_middle_of_a_handler_leaves_an_open_run_that_resumes(
        self, first: Worker, job: dict[str, Any], tool: str, resumed: dict[str, Any]
    ) -> None:
        assert first.do(do="run", interrupt=tool, **job)["error"] == "KeyboardInterrupt"
        assert history(job)[-1].kind == ("model_turn" if tool == "order_read" else "tool_started")
        assert first.do(do="resume", **job) == resumed
        assert effects(job)["money_send"] == 1


class TestCallsAndAnswers:
    @pytest.mark.case("C091")
    def test_C091_a_call_in_doubt_is_closed_before_anything_else(
        self, first: Worker, job: dict[str, Any]
    ) -> None:
        assert first.do(do="run", kill={"tool": "money_send", "when": "after"}, **job) == KILLED
        assert first.do(do="resume", **job) == {"error": "RunInDoubt"}
        unknown = history(job)[-1]
        assert isinstance(unknown, ToolError)
        assert (unknown.call_key, unknown.name, unknown.code) == ("3.1", "money_send", "outcome_unknown")

    @pytest.mark.case("C092")
    def test_C092_each_call_has_exactly_one_answer_before_the_next_request(self, store: EventStore) -> None:
        """One of two calls was answered when the process died."""
        from .victim import CrashingStore, FixedId

        class Died(BaseException):
            pass

        def die() -> None:
            raise Died

        from tachograph.adapters.running import run

        world = World(Path(os.devnull))
        run_id = uuid4()
        dying = CrashingStore(store, 6, "after", die)
        with pytest.raises(Died):
            asyncio.run(
                run(world.agent(), "Help.", CONTEXT, model=world.model(), store=dying, ids=FixedId(run_id))
            )
        model = ListeningModel(world.model())
        asyncio.run(resume(world.agent(), run_id, model=model, store=store))
        assert [request.step for request in model.requests] == [3, 4]
        for request in model.requests:
            check_answered(request)
        answers = [message.call_key for message in model.requests[0].messages if message.role == "tool"]
        assert answers == ["1.1", "2.1", "2.2"]

    @pytest.mark.case("C094")
    def test_C094_a_turn_of_reasoning_alone_is_left_out_of_the_request_and_stays_in_the_record(
        self, store: EventStore
    ) -> None:
        thinking = ModelReply(finish_reason="pause", provider_state='{"reasoning":"hidden"}')
        told = tell(store, agent(), thinking, ModelError("the process was killed here"))
        model = ListeningModel(ScriptedModel([thinking, DONE]))
        outcome = asyncio.run(resume(agent(), told.run_id, model=model, store=store))
        assert (outcome.outcome, outcome.steps) == ("answered", 2)
        [request] = model.requests
        assert [(message.role, message.content) for message in request.messages] == [("user", "Help me.")]
        assert [event.kind for event in told.events] == [
            "run_started",
            "model_turn",
            "run_resumed",
            "model_turn",
            "terminal",
        ]

    @pytest.mark.case("C096")
    def test_C096_the_key_of_a_call_is_the_same_after_a_resume_and_whatever_its_place(
        self, first: Worker, job: dict[str, Any]
    ) -> None:
        assert first.do(do="run", kill={"tool": "refund_preview", "when": "after"}, **job) == KILLED
        assert first.do(do="resume", **job)["outcome"] == "answered"
        keys = [line.split()[1:] for line in job["effects"].read_text().splitlines()]
        preview = [key for key in keys if key[0] == "2.1"]
        assert len(preview) == 2
        assert preview[0] == preview[1]
        reads = [key[1] for key in keys if key[0] in ("1.1", "2.2")]
        assert len(reads) == 2
        assert reads[0] == reads[1] != preview[0][1]

    @pytest.mark.case("C096")
    def test_C096_keys_of_different_runs_differ(self, first: Worker, job: dict[str, Any]) -> None:
        for run_id in (uuid4(), uuid4()):
            first.do(do="run", **(job | {"run_id": run_id}))
        sent = [line for line in job["effects"].read_text().splitlines() if line.startswith("money_send")]
        assert len(set(sent)) == 2


class TestTakingOver:
    def test_it_is_recorded_first_with_who_and_why(self, store: EventStore) -> None:
        told = tell(store, agent(probe(lambda: 1)), ModelError("down"))
        asyncio.run(
            resume(
                agent(probe(lambda: 1)),
                told.run_id,
                model=ScriptedModel([turn(ask("probe")), DONE]),
                store=store,
                actor="ops",
                reason="the host was replaced",
            )
        )
        started, resumed, *rest = told.events
        assert isinstance(resumed, RunResumed)
        assert (resumed.actor, resumed.reason) == ("ops", "the host was replaced")
        assert resumed.owner != getattr(started, "owner", None)
        assert [event.kind for event in rest] == ["model_turn", "tool_call", "model_turn", "terminal"]

    def test_who_decided_on_it_at_a_version_takes_it_over_there_or_not_at_all(
        self, store: EventStore
    ) -> None:
        told = tell(store, agent(probe(lambda: 1)), turn(ask("probe")), ModelError("down"))
        before = told.events
        with pytest.raises(RunTakenOver):
            asyncio.run(
                resume(
                    agent(), told.run_id, model=ScriptedModel([DONE]), store=store, version=len(before) - 1
                )
            )
        assert told.events == before

    def test_a_recorded_turn_is_never_asked_for_again(self, first: Worker, job: dict[str, Any]) -> None:
        assert first.do(do="run", kill={"append": 8, "when": "after"}, **job) == KILLED
        assert first.do(do="resume", **job)["outcome"] == "answered"
        asked = [line for line in job["effects"].read_text().splitlines() if line.startswith("model")]
        assert asked == ["model 1", "model 2", "model 3", "model 4"]

    def test_a_run_id_that_is_nobodys(self, first: Worker, job: dict[str, Any]) -> None:
        assert first.do(do="resume", **job) == {"error": "RunNotFound"}
        assert first.do(do="cancel", **job) == {"error": "RunNotFound"}
        assert history(job) == []
        assert isinstance(job["run_id"], UUID)
