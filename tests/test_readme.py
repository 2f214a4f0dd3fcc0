"""What the README says can be done is done, in an empty folder, as a reader would."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("#")[0].strip()
    for language, block in BLOCKS
    if language == "sh"
    for line in block.splitlines()
]
PROGRAMS = [block for language, block in BLOCKS if language == "python" and "import" in block]
BIN = Path(sys.executable).parent


def call(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    environment.pop("TACHOGRAPH_STORE", None)
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def test_the_first_two_commands_are_the_demo_and_the_tests() -> None:
    """CI runs `make test` itself; here it would start all tests once more."""
    assert COMMANDS[:2] == ["make demo", "make test"]


def test_every_command_works_in_an_empty_folder(tmp_path: Path) -> None:
    for command in COMMANDS[2:]:
        done = call(shlex.split(command), tmp_path)
        assert (command, done.returncode) == (command, 0), done.stderr
        assert done.stdout.strip(), command


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shown = next(block for language, block in BLOCKS if language == "text")
    printed = re.sub(r"\s+", " ", call(["tachograph", "demo"], tmp_path).stdout)
    for piece in re.split(r"…|\n", shown):
        words = re.sub(r"\s+", " ", piece).strip(" ;")
        assert words in printed


def test_the_agent_of_ones_own_runs(tmp_path: Path) -> None:
    (program,) = PROGRAMS
    done = call([sys.executable, "-c", program], tmp_path)
    assert (done.returncode, done.stdout) == (0, 'answered {"text":"102 is open."}\n'), done.stderr


def test_the_loop_is_quoted_as_it_is() -> None:
    (quoted,) = (block for language, block in BLOCKS if language == "python" and "AskModel" in block)
    loop = (ROOT / "adapters" / "loop.py").read_text(encoding="utf-8")
    assert "".join(f"    {line}\n" for line in quoted.splitlines()) in loop


@pytest.mark.parametrize(
    "named", sorted(set(re.findall(r"`((?:tests|docs|adapters|domain)/[\w/.]+)`", README)))
)
def test_every_file_that_is_named_exists(named: str) -> None:
    assert (ROOT / named).exists()
