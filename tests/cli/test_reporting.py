"""`report`: what is printed, what is written to a file, and what is refused."""

import hashlib
import json
import subprocess
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]  # it has no types
import pytest

from tachograph.adapters.reports.catalogue import NAMES

from .program import PROGRAM, Call


@pytest.fixture(autouse=True)
def a_run(demo_run: str) -> str:
    """A store with the demo's run, which asks for an approval."""
    return demo_run


class TestPrinting:
    @pytest.mark.parametrize("name", NAMES)
    def test_every_report_says_what_it_stands_on(self, name: str, call: Call) -> None:
        told = call("report", name)
        assert (told.code, told.err) == (0, "")
        for part in (
            "Period",
            "Time zone",
            "Store position",
            "Rule sets",
            "Queries",
            "Checkpoint",
            "SHA-256 ",
        ):
            assert part in told.out
        assert "nothing here says that a requirement is met" in told.out

    def test_an_approval_shows_with_amount_and_grounds(self, call: Call, a_run: str) -> None:
        told = call("report", "approvals").out
        assert "amount: 175.77" in told
        assert "order_id: #LL-10412; reason_code: changed_mind" in told
        assert a_run in told

    def test_json_is_lines_that_end_with_their_digest(self, call: Call) -> None:
        told = call("report", "oversight", "--json")
        *lines, last = told.out.splitlines(keepends=True)
        assert json.loads(last)["digest"] == hashlib.sha256("".join(lines).encode()).hexdigest()
        assert told.out == call("report", "oversight", "--format", "json").out
        assert told.jsons[0]["report"] == "oversight"

    def test_the_period_the_tenant_and_the_position_narrow_it(self, call: Call) -> None:
        def asked(*words: str) -> str:
            lines = call("report", "oversight", "--json", *words).jsons
            value: str = next(line["value"] for line in lines if line.get("figure") == "asked for")
            return value

        assert asked() == "1"
        assert asked("--to", "2020-12-31") == "0"
        assert asked("--tenant", "lantern-lane") == "1"
        assert asked("--tenant", "other") == "0"
        assert asked("--position", "1") == "0"

    def test_the_list_names_them_all(self, call: Call) -> None:
        assert [line["report"] for line in call("report", "list", "--json").jsons] == list(NAMES)
        told = call("report", "list")
        assert told.code == 0
        assert all(name in told.out for name in NAMES)

    def test_a_map_says_what_is_not_covered(self, call: Call) -> None:
        told = call("report", "map", "eu-ai-act")
        assert told.code == 0
        assert told.out.count("NOT covered") == 8
        for part in ("Article 26(6)", "2 December 2027", "Requirement", "Evidence", "Comes from", "Sources"):
            assert part in told.out
        assert call("report", "map", "sox", "--json").json["clauses"][0]["id"] == "Section 302(a)(4)"

    def test_a_map_needs_no_store(self, call: Call) -> None:
        assert call("--store", "sqlite:///missing.db", "report", "map", "gdpr").code == 0


class TestFiles:
    def test_each_format_is_written_whole(self, call: Call, folder: Path) -> None:
        for form, start in (
            ("csv", b'"Report"'),
            ("json", b'{"report"'),
            ("html", b"<!doctype html>"),
            ("pdf", b"%PDF-"),
            ("parquet", b"PAR1"),
        ):
            path = folder / f"approvals.{form}"
            told = call("report", "approvals", "--format", form, "--output", str(path))
            assert (told.code, told.out) == (0, "")
            assert path.read_bytes().startswith(start)
        assert len(pypdfium2.PdfDocument(folder / "approvals.pdf")) == 1
        assert [path.name for path in folder.glob(".*")] == []

    def test_the_same_bytes_go_to_standard_output(self, folder: Path) -> None:
        done = subprocess.run(
            [*PROGRAM, "report", "access", "--format", "pdf"], capture_output=True, check=True
        )
        again = subprocess.run(
            [*PROGRAM, "report", "access", "--format", "pdf"], capture_output=True, check=True
        )
        assert done.stdout.startswith(b"%PDF-")
        assert done.stdout == again.stdout

    def test_a_reader_who_leaves_ends_it_quietly(self) -> None:
        process = subprocess.Popen(
            [*PROGRAM, "report", "approvals", "--format", "html"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate()
        assert (process.returncode, err) == (0, b"")

    def test_a_folder_that_is_not_there_cannot_be_written_to(self, call: Call) -> None:
        told = call("report", "access", "--format", "csv", "--output", "no/where.csv")
        assert told.code == 3
        assert told.err.startswith("Error: ")


class TestRefused:
    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("report", "taxes"), 2, "No such command 'taxes'"),
            (("report", "map", "basel"), 2, "There is no rule set 'basel'"),
            (("report", "oversight", "--format", "docx"), 2, "There is no format 'docx'"),
            (("report", "oversight", "--json", "--format", "csv"), 2, "exclude each other"),
            (("report", "oversight", "--section", "fast"), 2, "--section goes with"),
            (("report", "oversight", "--format", "csv", "--section", "nix"), 2, "It has: figures"),
            (("report", "oversight", "--output", "x"), 2, "--output goes with"),
            (("report", "oversight", "--format", "csv", "--output", "."), 2, "is no file"),
            (("report", "oversight", "--from", "soon"), 2, "is no day or time"),
            (
                ("report", "oversight", "--from", "2026-02-01", "--to", "2026-01-01"),
                2,
                "ends before it begins",
            ),
            (("report", "oversight", "--zone", "Nowhere/At_All"), 2, "no time zone"),
            (("report", "oversight", "--position", "99999"), 2, "the record ends at position"),
            (("report", "oversight", "--tenant", "a\nb"), 2, "tenant"),
            (("--store", "sqlite:///missing.db", "report", "oversight"), 3, "no store at"),
        ],
    )
    def test_with_a_reason_and_the_right_code(
        self, words: tuple[str, ...], code: int, said: str, call: Call
    ) -> None:
        told = call(*words)
        assert (told.code, told.out) == (code, "")
        assert said in told.err
        assert "Traceback" not in told.err


class TestSchedules:
    TABLE = """
        [[report]]
        name = "monthly"
        report = "oversight"
        cron = "0 6 1 * *"
        formats = ["json"]
        command = [{command}, "{{file}}"]
    """

    def schedule(self, folder: Path, command: str) -> None:
        words = ", ".join(json.dumps(word) for word in command.split())
        (folder / "s.toml").write_text(self.TABLE.format(command=words))

    def test_what_is_due_is_made_once_and_listed(self, call: Call, folder: Path) -> None:
        self.schedule(folder, "cat")
        told = call("report", "run", "--schedule", "s.toml", "--json")
        assert (told.code, told.json["what"], told.json["result"]) == (0, "report", "done")
        again = call("report", "run", "--schedule", "s.toml")
        assert (again.code, again.out, again.err) == (0, "", "Nothing is due.\n")
        listed = call("report", "runs", "--json").json
        assert {"what": "report", "result": "done"} | listed == told.json
        [file] = listed["files"]
        assert (listed["exit_code"], listed["tried"]) == (0, 1)
        shown = call("report", "runs").out
        for part in ("monthly", "done", file["path"], file["sha256"]):
            assert part in shown

    def test_a_command_that_fails_is_said_and_shown(self, call: Call, folder: Path) -> None:
        self.schedule(folder, "false --")
        told = call("report", "run", "--schedule", "s.toml")
        assert told.code == 3
        assert "failed: the command ended with 1; again at " in told.out
        listed = call("report", "runs")
        assert listed.code == 0
        assert "the command ended with 1" in listed.err

    def test_nothing_was_made_yet(self, call: Call) -> None:
        assert (call("report", "runs", "--json").out, call("report", "runs").code) == ("", 0)

    def test_a_worker_does_it_too(self, call: Call, folder: Path) -> None:
        self.schedule(folder, "cat")
        told = call("worker", "--schedules", "s.toml", "--until-empty", "--json")
        assert (told.code, told.json["result"]) == (0, "done")

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            ((), 2, "Missing option '--schedule'"),
            (("--schedule", "none.toml"), 3, "none.toml can't be used"),
            (("--schedule", "wrong.toml"), 3, "wrong.toml: cron: Field required"),
            (("--schedule", "s.toml", "--store", "memory:"), 2, "Nothing in memory: keeps what was made"),
            (
                ("--schedule", "s.toml", "--store", "sqlite:///missing.db"),
                3,
                "there is no store at missing.db",
            ),
        ],
    )
    def test_wrong_use_is_said_in_a_line(
        self, call: Call, folder: Path, words: tuple[str, ...], code: int, said: str
    ) -> None:
        self.schedule(folder, "cat")
        (folder / "wrong.toml").write_text('[[report]]\nname = "a"\nreport = "access"')
        told = call("report", "run", *words)
        assert (told.code, told.out) == (code, "")
        assert told.err.startswith(f"Error: {said}")
