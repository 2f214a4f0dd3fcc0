"""A new agent in an empty folder: written, tested, run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .program import Call


def test_its_test_passes_and_it_runs(call: Call, folder: Path) -> None:
    told = call("new", "stock")
    assert told.code == 0
    assert "python -m pytest test_stock.py" in told.out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_stock.py"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": "."})
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout
    script = """
title = "t"
shows = "s"
customer = "c"
input = "i"
expected = { outcome = "approval_requested" }

[[replies]]
calls = [{ name = "item_read", arguments = { item_id = "A-2" } }]

[[replies]]
calls = [{ name = "request_order", arguments = { item_id = "A-2", reason = "none left" } }]
"""
    (folder / "order.toml").write_text(script)
    run = call("run", "stock:agent", "--input", "Order A-2.", "--model", "scripted:order.toml", "--json").json
    grant = ("approvals", "grant", run["run_id"], "--reason", "Yes.", "--actor", "bob")
    granted = call(*grant, "--agent", "stock:agent", "--json").json
    assert (granted["status"], granted["execution"]) == ("granted", "done")
    assert call("replay", run["run_id"], "--agent", "stock:agent").code == 0


def test_what_is_there_is_not_overwritten(call: Call, folder: Path) -> None:
    (folder / "test_stock.py").write_text("mine")
    told = call("new", "stock")
    assert (told.code, "it is there already" in told.err) == (3, True)
    assert not (folder / "stock.py").exists()
    assert (folder / "test_stock.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "a b", "class", "Stock", "../x", "9"])
def test_a_name_that_no_module_can_have_is_refused(call: Call, folder: Path, name: str) -> None:
    assert call("new", name).code == 2
    assert list(folder.iterdir()) == []
