"""What `docs/observing.md` says can be done is done, in an empty folder, and its lists are complete."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.adapters.exporters.prometheus import _COUNTERS
from tachograph.projections import gen_ai, openinference
from tachograph.tests.test_readme import BIN, ROOT

from .receiver import Receiver

PAGE = (ROOT / "docs" / "observing.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
ENDPOINT = "http://localhost:4318"


def test_every_command_works_in_an_empty_folder(tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("TACHOGRAPH_", "OTEL_"))
    }
    environment["PATH"] = f"{BIN}:{environment['PATH']}"
    done = []
    with Receiver().listening() as receiver:
        for command in COMMANDS:
            words = shlex.split(command.replace(ENDPOINT, receiver.url))
            receives = words[1] == "receive"
            serves = "--serve" in words or receives
            words = ["0" if word in ("9464", "9465", "4318") else word for word in words]
            program = [sys.executable, "-c", "from tachograph.cli import main; main()", *words[1:]]
            pipe = subprocess.PIPE
            process = subprocess.Popen(
                program, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
            )
            assert process.stderr is not None
            told = process.stderr.readline() if serves else ""
            if serves:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            assert process.returncode == (130 if serves and not receives else 0), (command, err)
            assert out.strip() or "are served on" in told or "are received on" in told, command
            done.append(words[1])
    assert len(done) == len(COMMANDS) == 10
    assert len(receiver.spans) == 8


@pytest.mark.parametrize("metric", sorted({name for name, _ in _COUNTERS.values()}))
def test_every_counter_is_in_the_list(metric: str) -> None:
    assert f"`{metric}_total`" in PAGE


def test_the_versions_are_those_of_the_tables() -> None:
    assert f"conventions {gen_ai.VERSION} " in PAGE
    assert f"OpenInference {openinference.VERSION}\n" in PAGE
