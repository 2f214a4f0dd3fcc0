"""The record as files: given a store, when it is exported, then each event once, whatever comes between."""

import csv
import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ocsf.v1_7_0.events import ApiActivity, DetectionFinding
from prov.model import ProvDocument

from tachograph import open_store
from tachograph.adapters.exporters.csv_file import csv_line, safe_cell
from tachograph.adapters.record_files import exporting
from tachograph.adapters.record_files.checking import checked
from tachograph.adapters.record_files.columns import COLUMNS, row_of
from tachograph.adapters.record_files.exporting import FORMATS, export_record
from tachograph.adapters.record_files.querying import answered
from tachograph.adapters.record_files.reading import LogReader
from tachograph.domain.codec import encode
from tachograph.domain.errors import ExportRefused, QueryRefused
from tachograph.domain.events import ModelTurn, Recorded
from tachograph.domain.ports import EventStore
from tachograph.tests.cli.program import PROGRAM, call_program
from tachograph.tests.reports.generated import fill
from tachograph.tests.test_readme import ROOT


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def data(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("_"))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "RANGE", 100)


@pytest.mark.usefixtures("small_ranges")
def test_json_lines_hold_every_event_as_it_is(store: EventStore, tmp_path: Path) -> None:
    fill(store, 20)
    did = export_record(store, "jsonl", tmp_path / "out")
    found = [json.loads(line) for path in data(tmp_path / "out") for line in lines(path)]
    entries = store.read_log(limit=10_000)
    assert did.files == len(data(tmp_path / "out")) > 1
    assert [(line["position"], line["run_id"], line["version"], line["kind"]) for line in found] == [
        (entry.position, str(entry.run_id), entry.version, entry.kind) for entry in entries
    ]
    assert [line["event"] for line in found] == [
        json.loads(encode(entry.event)) for entry in entries if isinstance(entry, Recorded)
    ]


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_new_comes_in_files_of_its_own_and_once(form: str, tmp_path: Path) -> None:
    store, out = open_store(f"sqlite:///{tmp_path / 's.db'}"), tmp_path / "out"
    fill(store, 20)
    first = export_record(store, form, out)
    before = files(out)
    assert export_record(store, form, out).events == 0
    fill(store, 5, first=21)
    second = export_record(store, form, out)
    after = files(out)
    store.close()
    assert {name: after[name] for name in before if not name.startswith("_")} == {
        name: content for name, content in before.items() if not name.startswith("_")
    }
    assert first.events + second.events == second.events_in_all
    assert second.after == first.position
    assert all(file.wrong is None for file in checked(out))


def test_columns_agree_between_csv_parquet_and_an_independent_sum(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 30)
    entries = [entry for entry in store.read_log(limit=10_000) if isinstance(entry, Recorded)]
    tokens = sum(entry.event.usage.tokens_in for entry in entries if isinstance(entry.event, ModelTurn))
    for form in ("csv", "parquet"):
        export_record(store, form, tmp_path / form)
    store.close()
    rows = [row for path in data(tmp_path / "csv") for row in csv.DictReader(lines(path))]
    with duckdb.connect() as connection:
        in_place = connection.execute(
            f"SELECT count(*), sum(tokens_in), count(DISTINCT month) FROM '{tmp_path}/parquet/*/*.parquet'"
        ).fetchall()
    query = "SELECT count(*), sum(tokens_in), max(recorded_at) FROM events"
    with answered(tmp_path / "parquet", query) as (_, found):
        [(count, total, _)] = list(found)
    assert len(rows) == count == in_place[0][0] == len(entries)
    assert sum(int(row["tokens_in"] or 0) for row in rows) == total == in_place[0][1] == tokens
    assert [json.loads(row["event"])["recorded_at"] for row in rows[:1]] == ["2026-07-01T08:13:00Z"]


def test_ocsf_is_what_its_models_take_and_names_nothing_that_they_do_not_know(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 60)
    export_record(store, "ocsf", tmp_path / "out")
    store.close()
    kinds: dict[int, type[Any]] = {6003: ApiActivity, 2004: DetectionFinding}
    classes = set()
    for path in data(tmp_path / "out"):
        for line in lines(path):
            found = json.loads(line)
            classes.add(found["class_uid"])
            model = kinds[found["class_uid"]]
            model.model_validate(found)
            assert set(found) <= set(model.model_fields)
    assert classes == {6003, 2004}


def test_prov_is_read_by_its_library(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 5)
    export_record(store, "prov", tmp_path / "out")
    store.close()
    documents = [
        ProvDocument.deserialize(content=line) for path in data(tmp_path / "out") for line in lines(path)
    ]
    assert documents
    assert all(list(document.get_records()) for document in documents)


def test_an_export_of_one_tenant_holds_nothing_of_another(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 30)
    tenants = {
        json.loads(encode(entry.event))["context"]["tenant"]
        for entry in store.read_log(limit=10_000)
        if isinstance(entry, Recorded) and entry.kind == "run_started"
    }
    export_record(store, "jsonl", tmp_path / "all")
    everything = [line for path in data(tmp_path / "all") for line in lines(path)]
    counts = []
    for tenant in sorted(tenants):
        export_record(store, "jsonl", tmp_path / tenant, tenant=tenant)
        own = [json.loads(line) for path in data(tmp_path / tenant) for line in lines(path)]
        assert {line["tenant"] for line in own} == {tenant}
        counts.append(len(own))
    store.close()
    assert len(counts) > 1
    assert sum(counts) == len(everything)


@pytest.mark.parametrize("change", ["format", "tenant", "after", "store", "foreign"])
def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path, change: str) -> None:
    store, out = open_store(f"sqlite:///{tmp_path / 's.db'}"), tmp_path / "out"
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    fill(store, 2)
    fill(other, 2, first=7)
    if change == "foreign":
        out.mkdir()
        (out / "letter.txt").write_text("Dear Ana")
    else:
        export_record(store, "jsonl", out)
    before = files(out)
    with pytest.raises(ExportRefused):
        export_record(
            other if change == "store" else store,
            "csv" if change == "format" else "jsonl",
            out,
            after=3 if change == "after" else None,
            tenant="acme" if change == "tenant" else None,
        )
    store.close()
    other.close()
    assert files(out) == before


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_export_cut_off_at_any_line_of_its_manifest_comes_out_the_same(form: str, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 20)
    export_record(store, form, tmp_path / "whole")
    whole = files(tmp_path / "whole")
    noted = whole["_manifest.jsonl"].splitlines(keepends=True)
    for kept in range(1, len(noted)):
        out = tmp_path / f"cut-{kept}"
        out.mkdir()
        torn = noted[kept][: len(noted[kept]) // 2]
        (out / "_manifest.jsonl").write_bytes(b"".join(noted[:kept]) + torn)
        for name in whole:
            if f'"{name}"'.encode() in b"".join(noted[:kept]):
                (out / name).parent.mkdir(exist_ok=True)
                (out / name).write_bytes(whole[name])
        export_record(store, form, out)
        assert files(out) == whole
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_killed_export_goes_on_and_gives_the_same_files(form: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    store = open_store(url)
    fill(store, 12_000)
    export_record(store, form, tmp_path / "whole")
    store.close()
    out, kills = tmp_path / "out", 0
    command = [*PROGRAM, "--store", url, "export", form, "--to", str(out)]
    for wait in (0.8, 1.1, 1.4, 1.8, 2.3, 60.0):
        running = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            running.wait(wait)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            kills += 1
            time.sleep(0.1)
    assert kills
    assert files(out) == files(tmp_path / "whole")


def test_an_edited_a_missing_and_a_foreign_file_are_found(tmp_path: Path) -> None:
    store, out = open_store(f"sqlite:///{tmp_path / 's.db'}"), tmp_path / "out"
    fill(store, 3)
    export_record(store, "jsonl", out)
    fill(store, 3, first=4)
    export_record(store, "jsonl", out)
    store.close()
    edited, missing = data(out)
    edited.write_bytes(edited.read_bytes().replace(b"1", b"2", 1))
    missing.unlink()
    (out / "more.jsonl").write_text("{}")
    assert {file.name: bool(file.wrong) for file in checked(out)} == {
        edited.name: True,
        missing.name: True,
        "more.jsonl": True,
    }


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY events TO '/tmp/stolen.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELEC 1",
        "COPY events TO '{folder}/_manifest.jsonl'",
        "EXPLAIN ANALYZE COPY events TO '{folder}/_manifest.jsonl'",
        "SELECT 1; COPY events TO '{folder}/_manifest.jsonl'",
        "SELECT * FROM query('COPY events TO ''{folder}/_manifest.jsonl''')",
        "CREATE TABLE stolen AS SELECT * FROM events",
        "",
    ],
)
def test_a_query_reads_the_export_and_nothing_else(query: str, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 2)
    export_record(store, "parquet", tmp_path / "out")
    store.close()
    before = files(tmp_path / "out")
    asked = query.format(folder=tmp_path / "out")
    with pytest.raises(QueryRefused), answered(tmp_path / "out", asked) as (_, rows):
        list(rows)
    assert files(tmp_path / "out") == before


def test_rows_have_their_values_in_the_order_of_the_columns(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    fill(store, 60)
    placed = list(LogReader(store).between(0, store.head()))
    store.close()
    for each in placed:
        row, event = dict(zip(COLUMNS, row_of(each), strict=True)), json.loads(each.json or "")
        assert (row["position"], row["kind"]) == (each.entry.position, each.entry.kind)
        for name in {"step", "outcome", "duration_ms", "code"} & event.keys():
            assert row[name] == event[name]


@given(st.lists(st.none() | st.integers() | st.text(), min_size=1))
def test_a_line_of_csv_is_read_again_as_its_cells(cells: list[str | int | None]) -> None:
    [read] = csv.reader([csv_line(cells)])
    assert read == [safe_cell(cell) for cell in cells]


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call: Callable[..., Any] = call_program
    assert call("demo").code == 0
    assert "11 events up to position 11" in call("export", "parquet", "--to", "out").out
    assert "Nothing new" in call("export", "parquet", "--to", "out").out
    assert call("export", "check", "out").code == 0
    counted = call("sql", "--over", "out", "SELECT count(*) AS n FROM events", "--json")
    assert counted.json == {"n": 11}
    assert call("sql", "--over", "out", "SELEC").code == 2
    assert call("export", "check", "nowhere").code == 3
    assert call("--store", "sqlite:///none.db", "export", "csv", "--to", "x").code == 3


def test_every_command_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    commands = page.split("```sh\n")[1].split("```")[0].splitlines()
    for command in commands:
        result = call_program(*shlex.split(command, comments=True)[1:])
        assert (result.code, bool(result.out)) == (0, True), command
    assert ", ".join(COLUMNS) in " ".join(page.split()).replace(" (billionths of a USD)", "").replace(
        " (JSON)", ""
    )
