"""The example is what its page shows, and what the page says can be done is done in a copy of it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from .test_readme import ROOT, call

EXAMPLE = ROOT / "examples" / "appointments"
PAGE = (ROOT / "docs" / "own-agent.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
SHOWN = [block for language, block in BLOCKS if language == "python"]
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.glob("*.py")))


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_shown_is_what_stands_there(shown: str) -> None:
    assert shown in SOURCES


def test_every_command_works_in_its_folder(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for command in [line for language, block in BLOCKS if language == "sh" for line in block.splitlines()]:
        done = call(shlex.split(command), tmp_path)
        assert (command, done.returncode) == (command, 0), done.stdout + done.stderr
        assert done.stdout.strip(), command
