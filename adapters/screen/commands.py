"""
How commands behave: options that all of them share, exit codes, and errors told in one line.

Nothing but click is imported before a command runs.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import TextIOWrapper
from types import FrameType
from typing import Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem

from tachograph.adapters.exporters.visible import visible

FINE: Final = 0
NO: Final = 1
WRONG_USE: Final = 2
NOT_DONE: Final = 3
INTERRUPTED: Final = 130
TERMINATED: Final = 143
_SPELL: Final = "backslashreplace"

STORE_HELP: Final = (
    "The store: sqlite:///FILE, postgresql://USER@HOST/DATABASE or memory:. "
    "Default: $TACHOGRAPH_STORE, then sqlite:///tachograph.db."
)
JSON_HELP: Final = "Print JSON, one record a line, in place of text for people."


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for a whole call of the program. `store_named`: by an option, so not by default."""

    store: str
    as_json: bool
    store_named: bool = False


class Command(click.Command):
    """A command that also takes --store and --json after its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _shared_options()


class Group(click.Group):
    """A group of such commands."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _shared_options()


class Root(click.Group):
    """The program: no exception leaves it, and each way to end has its exit code."""

    command_class = Command
    group_class = Group

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run the program and exit."""
        _take_any_text()
        with _sigterm_as_ctrl_c() as terminated:
            try:
                code = super().main(
                    args, prog_name or "tachograph", complete_var, standalone_mode=False, **extra
                )
            except click.ClickException as exc:
                code = _told(exc)
            except click.Abort:
                code = INTERRUPTED
        sys.exit(_flushed(TERMINATED if code == INTERRUPTED and terminated() else code))

    def invoke(self, ctx: click.Context) -> int:
        """Run the command and return its exit code, whatever it raises."""
        try:
            return super().invoke(ctx) or FINE
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            hush()
            return FINE
        except KeyboardInterrupt:
            tell("Interrupted.")
            return INTERRUPTED
        except Exception as exc:
            from tachograph.adapters.screen.failures import explain

            failure = explain(exc, ctx.obj.store if isinstance(ctx.obj, Settings) else "")
            tell(f"Error: {failure.message}", failure.way_out)
            return failure.code


def tell(*lines: str) -> None:
    """Print lines on standard error; a line is never broken and never obeyed by the terminal."""
    for line in filter(None, lines):
        try:
            click.echo(visible(line), err=True)
        except OSError:
            return


def one_line(text: str) -> str:
    """Return a text of several lines as one."""
    return visible(" ".join(text.split()))


def hush() -> None:
    """Send what is still to be printed nowhere: whoever read it has gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Let SIGTERM end what runs as Ctrl-C does; give a function that says whether it came."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(ctrl_c):  # Ignored, as a shell does for what runs in its background.
            raise KeyboardInterrupt
        ctrl_c(signal.SIGINT, frame)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGTERM, before)


def _take_any_text() -> None:
    """Let no byte that is typed in, no character that is printed, and no closed stream raise an error."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, _SPELL), (sys.stderr, _SPELL)):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def _flushed(code: Any) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
    except OSError as exc:
        hush()
        tell(f"Error: the output could not be written: {exc.strerror}")
        return NOT_DONE
    return code if isinstance(code, int) else FINE


def _told(exc: click.ClickException) -> int:
    if isinstance(exc, click.exceptions.NoArgsIsHelpError):
        exc.show()
        return WRONG_USE
    context = exc.ctx if isinstance(exc, click.UsageError) else None
    way_out = f"Help: {context.command_path} --help" if context else ""
    tell(f"Error: {one_line(exc.format_message())}", way_out)
    return exc.exit_code


def _shared_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--store"], metavar="URL", help=STORE_HELP, expose_value=False, callback=_keeper("store")
        ),
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            default=None,
            help=JSON_HELP,
            expose_value=False,
            callback=_keeper("as_json"),
        ),
    ]


def _keeper(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None and isinstance(ctx.obj, Settings):
            named = ctx.obj.store_named or name == "store"
            ctx.obj = ctx.find_root().obj = replace(ctx.obj, **{name: value, "store_named": named})

    return keep


class OneOf(click.ParamType[str]):
    """
    One of some names, looked up when an argument is read and not before.

    Args:
        names: Returns the names; what it imports is imported then.
    """

    name = "name"

    def __init__(self, what: str, names: Callable[[], Sequence[str]]) -> None:
        self._what = what
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Fails with the names that there are."""
        names = self._names()
        if value not in names:
            known = ", ".join(names)
            raise click.UsageError(f"There is no {self._what} {value[:100]!r}. There are: {known}.", ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the names that begin as typed."""
        names = [name for name in self._names() if name.startswith(incomplete)]
        return [CompletionItem(name) for name in names]
