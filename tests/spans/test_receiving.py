"""The receiver as a process of its own, and OpenTelemetry's own exporter as its client."""

import gzip
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tachograph import open_store
from tachograph.adapters.receiving.requests import JSON, PROTOBUF, ReceivedSpan
from tachograph.adapters.receiving.spool import Spool, SpoolFull
from tachograph.domain.events import ModelTurn, Recorded
from tachograph.tests.spans.writing import TRACE, agent, chat, file_of, span, text

PROGRAM = [sys.executable, "-c", "from tachograph.cli import main; main()", "receive", "--port", "0"]
LOOP = [
    span(1, said=agent("shop")),
    span(2, 1, said=chat([text("user", "Hello")], text("assistant", "Hi"))),
]


class Process:
    """A receiver under way."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        assert said.startswith("Spans are received on http://127.0.0.1:"), said
        self.port = int(said.split(":")[2].split("/")[0])

    def post(self, body: bytes, **headers: str) -> tuple[int, bytes]:
        named = {"Content-Type": JSON} | {name.replace("_", "-"): each for name, each in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("POST", "/v1/traces", body, named)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    begun: list[Process] = []

    def starting(*words: str) -> Process:
        begun.append(Process(tmp_path, *words))
        return begun[-1]

    yield starting
    for each in begun:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


def texts(folder: Path) -> list[str | None]:
    store = open_store(f"sqlite:///{folder / 'tachograph.db'}")
    entries = [entry.event for entry in store.read_log() if isinstance(entry, Recorded)]
    store.close()
    return [event.text for event in entries if isinstance(event, ModelTurn)]


def export(port: int, compression: Compression, said: str) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(f"http://127.0.0.1:{port}/v1/traces", compression=compression)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("run", attributes=agent("shop")):
        attributes = chat([text("user", "Hello")], text("assistant", said))
        with tracer.start_as_current_span("chat", attributes=attributes):
            pass
    provider.shutdown()


def test_what_opentelemetry_exports_is_imported_once_its_trace_is_quiet(start: Start, tmp_path: Path) -> None:
    """Both ways to pack it, from two threads at once."""
    receiver = start("--idle", "0.2", "--json")
    threads = [
        threading.Thread(target=export, args=(receiver.port, compression, compression.value))
        for compression in (Compression.NoCompression, Compression.Gzip)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert receiver.process.stdout is not None
    lines = [json.loads(receiver.process.stdout.readline()) for _ in threads]
    assert {(line["format"], line["runs_added"], line["events_added"]) for line in lines} == {("otel", 1, 3)}
    assert receiver.end()[0] == 0
    assert sorted(map(str, texts(tmp_path))) == ["gzip", "none"]
    assert list((tmp_path / "tachograph.spool").iterdir()) == []


def test_what_was_acknowledged_outlives_a_kill(start: Start, tmp_path: Path) -> None:
    killed = start("--idle", "3600")
    assert killed.post(file_of(LOOP[1]))[0] == 200
    killed.end(signal.SIGKILL)
    [file] = (tmp_path / "tachograph.spool").iterdir()
    with file.open("ab") as spool:
        spool.write(b'{"resourceSpans":[{"sco')  # As a crash in the middle of a write leaves it.
    again = start("--idle", "3600")
    assert again.post(file_of(LOOP[0]))[0] == 200
    assert again.post(file_of(LOOP[1]))[0] == 200, "sent again, and counted once"
    code, out, _ = again.end()
    assert (code, texts(tmp_path)) == (0, ["Hi"])
    assert out == f"trace {TRACE}: 1 runs, 3 events\n"


def test_each_request_gets_the_answer_of_the_protocol(start: Start, tmp_path: Path) -> None:
    receiver = start("--idle", "3600")
    body = file_of(*LOOP)
    assert receiver.post(body) == (200, b"{}")
    assert receiver.post(gzip.compress(body), Content_Encoding="gzip") == (200, b"{}")
    assert receiver.post(b"", Content_Type=PROTOBUF) == (
        200,
        ExportTraceServiceResponse().SerializeToString(),
    )
    status, answer = receiver.post(file_of(span(3, traceId="xyz"), span(4)))
    partial = json.loads(answer)["partialSuccess"]
    assert (status, partial["rejectedSpans"]) == (200, "1")
    assert "traceId must be 32 hexadecimal digits" in partial["errorMessage"]
    bad = [
        receiver.post(b"{}x"),
        receiver.post(b"\xff\xff", Content_Type=PROTOBUF),
        receiver.post(b"no gzip", Content_Encoding="gzip"),
        receiver.post(gzip.compress(bytes(64_000_001)), Content_Encoding="gzip"),
        receiver.post(body, Content_Encoding="br"),
        receiver.post(body, Content_Type="text/plain"),
        receiver.post(b"", Content_Length="17000000"),
        receiver.post(b"", Transfer_Encoding="chunked"),
    ]
    assert [status for status, _ in bad] == [400, 400, 400, 413, 415, 415, 413, 411]
    assert json.loads(bad[0][1])["message"].startswith("request: not JSON")
    assert receiver.end()[0] == 0


def test_a_client_that_says_nothing_keeps_nobody_waiting(start: Start) -> None:
    receiver = start("--idle", "3600")
    silent = [socket.create_connection(("127.0.0.1", receiver.port)) for _ in range(20)]
    silent[0].sendall(
        b"POST /v1/traces HTTP/1.1\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{"
    )
    began = time.monotonic()
    assert receiver.post(file_of(*LOOP))[0] == 200
    assert time.monotonic() - began < 5
    assert receiver.end()[0] == 0
    for each in silent:
        each.close()


def test_a_trace_that_can_not_be_imported_is_kept_and_told(start: Start, tmp_path: Path) -> None:
    receiver = start()
    receiver.post(file_of(span(1, said={"http.route": "/"})))
    code, _, err = receiver.end()
    assert code == 0
    assert "Not imported: " in err
    assert "no conversations in the conventions of otel" in err
    [kept] = (tmp_path / "tachograph.spool").iterdir()
    assert kept.name == f"{TRACE}.1.rejected"


def test_a_spool_with_a_trace_that_can_not_be_imported_opens_again(start: Start, tmp_path: Path) -> None:
    killed = start("--idle", "3600")
    assert killed.post(file_of(LOOP[0]))[0] == killed.post(file_of(span(1, said=agent("other"))))[0] == 200
    killed.end(signal.SIGKILL)
    code, _, err = start("--idle", "3600").end()
    assert code == 0
    assert "stands twice, with other content" in err
    assert [path.suffix for path in (tmp_path / "tachograph.spool").iterdir()] == [".rejected"]


def test_a_write_that_fails_leaves_what_was_there_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path, 0)
    spool.add({"a": spans(1)}, 0)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        for trace_id in ("a", "b"):
            with pytest.raises(SpoolFull, match="can't be written: No space left"):
                spool.add({trace_id: spans(2)}, 0)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.jsonl": spans(1)[0].line}
    assert spool.add({"a": spans(2)}, 0) == 0
    assert (tmp_path / "a.jsonl").read_bytes() == spans(1)[0].line * 3


def spans(number: int, size: int = 10) -> list[ReceivedSpan]:
    return [ReceivedSpan(json.dumps({"resourceSpans": [], "x": "y" * size}).encode() + b"\n", True)] * number


def test_a_trace_takes_so_many_spans_and_a_spool_so_many_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tachograph.adapters.receiving.spool.SPANS_MAX", 3)
    monkeypatch.setattr("tachograph.adapters.receiving.spool.TRACES_MAX", 2)
    spool = Spool(tmp_path, 0)
    assert spool.add({"a": spans(2)}, 0) == 0
    assert spool.add({"a": spans(2), "b": spans(1)}, 0) == 1
    with pytest.raises(SpoolFull, match="more than 2 traces are open"):
        spool.add({"c": spans(1)}, 0)


def test_a_trace_is_taken_once_it_is_quiet_and_its_root_has_ended(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 0)
    below: list[Any] = [ReceivedSpan(b"{}\n", False)]
    spool.add({"rootless": below, "late": below, "done": spans(1)}, 0)
    spool.add({"late": spans(1)}, 4)
    assert [path.stem for path in spool.take(5, 5)] == ["done"]
    assert [path.stem for path in spool.take(9, 5)] == ["done", "late"]
    assert [path.stem for path in spool.close()] == ["done", "late", "rootless"]
    with pytest.raises(SpoolFull, match="ending"):
        spool.add({"a": spans(1)}, 9)
