"""What a worker does with what is in the queue, on either store."""

import asyncio
import os
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from tachograph import open_store
from tachograph.adapters import deciding
from tachograph.adapters.deciding import following_run
from tachograph.adapters.loading import load
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.reconciling import reconcile
from tachograph.adapters.workers.crew import Crew, Worked
from tachograph.adapters.workers.queues import Pace
from tachograph.adapters.workers.schedule_file import InvalidSchedule
from tachograph.adapters.workers.schedules import Schedule, read_schedules
from tachograph.adapters.workers.stopping import Stop
from tachograph.adapters.workers.submitting import requeue
from tachograph.adapters.workers.worker import work
from tachograph.adapters.world import SystemIds
from tachograph.domain.admission import Limit, Limits
from tachograph.domain.approvals.definition import Approval
from tachograph.domain.events import CallRequest, ModelTurn, RunResumed, RunStarted, ToolCall, ToolStarted
from tachograph.domain.origins import ASIDE, QUEUE, Queued
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.domain.queueing import LOOK_AGAIN
from tachograph.domain.tools import tool
from tachograph.tests.approvals.desk import ANN, Desk, paying
from tachograph.tests.cli.program import owner_of_a_dead_process

from .story import LEAVES, LOOKS_UP, SAYS_NOTHING, Order, Shop, ask, clerk, in_an_hour


def ids(done: list[Worked]) -> list[UUID]:
    return [worked.id for worked in done]


def results(done: list[Worked]) -> list[tuple[str, str | None]]:
    return [(worked.result, worked.outcome) for worked in done]


class TestRuns:
    def test_each_is_taken_over_and_brought_to_its_end(self, shop: Shop) -> None:
        run_ids = [shop.submits() for _ in range(20)]
        done = shop.works()
        assert sorted(ids(done)) == sorted(run_ids)
        assert set(results(done)) == {("ended", "answered")}
        for run_id in run_ids:
            assert shop.kinds(run_id) == [
                "run_started", "run_resumed", "model_turn", "tool_call", "model_turn", "terminal",
            ]  # fmt: skip
        assert shop.works() == []

    def test_the_takeover_says_who_has_it(self, shop: Shop) -> None:
        run_id = shop.submits()
        shop.works()
        taken = shop.history(run_id)[1]
        assert isinstance(taken, RunResumed)
        assert (taken.actor, taken.reason) == ("worker", "taken from the queue")
        assert taken.owner.count(":") == 2

    def test_the_highest_priority_goes_first_and_then_the_oldest(self, shop: Shop) -> None:
        low, first, second, high = (shop.submits(priority=priority) for priority in (-1, 0, 0, 7))
        assert ids(shop.works(at_once=1)) == [high, first, second, low]

    def test_none_is_done_before_its_time(self, shop: Shop) -> None:
        shop.submits(not_before=in_an_hour())
        due = shop.submits(not_before=datetime.now(UTC) - timedelta(hours=1))
        assert ids(shop.works()) == [due]

    def test_a_worker_does_the_runs_of_its_agents_alone(self, shop: Shop) -> None:
        other = clerk(*LOOKS_UP, name="other")
        mine, others = shop.submits(), shop.submits(other)
        assert ids(shop.works()) == [mine]
        assert ids(shop.works(other)) == [others]

    def test_their_calls_keep_to_the_limits_of_the_worker(self, shop: Shop) -> None:
        at_work: list[int] = []

        @tool(effect="read")
        async def count(order: Order) -> int:
            """Count who is here at the same time."""
            at_work.append(1)
            await asyncio.sleep(0.01)
            here = len(at_work)
            at_work.pop()
            return here

        agent = clerk(ask("count"), ask("answer_user"), tools=(count,))
        run_ids = [shop.submits(agent) for _ in range(6)]
        shop.works(agent, limits=Limits(tools={"count": Limit(at_once=2)}))
        outputs = [
            event.output for id in run_ids for event in shop.history(id) if isinstance(event, ToolCall)
        ]
        assert len(outputs) == 6
        assert max(outputs) == "2"


class TestFailures:
    def test_a_run_that_fails_is_tried_again_later(self, shop: Shop) -> None:
        run_id = shop.submits(clerk(*SAYS_NOTHING))
        [failed] = shop.works(clerk(*SAYS_NOTHING))
        assert (failed.result, failed.tried) == ("failed", 1)
        assert failed.reason is not None
        assert failed.reason.startswith("ModelError: ")
        assert failed.again_at is not None
        assert 4 < (failed.again_at - datetime.now(UTC)).total_seconds() <= 5
        assert shop.kinds(run_id) == ["run_started", "run_resumed"]

    def test_after_its_tries_it_is_set_aside_and_nobody_takes_it(self, shop: Shop) -> None:
        run_id = shop.submits(clerk(*SAYS_NOTHING))
        [aside] = shop.works(clerk(*SAYS_NOTHING), tries_max=1)
        assert aside.result == "set_aside"
        assert load(shop.store, run_id).owner == ASIDE
        shop.clock.ahead = timedelta(days=1)
        assert shop.works() == []

    def test_put_back_into_the_queue_it_goes_on(self, shop: Shop) -> None:
        run_id = shop.submits(clerk(*SAYS_NOTHING))
        shop.works(clerk(*SAYS_NOTHING), tries_max=1)
        asyncio.run(requeue(run_id, "the model is back", store=shop.store, actor="ann"))
        assert load(shop.store, run_id).owner == QUEUE
        assert results(shop.works(tries_max=1)) == [("ended", "answered")]

    def test_a_tool_that_ends_the_process_does_not_end_the_worker(self, shop: Shop) -> None:
        agent = clerk(*LEAVES)
        left, fine = shop.submits(agent, priority=1), shop.submits(agent)
        done = shop.works(agent, at_once=1)
        assert [(worked.id, worked.result, worked.reason) for worked in done] == [
            (left, "failed", "SystemExit: 7"),
            (fine, "failed", "SystemExit: 7"),
        ]

    def test_a_run_whose_record_can_not_go_on_does_not_keep_the_others_from_it(
        self, postgres_schema_url: str
    ) -> None:
        store = open_store(postgres_schema_url)
        shop = Shop(store)
        stuck, fine = shop.submits(priority=1), shop.submits()
        with psycopg.connect(postgres_schema_url, autocommit=True) as database:
            database.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'no end for it'; END $$"
            )
            database.execute(
                f"CREATE TRIGGER refuse BEFORE INSERT ON stored_events FOR EACH ROW WHEN (NEW.topic ="
                f" 'terminal' AND NEW.originator_id = '{stuck}') EXECUTE FUNCTION refuse()".encode()
            )
        done = {worked.id: worked for worked in shop.works(tries_max=1)}
        assert (done[stuck].result, done[fine].result) == ("set_aside", "ended")
        assert "no end for it" in str(done[stuck].reason)
        store.close()

    def test_a_run_that_can_not_be_read_is_said_and_left(self, sqlite_url: str) -> None:
        store = open_store(sqlite_url)
        shop = Shop(store)
        odd, fine = shop.submits(priority=1), shop.submits()
        with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as database:
            database.execute(
                "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
                f" VALUES ('{odd.hex}', 2, 'nonsense', x'7b7d')"
            )
        assert [(worked.id, worked.result) for worked in shop.works(at_once=1)] == [
            (odd, "unreadable"),
            (fine, "ended"),
        ]
        store.close()

    def test_an_agent_without_a_model_has_its_tries_too(self, shop: Shop) -> None:
        run_id = shop.submits(clerk())
        nobody = replace(clerk(), model=None)
        [failed] = shop.works(nobody, tries_max=2)
        assert (failed.id, failed.result) == (run_id, "failed")
        assert "has no model" in str(failed.reason)
        assert shop.kinds(run_id) == ["run_started", "run_resumed"]
        shop.submits(clerk(), request_id="r")
        [aside] = shop.works(nobody, tries_max=1)
        assert aside.result == "set_aside"

    def test_a_run_in_doubt_waits_for_a_person_and_then_goes_on(self, sqlite_url: str) -> None:
        """On PostgreSQL the same is so by the database's clock: see the runs whose workers are killed."""
        store = open_store(sqlite_url)
        shop = Shop(store, clerk(ask("send"), ask("answer_user")))
        run_id = shop.submits()
        done: list[Worked] = []
        crew = Crew(store, {"clerk": shop.agent}, done.append, clock=shop.clock)

        async def until(count: int) -> None:
            while len(done) < count:
                await asyncio.sleep(0.01)

        async def a_person_settles_it() -> None:
            stop = Stop()
            working = asyncio.create_task(work(crew, Pace(), stop))
            await until(1)
            found = {"output": '"sent"', "failure": None, "reason": "asked the bank"}
            await reconcile(run_id, "1.1", store=store, actor="ann", **found)  # type: ignore[arg-type]
            shop.clock.ahead = LOOK_AGAIN
            await until(2)
            stop.ask()
            await working

        asyncio.run(self.left_in_doubt(shop, run_id))
        asyncio.run(asyncio.wait_for(a_person_settles_it(), 20))
        assert results(done) == [("waits", None), ("ended", "answered")]
        assert shop.kinds(run_id).count("tool_started") == 1
        store.close()

    @staticmethod
    async def left_in_doubt(shop: Shop, run_id: UUID) -> None:
        """Record what is recorded when a worker dies within a tool that may run only once."""
        [started] = shop.history(run_id)
        at, owner = started.recorded_at, owner_of_a_dead_process()
        turn = ModelTurn(
            recorded_at=at,
            step=1,
            model_asked="scripted",
            request_digest="0" * 64,
            calls=(CallRequest(call_key="1.1", name="send", arguments='{"order_id": "#W1"}'),),
            finish_reason="tool_calls",
            latency_ms=1,
        )
        send = ToolStarted(
            recorded_at=at,
            call_key="1.1",
            name="send",
            effect="once",
            arguments_digest="0" * 64,
            idempotency_key="k",
        )
        taken = RunResumed(recorded_at=at, owner=owner, actor="worker", reason="t")
        await shop.store.append(run_id, [taken, turn, send], expected_version=1)


class TestWhatNobodyHas:
    """Begun by a process that is gone, with no place in the queue."""

    @pytest.fixture
    def dead(self) -> str:
        return owner_of_a_dead_process()

    @staticmethod
    def begun_by(shop: Shop, owner: str, queued: Queued | None) -> UUID:
        started = shop.history(shop.submits(not_before=in_an_hour()))[0]
        assert isinstance(started, RunStarted)
        run_id = SystemIds().run_id()
        own = started.model_copy(update={"queued": queued, "owner": owner})
        asyncio.run(shop.store.append(run_id, [own], expected_version=0))
        return run_id

    def test_a_submitted_run_is_taken_over(self, shop: Shop, dead: str) -> None:
        run_id = self.begun_by(shop, dead, Queued())
        assert ids(shop.works()) == [run_id]

    def test_it_goes_before_what_nobody_has_begun(self, shop: Shop, dead: str) -> None:
        waiting = shop.submits(priority=1000)
        begun = self.begun_by(shop, dead, Queued(priority=-1))
        assert ids(shop.works(at_once=1)) == [begun, waiting]

    def test_one_of_a_living_process_is_left_alone(self, shop: Shop) -> None:
        self.begun_by(shop, f"{os.uname().nodename}:{os.getppid()}:0badcafe", Queued())
        self.begun_by(shop, "elsewhere:1:0badcafe", Queued())
        assert shop.works() == []

    def test_one_that_was_not_submitted_belongs_to_whoever_began_it(self, shop: Shop, dead: str) -> None:
        self.begun_by(shop, dead, None)
        assert shop.works() == []

    def test_an_effect_that_nobody_finished_is_carried_out(self, database: EventStore, dead: str) -> None:
        desk = Desk(database)
        approval_id = desk.asks()
        self.granted_by(desk, approval_id, dead)
        assert desk.state(approval_id).execution == "started"
        assert results(Shop(database, desk.agent).works()) == [("ended", "done")]
        assert len(desk.done) == 1
        assert Shop(database, desk.agent).works() == []

    def test_one_that_may_run_only_once_waits_for_a_person(self, database: EventStore, dead: str) -> None:
        desk = Desk(database)
        desk.approval = Approval(effect=paying(desk.done, "once"))
        approval_id = desk.asks()
        self.granted_by(desk, approval_id, dead)
        assert results(Shop(database, desk.agent).works()) == [("waits", "unknown")]
        assert desk.done == []

    def test_one_that_is_being_carried_out_is_left_alone(self, database: EventStore) -> None:
        desk = Desk(database)
        desk.clock.at = datetime.now(UTC)
        approval_id = desk.asks()
        self.granted_by(desk, approval_id, f"{os.uname().nodename}:{os.getppid()}:0badcafe")
        assert Shop(database, desk.agent).works() == []

    def test_a_run_that_goes_on_with_a_decision_is_gone_on_with(
        self, database: EventStore, dead: str
    ) -> None:
        desk = Desk(database, Approval(continues=True))
        desk.clock.at = datetime.now(UTC)
        approval_id = desk.asks()
        self.granted_by(desk, approval_id, dead)
        answer = AskedCall("answer_user", '{"order_id": "#W1", "amount": "1.00"}')
        agent = replace(desk.agent, model=ScriptedModel([ModelReply(calls=(answer,))]))
        [done] = Shop(database, agent).works()
        assert (done.id, done.outcome) == (following_run(approval_id), "answered")

    @staticmethod
    def granted_by(desk: Desk, approval_id: UUID, owner: str) -> None:
        office = replace(desk.office, ids=OwnedBy(owner))
        asyncio.run(deciding.answer(office, desk.agent, approval_id, ANN, "grant", "It fits."))


class OwnedBy(SystemIds):
    """Says that another process did it."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def owner(self) -> str:
        return self._owner


class TestSchedules:
    EVERY_MINUTE = Schedule(name="hello", cron="* * * * *", agent="clerk", input="Hello.", tenant="shop")

    def test_what_is_due_is_submitted_once_by_any_number_of_workers(self, shop: Shop) -> None:
        before = datetime.now(UTC).replace(second=0, microsecond=0)
        every_minute = [(self.EVERY_MINUTE, shop.agent)]
        done = [*shop.works(schedules=every_minute), *shop.works(schedules=every_minute)]
        after = datetime.now(UTC).replace(second=0, microsecond=0)
        due = {f"schedule:hello:{minute:%Y-%m-%dT%H:%MZ}" for minute in (before, after)}
        requests = [shop.history(worked.id)[0].request_id for worked in done]  # type: ignore[union-attr]
        assert len(requests) == len(set(requests)) == len(due)
        assert set(requests) == due

    def test_the_next_time_is_another_run(self, shop: Shop) -> None:
        every_minute = [(self.EVERY_MINUTE, shop.agent)]
        shop.works(schedules=every_minute)
        shop.clock.ahead = timedelta(minutes=3)
        assert len(shop.works(schedules=every_minute)) == 1

    def test_what_was_missed_long_ago_is_left_out(self, shop: Shop) -> None:
        past = datetime.now(UTC) - timedelta(minutes=20)
        cron = f"{past.minute} {past.hour} * * *"
        assert shop.works(schedules=[(self.EVERY_MINUTE.model_copy(update={"cron": cron}), shop.agent)]) == []

    def test_a_time_itself_is_due(self) -> None:
        noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
        daily = self.EVERY_MINUTE.model_copy(update={"cron": "0 12 * * *"})
        assert daily.due_before(noon) == noon
        assert daily.due_before(noon - timedelta(seconds=1)) == noon - timedelta(days=1)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "must hold [[schedule]] and [[report]] tables"),
            ("schedule = 3", "must hold [[schedule]] and [[report]] tables"),
            ("[[schedule]", "can't be used"),
            ('[[schedule]]\nname = "a"', "cron: Field required"),
            ('[[schedule]]\nname="a"\ncron="every day"\nagent="clerk"\ninput="x"', "cron: Value error, not"),
            ('[[schedule]]\nname="a"\ncron="@daily"\nagent="clerk"\ninput="x"', "cron: Value error, not"),
            ('[[schedule]]\nname="a"\ncron="0 6 * * *"\nagent="x"\ninput="x"', "no agent of this worker"),
            ('[[schedule]]\nname="a"\ncron="0 6 * * *"\nagent="clerk"\ninput=""', "input: String should"),
            (
                '[[schedule]]\nname="a"\ncron="0 6 * * *"\nagent="clerk"\ninput="x"\nevery=1',
                "every: Extra inputs",
            ),
            ('[[schedule]]\nname="a"\ncron="0 6 * * *"\nagent="clerk"\ninput="x"\n' * 2, "two schedules"),
        ],
    )
    def test_a_wrong_file_says_what_is_wrong(self, tmp_path: Path, text: str, said: str) -> None:
        path = tmp_path / "schedules.toml"
        path.write_text(text)
        with pytest.raises(InvalidSchedule) as raised:
            read_schedules(path, {"clerk": clerk()})
        assert said in str(raised.value)
