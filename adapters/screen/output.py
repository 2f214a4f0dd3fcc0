"""
Where a command's output goes: data to standard output, everything else to standard error.

Nothing printed here is read as rich's markup: data comes as `Text`, or as plain lines.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tachograph.adapters.exporters.visible import visible
from tachograph.adapters.screen.commands import hush, tell

PIPED_WIDTH: Final = 100
WIDTH_MAX: Final = 120
BLOCK_MAX: Final = 2_000
CELL_MAX: Final = 60
UNLIMITED: Final = 100_000
PATIENCE_S: Final = 0.5
_ROOM_MIN: Final = 20

Justify = Literal["left", "right"]


class Screen:
    """Standard output for one command."""

    def __init__(self) -> None:
        self.console = _Console(file=sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=False)
        self.is_terminal = sys.stdout.isatty()
        if not self.is_terminal:
            self.console.width = PIPED_WIDTH

    @property
    def width(self) -> int:
        """Columns that running text may take: a line longer than WIDTH_MAX is hard to read."""
        return min(self.console.width, WIDTH_MAX)

    def print(self, *parts: RenderableType) -> None:
        """Print texts and tables, one below the other."""
        for part in parts:
            if isinstance(part, Text) and part.cell_len > self.width:
                self.hanging(Text(), part)
            else:
                self.console.print(part, width=self.width)

    def hanging(self, head: Text, body: Text) -> None:
        """Print a text beside its head; all lines of it begin below its start or further right."""
        blank = " " * head.cell_len
        room = max(self.width - len(blank), _ROOM_MIN)
        for number, line in enumerate(_wrapped(body, room, self.console)):
            shown = Text.assemble(blank if number else head, line)
            shown.rstrip()
            self.print(shown)

    def table(self, table: Table) -> None:
        """Print a table: as wide as the terminal at most, and as wide as its content in a pipe."""
        if self.is_terminal:
            self.console.print(table)
            return
        self.console.width = UNLIMITED
        with self.console.capture() as capture:
            self.console.print(table)
        self.console.width = PIPED_WIDTH
        self.lines(line.rstrip() for line in capture.get().split("\n")[:-1])

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines that are safe as they are, such as those of `machine`."""
        for line in lines:
            sys.stdout.write(f"{line}\n")

    def parts(self, parts: Iterable[str]) -> None:
        """Print one line that comes in parts."""
        for part in parts:
            sys.stdout.write(part)
        sys.stdout.write("\n")


def text(data: str, style: str = "", *, block: bool = False, characters_max: int = BLOCK_MAX) -> Text:
    """
    Return data as text for a terminal, cut with a note that says what is missing.

    Args:
        block: Whether line feeds in the data start a new line.
    """
    shown = Text(visible(data[:characters_max], block=block), style)
    left_out = len(data) - characters_max
    if left_out > 0:
        note = f" [cut: {left_out:,} more characters; --json shows them all]"
        return Text.assemble(shown, (note, "dim italic"))
    return shown


def columns(*names: str, right: Iterable[str] = ()) -> Table:
    """Return an empty table with a head and no lines around. Its first column is never folded."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        justify: Justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == names[0])
    return table


def cell(data: str, style: str = "", characters_max: int = CELL_MAX) -> Text:
    """Return data for a cell of a table, cut with an ellipsis."""
    cut = data if len(data) <= characters_max else f"{data[:characters_max]}…"
    return Text(visible(cut), style)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """
    Give a function that shows work done and work in all, or None when nobody would see it.

    What takes less than PATIENCE_S shows nothing.
    """
    if not sys.stderr.isatty():
        yield None
        return
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr, markup=False, emoji=False, highlight=False),
        transient=True,
    )
    task = bars.add_task(visible(what), total=None)
    begun = time.monotonic()

    def show(done: int, total: int) -> None:
        bars.update(task, completed=done, total=total)
        if time.monotonic() - begun > PATIENCE_S:
            bars.start()

    try:
        yield show
    finally:
        bars.stop()


def _wrapped(body: Text, room: int, console: Console) -> Iterator[Text]:
    """Wrap each line of a text; what a line runs on for stands further right than its start."""
    for line in body.split("\n", allow_blank=True):
        indent = min(len(line.plain) - len(line.plain.lstrip(" ")), room // 2)
        hang = indent + 2 if indent else 0
        for number, part in enumerate(line[indent:].wrap(console, room - hang, overflow="fold", tab_size=1)):
            yield Text.assemble(" " * (hang if number else indent), part)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the command end as it does when a plain print fails."""
        raise BrokenPipeError


class LiveScreen(Screen):
    """A screen that goes dark when its reader has gone: what the command does must not end with it."""

    def print(self, *parts: RenderableType) -> None:
        """Print as Screen does."""
        try:
            super().print(*parts)
            sys.stdout.flush()
        except BrokenPipeError:
            hush()
        except OSError as exc:
            hush()
            tell(f"Note: the output can't be written: {exc.strerror}")

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines as Screen does, at once."""
        try:
            super().lines(lines)
            sys.stdout.flush()
        except BrokenPipeError:
            hush()
        except OSError as exc:
            hush()
            tell(f"Note: the output can't be written: {exc.strerror}")
