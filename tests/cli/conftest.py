"""The program as a user calls it: in this process where that will do, in one of its own where it matters."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .program import PROGRAM, SCRIPT, SHOP, Call, Result, call_program


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("TACHOGRAPH_STORE", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return tmp_path


@pytest.fixture
def call() -> Call:
    """Call the program in this process."""
    return call_program


@pytest.fixture
def call_process() -> Call:
    """Call the program in a process of its own."""

    def call_process(*words: str, **options: Any) -> Result:
        done = subprocess.run([*PROGRAM, *words], capture_output=True, timeout=60, **options)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call_process


@pytest.fixture
def start(folder: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Start the program and leave it running."""

    def start(*words: str) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        return subprocess.Popen([*PROGRAM, *words], stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    return start


@pytest.fixture
def shop(folder: Path) -> Path:
    """A folder with an agent of the user's own, and scripts that call its tools."""
    (folder / "shop.py").write_text(SHOP)
    for tool in ("slow_lookup", "leave"):
        (folder / f"{tool}.toml").write_text(SCRIPT.replace("TOOL", tool))
    return folder


@pytest.fixture
def demo_run(call: Call) -> str:
    """The id of a run of the demo in the default store."""
    run_id: str = call("demo", "--json").json["run_id"]
    return run_id
