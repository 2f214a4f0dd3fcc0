"""Every command and option is explained, and asking for help costs next to nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from tachograph.adapters.importers.importing import FORMATS
from tachograph.adapters.record_files import exporting
from tachograph.adapters.reports.catalogue import NAMES
from tachograph.adapters.stores.opening import DEFAULT_URL, URL_RULE
from tachograph.cli import STORE_DEFAULT, main

from .program import PROGRAM, Call


def commands(command: click.Command = main, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, *words, name)


COMMANDS = list(commands())


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
class TestEachCommand:
    def test_it_says_what_it_does(self, words: tuple[str, ...], command: click.Command) -> None:
        assert command.help
        assert len(words) <= 2

    def test_each_option_says_what_it_is_for(self, words: tuple[str, ...], command: click.Command) -> None:
        silent = [
            option.opts
            for option in command.params
            if isinstance(option, click.Option) and not (option.help or "").endswith((".", "[default: x]"))
        ]
        assert silent == []

    def test_it_takes_store_and_json(self, words: tuple[str, ...], command: click.Command) -> None:
        options = {name for option in command.params for name in option.opts}
        assert {"--store", "--json"} <= options

    def test_help_is_printed(self, words: tuple[str, ...], command: click.Command, call: Call) -> None:
        told = call(*words, "--help")
        assert (told.code, told.err) == (0, "")
        assert told.out.startswith(f"Usage: {' '.join(['tachograph', *words])} [OPTIONS]")


def test_the_commands_are_those_of_the_design() -> None:
    assert {" ".join(words) for words, command in COMMANDS if not isinstance(command, click.Group)} == {
        "demo", "simulate", "run", "resume", "cancel", "runs", "show", "steps", "rebuild", "import",
        "receive", "projections status", "projections catch-up", "projections rebuild", "db init", "db check",
        "submit", "worker", "requeue", "why", "why-not", "mcp", "new", "replay", "fork", "diff", "reconcile",
        "approvals list", "approvals show", "approvals grant", "approvals deny", "approvals remind",
        "export otel", "export openinference", "metrics", "sql", "export check",
        *(f"export {form}" for form in exporting.FORMATS),
        "report list", "report map", "report run", "report runs", *(f"report {name}" for name in NAMES),
    }  # fmt: skip


def test_what_help_says_of_stores_and_formats_is_so(call: Call) -> None:
    assert STORE_DEFAULT == DEFAULT_URL
    said = " ".join(call("--help").out.split())
    assert all(form.strip() in said for form in URL_RULE.replace(" or ", ", ").split(","))
    assert all(name in call("import", "--help").out for name in FORMATS)


def test_without_a_command_help_is_wrong_use(call: Call) -> None:
    told = call()
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("Usage: tachograph")


@pytest.mark.parametrize("words", [("--help",), ("db", "check", "--help")])
def test_nothing_heavy_is_imported_for_help(words: tuple[str, ...]) -> None:
    heavy = "{'pydantic', 'rich', 'eventsourcing', 'psycopg', 'sqlite3', 'asyncio'}"
    program = (
        "import sys\n"
        "from tachograph.cli import main\n"
        "try: main()\n"
        f"finally: print(sorted({heavy} & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_help_takes_less_than_three_tenths_of_a_second() -> None:
    seconds = []
    for _ in range(3):
        process = subprocess.Popen([*PROGRAM, "--help"], stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        seconds.append(used.ru_utime + used.ru_stime)
    assert min(seconds) < 0.3
