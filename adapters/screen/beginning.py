"""What `new` does."""

import keyword
from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from tachograph.adapters.screen import machine
from tachograph.adapters.screen.commands import FINE, Settings
from tachograph.adapters.screen.output import Screen, text

_FILES: Final = {"agent.txt": "{name}.py", "test.txt": "test_{name}.py"}


def new(settings: Settings, name: str) -> int:
    """Write a new agent and its test into this folder; nothing that is there is overwritten."""
    if not name.isidentifier() or keyword.iskeyword(name) or not name.islower():
        raise click.UsageError(f"{name[:100]!r} can't name a module: small letters, digits and underscores.")
    targets = {source: Path(target.format(name=name)) for source, target in _FILES.items()}
    there = [target for target in targets.values() if target.exists()]
    if there:
        raise FileExistsError(17, "it is there already", str(there[0]))
    skeleton = files("tachograph.adapters.skeleton")
    for source, target in targets.items():
        target.write_text(skeleton.joinpath(source).read_text(encoding="utf-8").replace("NAME", name))
    screen = Screen()
    if settings.as_json:
        screen.lines([machine.line({"agent": f"{name}:agent", "files": list(map(str, targets.values()))})])
        return FINE
    screen.print(
        text(f"Wrote {' and '.join(map(str, targets.values()))}."),
        "",
        text("Test it:", "bold"),
        text(f"  python -m pytest test_{name}.py"),
        text("Run it:", "bold"),
        text(f"  tachograph run {name}:agent --input 'Is A-1 there?' --model openai:gpt-5.2"),
    )
    return FINE
