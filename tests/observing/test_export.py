"""`export otel` and `export openinference`: to a file, to an endpoint, once and again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]  # no types

from tachograph import open_store
from tachograph.domain.events import CallRequest, Event
from tachograph.tests.cli.program import PROGRAM, Call, call_program
from tachograph.tests.read_side.stories import (
    append,
    append_foreign,
    ended,
    failure,
    fill,
    refund_run,
    run_id,
    started,
    turn,
)

from .receiver import Receiver


@pytest.fixture
def call() -> Call:
    return call_program


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, whose default store holds two runs of the demo."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("OTEL_", "TACHOGRAPH_"))]:
        monkeypatch.delenv(name)
    for scenario in ("approval_requested", "invented_amount"):
        assert call_program("demo", scenario).code == 0
    return tmp_path


def spans_of(file: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        span
        for line in lines
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


class TestToAFile:
    def test_a_second_export_is_the_same_byte_for_byte(self, call: Call, store: Path) -> None:
        first = call("export", "otel", "--to", "1.jsonl")
        second = call("export", "otel", "--to", "2.jsonl", "--json")
        assert (first.code, second.code) == (0, 0)
        assert first.out == "16 spans up to position 21 in 1.jsonl. What comes later: --after 21\n"
        assert second.json == {
            "format": "otel",
            "to": "2.jsonl",
            "after": 0,
            "position": 21,
            "spans": 16,
            "unreadable": 0,
        }
        assert (store / "1.jsonl").read_bytes() == (store / "2.jsonl").read_bytes()
        assert {file.name for file in store.iterdir()} >= {"1.jsonl", "2.jsonl"}
        assert not list(store.glob(".*.jsonl*"))

    def test_portions_are_together_what_the_whole_is(self, call: Call, store: Path) -> None:
        call("export", "otel", "--to", "first.jsonl")
        position = 21
        call("demo", "handoff")
        told = call("export", "otel", "--to", "then.jsonl", "--after", str(position), "--json").json
        call("export", "otel", "--to", "all.jsonl")
        assert (told["after"], told["position"]) == (21, told["position"])
        portions = [spans_of(store / name) for name in ("first.jsonl", "then.jsonl")]
        assert portions[1]
        assert portions[0] + portions[1] == spans_of(store / "all.jsonl")
        nothing = call(
            "export", "otel", "--to", "none.jsonl", "--after", str(told["position"]), "--json"
        ).json
        assert (nothing["spans"], nothing["position"]) == (0, told["position"])

    def test_standard_output_has_the_lines_alone(self, call: Call, store: Path) -> None:
        told = call("export", "otel", "--to", "-")
        call("export", "otel", "--to", "file.jsonl")
        assert told.out == (store / "file.jsonl").read_text()
        assert told.err == "16 spans up to position 21.\n"

    def test_content_is_there_where_it_is_asked_for(self, call: Call, store: Path) -> None:
        call("export", "openinference", "--to", "plain.jsonl")
        call("export", "openinference", "--content", "--to", "content.jsonl")
        assert "Aurora" not in (store / "plain.jsonl").read_text()
        assert "Aurora headphones" in (store / "content.jsonl").read_text()

    def test_what_cannot_be_read_is_told_and_the_answer_is_no(self, call: Call, store: Path) -> None:
        opened = open_store()
        append(opened, run_id(1), refund_run()[:2])
        append_foreign(opened, "sqlite:///tachograph.db", run_id(1), 3, "from_the_future", b"{}")
        opened.close()
        told = call("export", "otel", "--to", "x.jsonl")
        assert told.code == 1
        assert told.err == "Without a span, since it can't be read: 1 event.\n"
        assert len(spans_of(store / "x.jsonl")) == 17

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("--to", "there/is/none.jsonl"), 3, "No such file or directory"),
            (("--to", "."), 2, "is no file"),
            ((), 2, "Missing option '--to'"),
            (("--to", "x", "--after", "-1"), 2, "-1"),
            (("--to", "x", "--store", "sqlite:///none.db"), 3, "there is no store at none.db"),
        ],
    )
    def test_what_cannot_be_done(
        self, call: Call, store: Path, words: tuple[str, ...], code: int, said: str
    ) -> None:
        told = call("export", "otel", *words)
        assert (told.code, told.out) == (code, "")
        assert said in told.err
        assert not (store / "x").exists()

    def test_an_empty_store_gives_an_empty_file(self, call: Call, store: Path) -> None:
        call("db", "init", "--store", "sqlite:///empty.db")
        told = call("export", "otel", "--to", "x.jsonl", "--store", "sqlite:///empty.db")
        assert (told.code, (store / "x.jsonl").read_bytes()) == (0, b"")

    def test_a_reader_that_goes_away_ends_it_without_a_word(self, store: Path) -> None:
        opened = open_store()
        fill(opened, 400)
        opened.close()
        pipe = subprocess.Popen(
            [*PROGRAM, "export", "otel", "--to", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert pipe.stdout is not None
        pipe.stdout.readline()
        pipe.stdout.close()
        assert pipe.wait(timeout=30) == 0
        assert pipe.stderr is not None
        assert pipe.stderr.read() == b""
        pipe.stderr.close()


class TestHostile:
    @pytest.mark.parametrize("form", ["otel", "openinference"])
    def test_any_text_at_any_place_arrives_and_breaks_nothing(
        self, call: Call, store: Path, shared_data: Path, form: str
    ) -> None:
        corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
        texts = [text for kind, of_kind in corpus.items() if kind != "source" for text in of_kind]
        opened = open_store("sqlite:///hostile.db")
        for number, text in enumerate(texts, start=1):
            said = text.encode("utf-8", "replace").decode()
            asked = turn(1, model_asked=said, model_answered=said, text=said, response_id=said, error=said)
            failed = failure("1.1", name=said, message=said)
            append(
                opened, run_id(number), [started(agent=said), asked, failed, ended("blocked", reason=said)]
            )
        opened.close()
        words = ("export", form, "--content", "--store", "sqlite:///hostile.db", "--to")
        with Receiver().listening() as receiver:
            assert call(*words, receiver.url).code == 0
        assert call(*words, "x.jsonl").code == 0
        assert re.fullmatch(r"[ -~\n]*", (store / "x.jsonl").read_text())
        written = spans_of(store / "x.jsonl")
        assert len(written) == len(receiver.spans) == 3 * len(texts)
        assert all(span.name.isprintable() and len(span.name) < 250 for span in receiver.spans)
        messages = {span.status.message for span in receiver.spans}
        assert messages >= {text.encode("utf-8", "replace").decode() for text in texts}

    @pytest.mark.slow
    def test_a_turn_too_large_for_a_request_is_cut_and_does_not_stop_the_export(
        self, call: Call, store: Path
    ) -> None:
        opened = open_store("sqlite:///large.db")
        calls = tuple(
            CallRequest(call_key=f"1.{number}", name="x", arguments="\u6771" * 70_000)
            for number in range(1, 1_200)
        )
        story: list[Event] = [started(), turn(1).model_copy(update={"calls": calls}), ended()]
        append(opened, run_id(1), story)
        opened.close()
        with Receiver().listening() as receiver:
            told = call("export", "otel", "--content", "--to", receiver.url, "--store", "sqlite:///large.db")
        assert told.code == 0, told.err
        assert len(receiver.spans) == 2
        assert max(map(len, receiver.bodies)) < 32_000_000


class TestToAnEndpoint:
    @pytest.mark.parametrize("form", ["otel", "openinference"])
    def test_a_collector_gets_the_same_twice_and_what_the_file_has(
        self, call: Call, store: Path, form: str
    ) -> None:
        with Receiver().listening() as one, Receiver().listening() as other:
            told = call("export", form, "--to", one.url, "--json")
            call("export", form, "--to", f"{other.url}/v1/traces")
        assert told.code == 0, told.err
        assert (told.json["spans"], told.json["position"]) == (16, 21)
        assert one.bodies == other.bodies
        assert {*one.paths, *other.paths} == {"/v1/traces"}
        call("export", form, "--to", "file.jsonl")
        written, sent = spans_of(store / "file.jsonl"), one.spans
        assert len(sent) == len(written) == 16
        for span, in_file in zip(sent, written, strict=True):
            assert span.trace_id.hex() == in_file["traceId"]
            assert span.span_id.hex() == in_file["spanId"]
            assert span.parent_span_id.hex() == in_file.get("parentSpanId", "")
            assert (span.name, span.kind, span.status.code) == (
                in_file["name"],
                in_file["kind"],
                in_file["status"]["code"],
            )
            assert str(span.start_time_unix_nano) == in_file["startTimeUnixNano"]
            assert str(span.end_time_unix_nano) == in_file["endTimeUnixNano"]
            assert [MessageToDict(each) for each in span.attributes] == in_file["attributes"]

    def test_headers_come_from_opentelemetry_s_own_settings(
        self, call: Call, store: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=secret")
        with Receiver().listening() as receiver:
            call("export", "otel", "--to", receiver.url)
        assert {headers["x-api-key"] for headers in receiver.headers} == {"secret"}

    def test_one_that_refuses_leaves_a_position_to_go_on_from(self, call: Call, store: Path) -> None:
        opened = open_store()
        fill(opened, 300)
        opened.close()
        with Receiver(refuses_from=10).listening() as receiver:
            told = call("export", "otel", "--to", receiver.url)
        assert (told.code, told.out) == (3, "")
        sent, failed = told.err.splitlines()[:2]
        assert failed.startswith(
            "Error: the endpoint did not take the spans: Failed to export spans batch code: 400"
        )
        position = sent.rpartition(" ")[2].rstrip(".")
        with Receiver().listening() as rest:
            assert call("export", "otel", "--to", rest.url, "--after", position).code == 0
        call("export", "otel", "--to", "all.jsonl")
        ids = {span.span_id.hex() for span in [*receiver.spans, *rest.spans]}
        assert 0 < int(position) < 1821
        assert ids == {span["spanId"] for span in spans_of(store / "all.jsonl")}

    def test_nobody_who_listens_could_not_be_done(
        self, call: Call, store: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
        told = call("export", "otel", "--to", "http://me:hunter2@127.0.0.1:9")
        assert (told.code, told.out) == (3, "")
        assert "the endpoint did not take the spans" in told.err
        assert "hunter2" not in told.err
        assert "Traceback" not in told.err

    def test_ctrl_c_tells_how_far_it_came(self, store: Path) -> None:
        with Receiver().listening() as receiver:
            opened = open_store()
            fill(opened, 3000)
            opened.close()
            export = subprocess.Popen(
                [*PROGRAM, "export", "otel", "--to", receiver.url], stderr=subprocess.PIPE, text=True
            )
            while len(receiver.bodies) < 5:
                assert export.poll() is None
                time.sleep(0.01)
            export.send_signal(signal.SIGINT)
            _, told = export.communicate(timeout=30)
        assert export.returncode == 130
        assert "go on with --after" in told
        assert "Interrupted." in told


def test_without_the_extra_it_says_what_to_install(
    call: Call, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    told = call("export", "otel", "--to", "http://127.0.0.1:9")
    assert (told.code, told.err) == (3, "Error: this needs more packages: pip install 'tachograph[otel]'\n")
    assert call("export", "otel", "--to", "x.jsonl").code == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read from /proc")
def test_ten_times_the_events_take_no_more_memory(store: Path) -> None:
    program = (
        "import pathlib, re, sys\n"
        "from tachograph.cli import main\n"
        "try: main()\n"
        "finally:\n"
        "    status = pathlib.Path('/proc/self/status').read_text()\n"
        "    print(re.search(r'VmHWM:\\s+(\\d+)', status)[1], file=sys.stderr)\n"
    )
    peaks = []
    for runs in (1_000, 10_000):
        url = f"sqlite:///{runs}.db"
        opened = open_store(url)
        fill(opened, runs)
        opened.close()
        words = ("export", "otel", "--to", f"{runs}.jsonl", "--store", url)
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stderr))
    assert len(spans_of(store / "10000.jsonl")) == 50_000
    assert peaks[1] - peaks[0] < 10_000, f"KiB: {peaks}"
