"""What docs/workers.md says can be done is done, and the files beside it are what systemd and Docker take."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]  # its types are another package

from tachograph.adapters.limiting import read_limits
from tachograph.adapters.workers.report_schedules import ReportSchedule
from tachograph.adapters.workers.schedule_file import read_tables
from tachograph.adapters.workers.schedules import read_schedules
from tachograph.cli import main
from tachograph.domain.admission import Limit

from .story import LOOKS_UP, clerk

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "workers.md").read_text(encoding="utf-8")
DEPLOY = DOCS / "deploy"
UNIT = DEPLOY / "tachograph-worker@.service"
BIN = Path(sys.executable).parent


def check_options(words: list[str]) -> None:
    """Fail if a command line of the program has a command or an option that there isn't."""
    assert Path(words[0]).name == "tachograph"
    command: click.Command = main
    rest = words[1:]
    while isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    command.make_context(command.name, rest)


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return read


def test_the_commands_of_the_page_work_in_an_empty_folder(tmp_path: Path) -> None:
    [block] = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    environment.pop("TACHOGRAPH_STORE", None)
    for line in block.splitlines():
        done = subprocess.run(
            shlex.split(line), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert (line, done.returncode) == (line, 0), done.stderr
        assert done.stdout.strip(), line


@pytest.mark.parametrize("linked", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)(?:#[^)]*)?\)", PAGE))))
def test_what_the_page_links_to_is_there(linked: str) -> None:
    assert (DOCS / linked).exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """It also looks for the program, so that is replaced by one that is there."""
    text = UNIT.read_text(encoding="utf-8")
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"(?<=^ExecStart=)\S+", sys.executable, text, flags=re.MULTILINE))
    done = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_unit_starts_a_worker_and_gives_it_time_to_stop() -> None:
    lines = dict(
        line.split("=", 1)
        for line in UNIT.read_text(encoding="utf-8").splitlines()
        if re.match(r"\w+=", line)
    )
    words = shlex.split(lines["ExecStart"])
    check_options(words)
    assert int(lines["TimeoutStopSec"]) > int(words[words.index("--grace") + 1])


def test_the_compose_file_starts_workers_after_the_schema() -> None:
    services = compose()["services"]
    for name in ("schema", "worker"):
        check_options(services[name]["command"])
    assert services["worker"]["depends_on"] == {"schema": {"condition": "service_completed_successfully"}}
    words = services["worker"]["command"]
    grace_s = int(words[words.index("--grace") + 1])
    assert int(services["worker"]["stop_grace_period"].removesuffix("s")) > grace_s


def test_docker_takes_the_compose_file() -> None:
    if shutil.which("docker") is None or subprocess.call(["docker", "compose", "version"]) != 0:
        pytest.skip("docker compose is not installed here")
    done = subprocess.run(
        ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"],
        env=os.environ | {"POSTGRES_PASSWORD": "x"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_schedules_are_what_a_worker_reads() -> None:
    [schedule] = read_schedules(DEPLOY / "schedules.toml", {"shop": clerk(*LOOKS_UP, name="shop")})
    assert (schedule.name, schedule.cron, schedule.priority) == ("open-orders", "0 6 * * mon-fri", -1)
    [report] = read_tables(DEPLOY / "schedules.toml", "report", ReportSchedule)
    assert (report.name, report.period) == ("oversight-monthly", "last month")
    assert f"StateDirectory={report.directory}\n".replace("/var/lib/", "") in UNIT.read_text(encoding="utf-8")


def test_the_limits_of_the_page_are_what_a_worker_reads(tmp_path: Path) -> None:
    [block] = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    file = tmp_path / "limits.toml"
    file.write_text(block, encoding="utf-8")
    assert read_limits(file).models == {"openai:gpt-5": Limit(at_once=50, per_minute=600)}
