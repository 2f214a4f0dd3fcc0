"""The log: a line of JSON for each recorded event, without content; and how long appends take."""

import asyncio
import io
import json
import logging
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from pydantic import BaseModel

from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, resume, run, tool
from tachograph.adapters.exporters.append_latency import append_latency
from tachograph.adapters.screen.log_lines import JsonFormatter, json_on_standard_error
from tachograph.domain.errors import StoreError, VersionConflict
from tachograph.domain.events import EVENT_KINDS
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.projections.log_fields import log_fields
from tachograph.tests.cli.program import PROGRAM, SCRIPT, SHOP, Call, call_program, gone
from tachograph.tests.read_side.stories import append, refund_run, run_id, started
from tachograph.tests.read_side.test_projections import SECRET, everything

Line = dict[str, Any]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    for name in ("TACHOGRAPH_STORE", "TACHOGRAPH_LOG"):
        monkeypatch.delenv(name, raising=False)
    return call_program


class Log:
    """What is logged from now on."""

    def __init__(self) -> None:
        self.written = io.StringIO()

    @property
    def lines(self) -> list[Line]:
        return [json.loads(line) for line in self.written.getvalue().split("\n")[:-1]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    log = Log()
    monkeypatch.setattr(sys, "stderr", log.written)
    with json_on_standard_error():
        yield log


class TestLines:
    def test_each_recorded_event_is_a_line(self, call: Call) -> None:
        told = call("--log", "json", "demo", "invented_amount", "--json")
        lines = [json.loads(line) for line in told.err.split("\n")[:-1]]
        recorded = call("show", told.json["run_id"], "--json").json["events"]
        of_run = [line for line in lines if line["run_id"] == told.json["run_id"]]
        assert [(line["event"], line["version"], line["recorded_at"]) for line in of_run] == [
            (event["kind"], event["version"], event["recorded_at"]) for event in recorded
        ]
        assert {line["trace_id"] for line in of_run} == {"demo-invented_amount"}
        refused = next(line for line in of_run if line["event"] == "tool_error")
        del refused["time"], refused["recorded_at"]
        assert refused == {
            "level": "info",
            "event": "tool_error",
            "run_id": told.json["run_id"],
            "trace_id": "demo-invented_amount",
            "version": 7,
            "call_key": "3.1",
            "tool": "request_refund_approval",
            "code": "unsupported_argument",
            "duration_ms": 0,
        }

    def test_the_environment_switches_it_on_and_nothing_else_does(
        self, call: Call, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert call("demo").err == ""
        monkeypatch.setenv("TACHOGRAPH_LOG", "json")
        assert call("demo").err.count("\n") == 10
        monkeypatch.setenv("TACHOGRAPH_LOG", "xml")
        told = call("demo")
        assert (told.code, told.out) == (2, "")
        assert "'xml' is not 'json'" in told.err
        monkeypatch.delenv("TACHOGRAPH_LOG")
        assert call("demo").err == ""

    def test_answers_to_approvals_are_lines_too(self, call: Call) -> None:
        asked = call("demo", "--json").json["run_id"]
        answer = ("grant", asked, "--reason", "It fits.", "--actor", "ann", "--permission", "support")
        told = call("--log", "json", "approvals", *answer)
        lines = [json.loads(line) for line in told.err.split("\n")[:-1] if line.startswith("{")]
        assert [line["event"] for line in lines] == [
            "approval_granted",
            "approval_started",
            "approval_executed",
        ]
        assert {line["trace_id"] for line in lines} == {"demo-approval_requested"}
        assert "ann" not in told.err

    def test_a_resumed_run_has_its_trace(self, store: EventStore, log: Log) -> None:
        append(store, run_id(1), [started("trace-7", agent="a")])
        before = len(log.lines)
        agent = Agent(name="a", version="1", instructions="x", terminals=(ANSWER,))
        reply = ModelReply(calls=(AskedCall("answer", '{"text": "Yes."}'),))
        asyncio.run(resume(agent, run_id(1), model=ScriptedModel([reply]), store=store))
        lines = log.lines[before:]
        assert [line["event"] for line in lines] == ["run_resumed", "model_turn", "terminal"]
        assert {line["trace_id"] for line in lines} == {"trace-7"}

    def test_an_append_that_fails_is_a_warning_and_no_event(self, store: EventStore, log: Log) -> None:
        append(store, run_id(1), refund_run())
        before = len(log.lines)
        with pytest.raises(VersionConflict):
            append(store, run_id(1), refund_run()[1:2], 3)
        [line] = log.lines[before:]
        del line["time"]
        assert line == {
            "level": "warning",
            "event": "append_failed",
            "run_id": str(run_id(1)),
            "expected_version": 3,
            "events": 1,
            "error": "VersionConflict",
        }

    def test_a_log_that_cannot_be_written_ends_nothing(self, call: Call) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*PROGRAM, "--log", "json", "demo", "--json"], stdout=subprocess.PIPE, stderr=full, timeout=60
            )
        assert done.returncode == 0
        assert json.loads(done.stdout)["outcome"] == "approval_requested"


class TestHostile:
    def test_no_text_breaks_a_line_or_reaches_the_terminal(
        self, shared_data: Path, log: Log, sqlite_url: str
    ) -> None:
        corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
        texts = [text for kind, of_kind in corpus.items() if kind != "source" for text in of_kind]
        store = open_store(sqlite_url)
        for number, text in enumerate(texts):
            name = text.encode("utf-8", "replace").decode()
            agent = Agent(
                name=name if name.strip() else "blank",
                version="1",
                instructions="x",
                tools=(fail,),
                terminals=(ANSWER,),
                model_name=name,
            )
            script = [
                ModelReply(
                    text=text.replace("{{", "{ {"),
                    calls=(AskedCall(text, "{}"), AskedCall("fail", json.dumps({"text": name}))),
                    finish_reason_raw=text,
                ),
                ModelReply(calls=(AskedCall("answer", '{"text": "."}'),)),
            ]
            context = TrustedContext(trace_id=f"t-{number}")
            asyncio.run(run(agent, text, context, model=ScriptedModel(script), store=store))
        store.close()
        lines = log.lines
        assert len([line for line in lines if line["event"] == "terminal"]) == len(texts)
        assert all(json.dumps(line).isprintable() for line in lines)
        raw = log.written.getvalue()
        assert re.fullmatch(r"[ -~\n]*", raw)
        assert raw.count("\n") == len(lines)

    def test_a_message_of_another_logger_is_a_line_as_well(self) -> None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, "two\nlines %s", ("\x1b[31m\x7f",), None)
        line = JsonFormatter().format(record)
        assert re.fullmatch(r"[ -~]*", line)
        assert json.loads(line)["event"] == "two\nlines \x1b[31m\x7f"


class TestContent:
    def test_nothing_personal_is_in_any_kind_of_line(self) -> None:
        events = everything(SECRET)
        assert {event.kind for event in events} >= EVENT_KINDS.keys() - {"agent_defined"}
        for event in events:
            assert SECRET not in json.dumps(log_fields(event))


class TestAppendLatency:
    def test_each_append_is_measured_once_and_each_failure_counted(self, store: EventStore) -> None:
        registry = CollectorRegistry()
        with append_latency(registry):
            append(store, run_id(1), refund_run())
            append(store, run_id(2), refund_run()[:1])
            with pytest.raises(StoreError):
                append(store, run_id(2), refund_run()[:1])
        append(store, run_id(3), refund_run())
        assert registry.get_sample_value("tachograph_append_seconds_count") == 2
        assert registry.get_sample_value("tachograph_appended_events_total") == 7
        failures = {"error": "VersionConflict"}
        assert registry.get_sample_value("tachograph_append_failures_total", failures) == 1
        taken = registry.get_sample_value("tachograph_append_seconds_sum")
        assert taken is not None
        assert 0 < taken < 10

    def test_a_run_can_be_scraped_while_it_works(self, call: Call, tmp_path: Path) -> None:
        (tmp_path / "shop.py").write_text(SHOP)
        (tmp_path / "slow.toml").write_text(SCRIPT.replace("TOOL", "slow_lookup"))
        words = ("--metrics", "0", "run", "shop:agent", "--input", "x", "--model", "scripted:slow.toml")
        process = subprocess.Popen(
            [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            url = re.search(r"http://\S+metrics", process.stderr.readline())
            assert url
            while not (tmp_path / "looked-up").exists():
                assert process.poll() is None
            with urllib.request.urlopen(url[0], timeout=20) as answer:
                told = answer.read().decode()
            (tmp_path / "go").touch()
            out, err = process.communicate(timeout=30)
        finally:
            gone(process)
        assert process.returncode == 0, err
        assert "tachograph_append_seconds_count 2.0" in told
        assert "It has been delivered." in out


def test_where_nobody_listens_nothing_is_written(store: EventStore, caplog: pytest.LogCaptureFixture) -> None:
    append(store, run_id(1), refund_run())
    assert caplog.records == []


class Said(BaseModel):
    """What a tool is given."""

    text: str


ANSWER = TerminalTool("answer", "Answer.", Said, "answered")


@tool(effect="once")
def fail(said: Said) -> None:
    """Fail with it."""
    raise ValueError(said.text)
