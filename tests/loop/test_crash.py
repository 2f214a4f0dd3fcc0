"""
The crash test: end the run at every place where it can end, resume it, and compare.

Whatever was recorded is not done again; what was under way is done again where that is harmless; a
`once` tool never acts twice.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from tachograph import open_store
from tachograph.adapters.running import resume, run
from tachograph.domain.errors import RunInDoubt, RunNotFound
from tachograph.domain.events import Event, Recorded, RunResumed, RunStarted, ToolError, ToolStarted
from tachograph.domain.ports import EventStore

from .processes import Worker, worker
from .story import NOON
from .victim import CONTEXT, KINDS, CrashingStore, FixedId, Kill, When, World

if TYPE_CHECKING:
    from tachograph.tests.conftest import PostgresServer

WHEN: tuple[When, ...] = ("before", "after")
APPENDS = [(number, when) for number in range(1, len(KINDS) + 1) for when in WHEN]
HANDLERS = [
    (tool, nth, when)
    for tool, nth in (("order_read", 1), ("order_read", 2), ("refund_preview", 1), ("money_send", 1))
    for when in WHEN
]
ONCE_STARTED = 9  # The append of tool_started of money_send; its tool_call is the next.


class Crashed(BaseException):
    """The process is gone, as far as the loop can tell."""


def crash() -> None:
    raise Crashed


class Left(NamedTuple):
    """What a run has left behind."""

    history: list[Event]
    effects: Counter[str]
    keys: set[str]


def left(store: EventStore, run_id: UUID, effects: Path) -> Left:
    entries = store.read(run_id)
    assert [entry.version for entry in entries] == list(range(1, len(entries) + 1))
    lines = effects.read_text().splitlines() if effects.exists() else []
    return Left(
        [entry.event for entry in entries if isinstance(entry, Recorded)],
        Counter(" ".join(line.split()[:2]) for line in lines),
        {" ".join(line.split()[1:3]) for line in lines if not line.startswith("model")},
    )


def comparable(history: list[Event]) -> list[Event]:
    """A history without times, owners and keys, takeovers, and repeated starts of one call."""
    result: list[Event] = []
    for event in history:
        if isinstance(event, RunResumed):
            continue
        changes: dict[str, Any] = {"recorded_at": NOON}
        for name in ("latency_ms", "duration_ms"):
            if hasattr(event, name):
                changes[name] = 0
        if isinstance(event, RunStarted):
            changes["owner"] = "owner"
        if isinstance(event, ToolStarted):
            changes["idempotency_key"] = "the run's own"
        event = event.model_copy(update=changes)
        if not (isinstance(event, ToolStarted) and result[-1] == event):
            result.append(event)
    return result


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """The run as it goes when nothing happens to it."""
    effects = tmp_path_factory.mktemp("uninterrupted") / "effects.txt"
    world, store, run_id = World(effects), open_store("memory:"), RUN_ID
    outcome = asyncio.run(
        run(
            world.agent(),
            "Refund order #W1.",
            CONTEXT,
            model=world.model(),
            store=store,
            ids=FixedId(run_id),
        )
    )
    assert outcome.outcome == "answered"
    found = left(store, run_id, effects)
    assert tuple(event.kind for event in found.history) == KINDS
    return found._replace(history=comparable(found.history))


RUN_ID = UUID("00000000-0000-7000-8000-00000000000c")


def check(found: Left, uninterrupted: Left, once_in_doubt: bool) -> None:
    """Compare a run that was ended and resumed with one that was not."""
    history = comparable(found.history)
    if once_in_doubt:
        before = uninterrupted.history[:ONCE_STARTED]
        assert history[:ONCE_STARTED] == before
        (unknown,) = history[ONCE_STARTED:]
        assert isinstance(unknown, ToolError)
        assert (unknown.call_key, unknown.code) == ("3.1", "outcome_unknown")
    else:
        assert history == uninterrupted.history
    assert sum(event.kind == "run_resumed" for event in found.history) == 1
    check_effects(found)


def check_effects(found: Left) -> None:
    """Money was sent once at most; each call acted under one key, the recorded one, however often."""
    assert found.effects["money_send 3.1"] <= 1
    assert len({key.partition(" ")[0] for key in found.keys}) == len(found.keys)
    for event in found.history:
        if isinstance(event, ToolStarted):
            acted = {key for key in found.keys if key.startswith(f"{event.call_key} ")}
            assert acted <= {f"{event.call_key} {event.idempotency_key}"}


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, sqlite: str) -> Iterator[EventStore]:
    opened = open_store("memory:" if request.param == "memory" else sqlite)
    yield opened
    opened.close()


class TestStoppingAfterEveryAppend:
    @pytest.mark.parametrize(("number", "when"), APPENDS)
    def test_the_resumed_run_has_the_same_history(
        self, store: EventStore, tmp_path: Path, uninterrupted: Left, number: int, when: When
    ) -> None:
        world, run_id = World(tmp_path / "effects.txt"), uuid4()
        ends_early = CrashingStore(store, number, when, crash)
        with pytest.raises(Crashed):
            asyncio.run(
                run(
                    world.agent(),
                    "Refund order #W1.",
                    CONTEXT,
                    model=world.model(),
                    store=ends_early,
                    ids=FixedId(run_id),
                )
            )
        again = resume(world.agent(), run_id, model=world.model(), store=store, actor="ops")
        if (number, when) == (1, "before"):
            with pytest.raises(RunNotFound):
                asyncio.run(again)
            return
        if (number, when) == (len(KINDS), "after"):
            again.close()  # It has ended; there is nothing to resume.
            found = left(store, run_id, tmp_path / "effects.txt")
            assert comparable(found.history) == uninterrupted.history
            return
        in_doubt = (number, when) in {(ONCE_STARTED, "after"), (ONCE_STARTED + 1, "before")}
        with pytest.raises(RunInDoubt) if in_doubt else nullcontext():
            asyncio.run(again)
        found = left(store, run_id, tmp_path / "effects.txt")
        check(found, uninterrupted, in_doubt)
        # A turn that was asked for and not recorded is asked for again; one that was recorded never.
        repeated = when == "before" and KINDS[number - 1] == "model_turn"
        asked = Counter({effect: n for effect, n in found.effects.items() if effect.startswith("model")})
        assert asked.total() == (3 if in_doubt else 4) + repeated

    @pytest.mark.parametrize("number", range(3, len(KINDS) + 1))
    def test_a_run_that_is_ended_and_resumed_after_each_append_gets_there_all_the_same(
        self, store: EventStore, tmp_path: Path, uninterrupted: Left, number: int
    ) -> None:
        """Every process gets that many appends: three at least, for takeover, start and result."""
        world, run_id = World(tmp_path / "effects.txt"), uuid4()
        attempts = 0
        ended = False
        while not ended:
            attempts += 1
            assert attempts <= len(KINDS) * 2
            ends_early = CrashingStore(store, number, "after", crash)
            work = (
                run(
                    world.agent(),
                    "Refund order #W1.",
                    CONTEXT,
                    model=world.model(),
                    store=ends_early,
                    ids=FixedId(run_id),
                )
                if attempts == 1
                else resume(world.agent(), run_id, model=world.model(), store=ends_early)
            )
            try:
                asyncio.run(work)
            except Crashed:
                pass
            except RunInDoubt:
                break
            ended = store.read(run_id)[-1].kind == "terminal"
        found = left(store, run_id, tmp_path / "effects.txt")
        check_effects(found)
        assert found.effects["model 1"] == found.effects["model 2"] == found.effects["model 3"] == 1


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('crash') / 'store.db'}"


@pytest.fixture(scope="module")
def postgres(postgres_server: "PostgresServer") -> str:
    return postgres_server.new_schema()


@pytest.fixture(scope="module")
def processes() -> Iterator[Worker]:
    with worker() as started:
        yield started


class TestKillingTheProcess:
    """`kill -9` in the middle, then another process that resumes."""

    def killed_and_resumed(
        self, processes: Worker, url: str, effects: Path, kill: Kill, uninterrupted: Left
    ) -> None:
        run_id = uuid4()
        job = {"url": url, "run_id": run_id, "effects": effects}
        assert processes.do(do="run", kill=kill, **job) == {"signal": 9}
        store = open_store(url)
        before = store.read(run_id)
        resumed = processes.do(do="resume", **job)
        found = left(store, run_id, effects)
        store.close()
        number, when, tool = kill.get("append"), kill["when"], kill.get("tool")
        if (number, when) == (1, "before"):
            assert (resumed, before) == ({"error": "RunNotFound"}, [])
            return
        if (number, when) == (len(KINDS), "after"):
            assert resumed == {"error": "RunClosed"}
            assert comparable(found.history) == uninterrupted.history
            return
        in_doubt = tool == "money_send" or (number, when) in {
            (ONCE_STARTED, "after"),
            (ONCE_STARTED + 1, "before"),
        }
        if in_doubt:
            assert resumed == {"error": "RunInDoubt"}
        else:
            assert resumed == {"outcome": "answered", "reason": None}
        check(found, uninterrupted, in_doubt)
        self.check_counts(found.effects, before[-1].version, kill, in_doubt)

    def check_counts(self, effects: Counter[str], recorded: int, kill: Kill, in_doubt: bool) -> None:
        """A turn is paid for once, unless the process died before it was recorded; so with effects."""
        expected = Counter({f"model {step}": 1 for step in range(1, 4 if in_doubt else 5)})
        expected += Counter({"order_read 1.1": 1, "refund_preview 2.1": 1, "order_read 2.2": 1})
        happened = {2: "model 1", 3: "order_read 1.1", 4: "model 2", 6: "refund_preview 2.1"}
        happened |= {7: "order_read 2.2", 8: "model 3", 11: "model 4"}
        if "tool" not in kill and kill["when"] == "before" and kill["append"] in happened:
            expected[happened[kill["append"]]] += 1
        if kill.get("tool") in ("order_read", "refund_preview") and kill["when"] == "after":
            expected[happened[recorded + 1]] += 1
        sent = effects.pop("money_send 3.1", 0)
        assert effects == expected
        if not in_doubt:
            assert sent == 1
        elif kill.get("tool") == "money_send":
            assert sent == (1 if kill["when"] == "after" else 0)

    @pytest.mark.case("C095")
    @pytest.mark.parametrize(("number", "when"), APPENDS)
    def test_C095_at_every_append_on_sqlite(
        self,
        processes: Worker,
        sqlite: str,
        effects_file: Path,
        uninterrupted: Left,
        number: int,
        when: When,
    ) -> None:
        kill: Kill = {"append": number, "when": when}
        self.killed_and_resumed(processes, sqlite, effects_file, kill, uninterrupted)

    @pytest.mark.case("C095")
    @pytest.mark.parametrize(("tool", "nth", "when"), HANDLERS)
    def test_C095_around_every_effect_on_sqlite(
        self,
        processes: Worker,
        sqlite: str,
        effects_file: Path,
        uninterrupted: Left,
        tool: str,
        nth: int,
        when: When,
    ) -> None:
        kill: Kill = {"tool": tool, "nth": nth, "when": when}
        self.killed_and_resumed(processes, sqlite, effects_file, kill, uninterrupted)

    @pytest.mark.case("C095")
    @pytest.mark.parametrize(
        "kill",
        [
            {"tool": "order_read", "nth": 1, "when": "after"},
            {"tool": "refund_preview", "nth": 1, "when": "after"},
            {"tool": "money_send", "nth": 1, "when": "before"},
            {"tool": "money_send", "nth": 1, "when": "after"},
            {"append": 8, "when": "before"},
            {"append": 8, "when": "after"},
            {"append": 9, "when": "before"},
            {"append": 10, "when": "after"},
        ],
        ids=str,
    )
    def test_C095_on_postgres(
        self, processes: Worker, postgres: str, effects_file: Path, uninterrupted: Left, kill: Kill
    ) -> None:
        self.killed_and_resumed(processes, postgres, effects_file, kill, uninterrupted)

    @pytest.mark.slow
    @pytest.mark.case("C095")
    def test_C095_everywhere_on_postgres(
        self, processes: Worker, postgres: str, tmp_path: Path, uninterrupted: Left
    ) -> None:
        kills = [Kill(append=number, when=when) for number, when in APPENDS]
        kills += [Kill(tool=tool, nth=nth, when=when) for tool, nth, when in HANDLERS]
        for place, kill in enumerate(kills):
            effects = tmp_path / f"effects {place}.txt"
            self.killed_and_resumed(processes, postgres, effects, kill, uninterrupted)

    @pytest.mark.case("C095")
    @pytest.mark.parametrize("second", [1, 2])
    def test_C095_the_process_that_resumes_is_killed_too(
        self, processes: Worker, sqlite: str, effects_file: Path, uninterrupted: Left, second: int
    ) -> None:
        """Killed with the once call under way, then again right after the takeover or the verdict."""
        job = {"url": sqlite, "run_id": uuid4(), "effects": effects_file}
        died = {"signal": 9}
        assert processes.do(do="run", kill={"tool": "money_send", "when": "after"}, **job) == died
        assert processes.do(do="resume", kill={"append": second, "when": "after"}, **job) == died
        assert processes.do(do="resume", **job) == {"error": "RunInDoubt"}
        store = open_store(sqlite)
        found = left(store, job["run_id"], effects_file)  # type: ignore[arg-type]  # a run id
        store.close()
        assert found.effects["money_send 3.1"] == 1
        assert comparable(found.history)[:ONCE_STARTED] == uninterrupted.history[:ONCE_STARTED]
        codes = [event.code for event in found.history if isinstance(event, ToolError)]
        assert codes == ["outcome_unknown"]
