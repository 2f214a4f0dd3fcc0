"""Reports on a schedule: each due time once, whoever does it, and whoever is killed."""

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tachograph.adapters.exporters.report_file import FORMS, written
from tachograph.adapters.ownership import SILENT_AFTER
from tachograph.adapters.read_side.opening import database_of
from tachograph.adapters.reports.making import make_report
from tachograph.adapters.workers.report_notes import ReportNotes
from tachograph.adapters.workers.report_rounds import Reported, Rounds
from tachograph.adapters.workers.report_runs import TRIES_MAX, Note, ReportRun
from tachograph.adapters.workers.report_schedules import ReportSchedule, read_reports
from tachograph.adapters.workers.schedule_file import InvalidSchedule
from tachograph.adapters.world import SystemIds
from tachograph.domain.errors import StoreError
from tachograph.domain.ports import EventStore
from tachograph.tests.reports.generated import fill

MONTHLY = ReportSchedule(
    name="oversight-monthly",
    report="oversight",
    cron="0 6 1 * *",
    zone="Europe/Vienna",
    period="last month",
    formats=("json", "csv"),
    directory=Path("nowhere"),
)
AUGUST = datetime(2026, 8, 1, 4, tzinfo=UTC)
NAMES = ["oversight-monthly_2026-08-01T0400Z.csv", "oversight-monthly_2026-08-01T0400Z.json"]
ELSEWHERE = "elsewhere:1:0badcafe"


class ClockAt:
    """A clock that stands."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0


class Killed(BaseException):
    """A worker was killed."""


class Fragile(ReportNotes):
    """The notes of a worker that is killed at one of them: just before it is stored, or just after."""

    def __init__(self, notes: ReportNotes, at: int, *, stored: bool) -> None:
        super().__init__(notes._database)
        self._left = at
        self._stored = stored

    def add(self, schedule: str, due_at: datetime, number: int, note: Note) -> bool:
        self._left -= 1
        if self._left > 0:
            return super().add(schedule, due_at, number, note)
        if self._stored:
            super().add(schedule, due_at, number, note)
        raise Killed


@dataclass
class Desk:
    """A store with refund runs of July, a folder, and workers that make reports of it."""

    store: EventStore
    folder: Path
    clock: ClockAt = field(default_factory=lambda: ClockAt(AUGUST + timedelta(minutes=5)))
    told: list[Reported] = field(default_factory=list)

    def schedule(self, **more: Any) -> ReportSchedule:
        return MONTHLY.model_copy(update={"directory": self.folder} | more)

    def worker(self, *schedules: ReportSchedule, owner: str | None = None) -> Rounds:
        owner = owner or SystemIds().owner()
        return Rounds(schedules or (self.schedule(),), self.store, self.told.append, self.clock, owner)

    def works(self, *schedules: ReportSchedule, **more: Any) -> list[str]:
        """Let a new worker do what is due, and return how each due time came out."""
        before = len(self.told)
        asyncio.run(self.worker(*schedules, **more).once())
        return [reported.result for reported in self.told[before:]]

    def dies(self, at: int, *, stored: bool, **more: Any) -> None:
        """Let a worker be killed at its note number `at`."""
        worker = self.worker(self.schedule(**more))
        worker._notes.create()
        worker._notes = Fragile(worker._notes, at, stored=stored)
        with suppress(Killed):
            asyncio.run(worker.once())

    @property
    def runs(self) -> list[ReportRun]:
        return ReportNotes(database_of(self.store)).all()

    @property
    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


@pytest.fixture
def desk(database: EventStore, tmp_path: Path) -> Desk:
    fill(database, 20)
    folder = tmp_path / "reports"
    folder.mkdir()
    return Desk(database, folder)


def python(program: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program, *words, "{file}")


class TestOnce:
    def test_a_due_time_is_done_once_and_the_next_one_again(self, desk: Desk) -> None:
        assert [desk.works(), desk.works()] == [["done"], []]
        desk.clock.at = AUGUST + timedelta(days=31)
        assert [desk.works(), desk.works()] == [["done"], []]
        assert [(run.due_at, run.status, run.tried) for run in desk.runs] == [
            (AUGUST, "done", 1),
            (AUGUST + timedelta(days=31), "done", 1),
        ]

    def test_the_files_are_what_report_makes_of_that_period_and_position(self, desk: Desk) -> None:
        desk.works()
        [run] = desk.runs
        fill(desk.store, 5, first=21)
        by_hand = make_report(
            desk.store,
            "oversight",
            since="2026-07-01",
            until="2026-07-31",
            zone="Europe/Vienna",
            position=run.asked.position,
        )
        assert desk.files == {name: written(by_hand, name.rpartition(".")[2]) for name in NAMES}
        assert run.digest == by_hand.digest
        assert (run.asked.since, run.asked.until) == (
            "2026-06-30T22:00:00.000000Z",
            "2026-07-31T22:00:00.000000Z",
        )

    def test_of_several_that_were_missed_the_last_one_is_made(self, desk: Desk) -> None:
        desk.works()
        desk.clock.at = datetime(2026, 12, 24, tzinfo=UTC)
        assert desk.works() == ["done"]
        assert [f"{run.due_at:%m-%d}" for run in desk.runs] == ["08-01", "12-01"]

    def test_a_cron_that_is_changed_makes_no_time_that_is_past(self, desk: Desk) -> None:
        desk.works()
        assert desk.works(desk.schedule(cron="0 7 1 * *")) == []

    def test_two_schedules_don_t_know_of_each_other(self, desk: Desk) -> None:
        other = desk.schedule(name="weekly", report="incidents", period="last week", formats=("html",))
        assert desk.works(desk.schedule(), other) == ["done", "done"]
        assert len(desk.files) == 3

    def test_without_a_period_it_is_of_the_whole_record(self, desk: Desk) -> None:
        desk.works(desk.schedule(report="completeness", period=None, tenant="shop-eu", formats=FORMS))
        [run] = desk.runs
        assert (run.status, run.asked.since, run.asked.until, len(run.files)) == ("done", None, None, 5)

    def test_an_empty_store_has_reports_too(self, database: EventStore, tmp_path: Path) -> None:
        desk = Desk(database, tmp_path)
        assert desk.works(desk.schedule(formats=FORMS)) == ["done"]
        assert desk.runs[0].asked.position == 0


class TestKilled:
    @pytest.mark.parametrize("stored", [False, True])
    @pytest.mark.parametrize("at", [1, 2, 3])
    def test_at_any_note_the_next_worker_gives_the_same_files(
        self, desk: Desk, at: int, stored: bool
    ) -> None:
        desk.dies(at, stored=stored)
        there = desk.files
        assert len(there) == (2 if at > 1 else 0)
        fill(desk.store, 5, first=21)
        assert desk.works() == ([] if (at, stored) == (3, True) else ["done"])
        assert desk.works() == []
        [run] = desk.runs
        assert (run.status, list(desk.files)) == ("done", NAMES)
        assert {**desk.files, **there} == desk.files
        if at > 1 or stored:
            assert run.asked.position < desk.store.head()

    def test_what_a_killed_process_was_writing_is_cleared_away(self, desk: Desk) -> None:
        desk.dies(1, stored=True)
        (desk.folder / f".{NAMES[0]}.99").write_bytes(b"half")
        desk.works()
        assert list(desk.files) == NAMES

    def test_a_time_that_was_begun_is_finished_though_the_next_one_is_due(self, desk: Desk) -> None:
        desk.dies(2, stored=False)
        desk.clock.at = AUGUST + timedelta(days=31)
        assert desk.works() == ["done", "done"]

    def test_a_worker_that_is_killed_each_time_does_not_go_on_for_ever(self, desk: Desk) -> None:
        for _ in range(TRIES_MAX):
            desk.dies(1, stored=True)
        assert [desk.works(), desk.works()] == [["given_up"], []]
        [run] = desk.runs
        assert (run.status, run.tried, run.reason) == (
            "given_up",
            TRIES_MAX,
            "each process that made it ended",
        )

    def test_one_of_another_host_is_given_time(self, desk: Desk) -> None:
        worker = desk.worker(owner=ELSEWHERE)
        worker._notes.create()
        worker._notes = Fragile(worker._notes, 1, stored=True)
        with suppress(Killed):
            asyncio.run(worker.once())
        assert desk.works() == []
        desk.clock.at += SILENT_AFTER + timedelta(seconds=1)
        assert desk.works() == ["done"]

    def test_one_that_comes_back_after_it_was_taken_over_changes_nothing(self, desk: Desk) -> None:
        """The frozen worker notes nothing and calls nothing any more."""
        called = desk.folder.parent / "called"
        command = python("import sys; open(sys.argv[1], 'a').write('x')", str(called))
        frozen = desk.worker(desk.schedule(command=command), owner=ELSEWHERE)

        class Freezing(ReportNotes):
            def add(self, schedule: str, due_at: datetime, number: int, note: Note) -> bool:
                if number == 2:
                    desk.clock.at += SILENT_AFTER + timedelta(seconds=1)
                    assert desk.works(desk.schedule(command=command)) == ["done"]
                return super().add(schedule, due_at, number, note)

        frozen._notes = Freezing(frozen._notes._database)
        asyncio.run(frozen.once())
        assert [reported.result for reported in desk.told] == ["done", "taken_over"]
        assert called.read_text() == "x"
        assert [run.status for run in desk.runs] == ["done"]


class TestFiles:
    def test_another_file_of_that_name_is_never_written_over(self, desk: Desk) -> None:
        (desk.folder / NAMES[0]).write_bytes(b"mine")
        assert desk.works() == ["failed"]
        [run] = desk.runs
        assert run.reason is not None
        assert "is another file" in run.reason
        assert desk.files[NAMES[0]] == b"mine"

    def test_a_folder_that_went_away_is_a_try_that_failed(self, desk: Desk) -> None:
        desk.folder.rmdir()
        assert desk.works() == ["failed"]
        assert desk.works() == []
        desk.folder.mkdir()
        desk.clock.at += timedelta(seconds=6)
        assert desk.works() == ["done"]

    def test_a_report_that_can_t_be_made_stops_no_other(self, desk: Desk) -> None:
        wrong = desk.schedule(name="wrong", section="nix", formats=("csv",))
        assert desk.works(wrong, desk.schedule()) == ["failed", "done"]


class TestCommand:
    def test_it_is_given_all_files_without_a_shell(self, desk: Desk) -> None:
        listed = desk.folder / "listed"
        command = python(
            "import sys; open(sys.argv[1], 'w').write(repr(sys.argv[2:]))", str(listed), "$(id); *"
        )
        assert desk.works(desk.schedule(command=command)) == ["done"]
        paths = [str(desk.folder / name) for name in reversed(NAMES)]
        assert listed.read_text() == repr(["$(id); *", *paths])
        assert desk.runs[0].exit_code == 0

    def test_without_a_directory_the_files_are_gone_afterwards(self, desk: Desk) -> None:
        kept = desk.folder / "kept"
        copy = "import sys; open(sys.argv[1], 'w').write(sys.argv[2] + '\\n' + open(sys.argv[2]).read())"
        command = python(copy, str(kept))
        assert desk.works(desk.schedule(directory=None, command=command, formats=("json",))) == ["done"]
        path, _, content = kept.read_text().partition("\n")
        [file] = desk.runs[0].files
        assert (Path(path).name, Path(path).exists()) == (file.path, False)
        assert len(content) == file.bytes

    def test_one_that_fails_is_tried_again_a_limited_number_of_times(self, desk: Desk) -> None:
        schedule = desk.schedule(command=python("raise SystemExit(7)"))
        results = []
        for _ in range(TRIES_MAX + 2):
            results += desk.works(schedule)
            assert desk.works(schedule) == []
            desk.clock.at += timedelta(minutes=11)
        assert results == ["failed"] * (TRIES_MAX - 1) + ["given_up"]
        [run] = desk.runs
        assert (run.exit_code, run.tried, list(desk.files)) == (7, TRIES_MAX, NAMES)
        assert run.reason == "the command ended with 7"

    def test_one_that_works_the_second_time_is_done(self, desk: Desk) -> None:
        once = "import os, sys; path = sys.argv[1]; os.path.exists(path) or (open(path, 'w'), sys.exit(3))"
        schedule = desk.schedule(command=python(once, str(desk.folder.parent / "tried")))
        assert desk.works(schedule) == ["failed"]
        desk.clock.at += timedelta(seconds=6)
        assert desk.works(schedule) == ["done"]
        assert [(run.exit_code, run.reason, run.tried) for run in desk.runs] == [(0, None, 2)]

    def test_one_that_is_not_there_or_is_killed_failed(self, desk: Desk) -> None:
        missing = desk.schedule(name="missing", command=("/no/such/program", "{file}"))
        killed = desk.schedule(name="killed", command=python("import os; os.kill(os.getpid(), 9)"))
        assert desk.works(missing, killed) == ["failed", "failed"]
        reasons = {run.schedule: (run.exit_code, run.reason) for run in desk.runs}
        assert reasons["killed"] == (-9, "the command ended with -9")
        assert "FileNotFoundError" in str(reasons["missing"][1])

    def test_with_its_worker_it_ends_too(self, desk: Desk) -> None:
        started = desk.folder.parent / "started"
        sleeps = "import sys, time; open(sys.argv[1], 'w'); time.sleep(60); open(sys.argv[1] + '2', 'w')"
        worker = desk.worker(desk.schedule(command=python(sleeps, str(started))))

        async def stopped() -> None:
            task = asyncio.create_task(worker.once())
            while not started.exists():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(stopped())
        assert [run.status for run in desk.runs] == ["under_way"]
        assert desk.works() == ["done"]


class TestNotes:
    def test_a_row_that_is_none_of_ours_is_said_to_be_so(self, desk: Desk) -> None:
        desk.works()
        database = database_of(desk.store)
        with database.recording() as transaction:
            transaction.execute("INSERT INTO report_notes VALUES ('x', '2026-01-01T00:00:00Z', 1, '[]')")
        with pytest.raises(StoreError, match="is unreadable"):
            _ = desk.runs
        with database.recording() as transaction:
            transaction.execute("UPDATE report_notes SET number = 2 WHERE schedule = 'x'")
        with pytest.raises(StoreError, match="are missing"):
            _ = desk.runs

    def test_before_any_schedule_was_run_there_is_nothing_to_list(self, database: EventStore) -> None:
        assert ReportNotes(database_of(database)).all() == []


GOOD = """
[[report]]
name = "a"
report = "oversight"
cron = "0 6 1 * *"
formats = ["csv"]
directory = "."
"""


class TestFile:
    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            (("", ""), None),
            (('"a"', '"../a"'), "name: String should match"),
            (('"a"', '".a"'), "name: String should match"),
            (('"a"', '"a\\nb"'), "name: "),
            (('"a"', '""'), "name: "),
            (("oversight", "taxes"), "there is no report 'taxes'"),
            (("0 6 1 * *", "monthly"), "cron: Value error, not the five fields"),
            (("0 6 1 * *", "0 6 31 2 *"), "no such time ever comes"),
            (("csv", "docx"), "formats.0: Input should be"),
            (('["csv"]', '["csv", "csv"]'), "a format is named twice"),
            (('["csv"]', "[]"), "formats: "),
            (('directory = "."', ""), "it goes nowhere"),
            (('directory = "."', 'directory = "none"'), "there is no folder none"),
            (('directory = "."', 'command = ["mail"]'), "command: "),
            (('directory = "."', 'command = ["mail", "a{file}"]'), "must have the word {file} once"),
            (('directory = "."', 'command = ["{file}", "x"]'), "must have the word {file} once"),
            (('directory = "."', 'command = ["mail", "{file}", "\\u0000"]'), "no program takes a NUL"),
            (('directory = "."', 'directory = "."\nsection = "nix"'), "no such section; there are: figures"),
            (('["csv"]', '["html"]\nsection = "figures"'), "a section goes with"),
            (('directory = "."', 'directory = "."\nzone = "Nowhere/At"'), "no time zone 'Nowhere/At'"),
            (('directory = "."', 'directory = "."\nzone = "../UTC"'), "no time zone"),
            (('directory = "."', 'directory = "."\nperiod = "last hour"'), "period: Input should be"),
            (('directory = "."', 'directory = "."\ntenant = "a\\nb"'), "tenant: "),
            (('directory = "."', 'directory = "."\nevery = 1'), "every: Extra inputs"),
        ],
    )
    def test_a_wrong_one_says_what_is_wrong(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: tuple[str, str], said: str | None
    ) -> None:
        monkeypatch.chdir(tmp_path)
        path = Path("s.toml")
        path.write_text(GOOD.replace(*wrong) if wrong[0] else GOOD)
        if said is None:
            assert [schedule.name for schedule in read_reports(path)] == ["a"]
            return
        with pytest.raises(InvalidSchedule) as raised:
            read_reports(path)
        assert said in str(raised.value)

    def test_a_doubled_name_and_a_huge_or_deep_file_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "s.toml"
        for text, said in (
            (GOOD * 2, "two reports are named a"),
            (f"#{'x' * 1_000_000}", "larger than"),
            (f"report = {'[' * 100_000}", "can't be used"),
        ):
            path.write_text(text)
            with pytest.raises(InvalidSchedule, match=said):
                read_reports(path)
