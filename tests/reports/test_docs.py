"""What `docs/reports.md` says can be done is done, in an empty folder; its lists are complete."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.adapters.exporters.report_pdf import ROWS_MAX
from tachograph.adapters.reports.catalogue import NAMES
from tachograph.adapters.reports.rule_sets import rule_set_names
from tachograph.tests.read_side.stories import query
from tachograph.tests.test_readme import BIN, ROOT

PAGE = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("  #")[0].strip()
    for language, block in BLOCKS
    if language == "sh"
    for line in block.splitlines()
]
[SCHEDULES] = (block for language, block in BLOCKS if language == "toml")
SHELL, SQL = (block for language, block in BLOCKS if language == "text")


@pytest.fixture
def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
    return kept | {"PATH": f"{BIN}:{kept['PATH']}"}


def test_every_command_works_in_an_empty_folder(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "schedules.toml").write_text(SCHEDULES, encoding="utf-8")
    (tmp_path / "reports").mkdir()
    for command in COMMANDS:
        words = [sys.executable, "-c", "from tachograph.cli import main; main()", *shlex.split(command)[1:]]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout.strip() or "--output" in command, command
    assert (tmp_path / "oversight.html").exists()
    assert len(list((tmp_path / "reports").glob("oversight-monthly_*"))) == 2
    [found] = query(f"sqlite:///{tmp_path / 'tachograph.db'}", SQL)
    assert found == ("USD", "pending", 1, 17577)


def test_the_digest_is_found_with_common_tools(tmp_path: Path, environment: dict[str, str]) -> None:
    words = [sys.executable, "-c", "from tachograph.cli import main; main()"]
    subprocess.run([*words, "demo"], cwd=tmp_path, env=environment, capture_output=True, check=True)
    made, summed, last = SHELL.replace("1200", "5").splitlines()
    arguments, _, file = made.partition(" > ")
    with (tmp_path / file).open("wb") as output:
        subprocess.run(
            [*words, *arguments.split()[1:]], cwd=tmp_path, env=environment, stdout=output, check=True
        )
    digest = subprocess.run(
        summed, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    stated = subprocess.run(last, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert stated == f'{{"digest":"{digest.split()[0]}"}}\n'


def test_every_report_and_rule_set_is_in_the_lists() -> None:
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, flags=re.MULTILINE)[: len(NAMES)] == list(NAMES)
    assert all(f"`{name}`" in PAGE for name in rule_set_names())
    assert f"the first {ROWS_MAX} rows" in PAGE
