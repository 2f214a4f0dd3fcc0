"""Single keys from the terminal, without Enter."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_READ_MAX = 64


@contextmanager
def keyboard() -> Iterator[Callable[[], str]]:
    """
    Give a function that waits for keys and returns them: one, or what was typed ahead.

    Ctrl-C stays an interrupt. The terminal's own mode comes back at the end.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows.
        yield click.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        yield lambda: _read(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read(terminal: int) -> str:
    read = os.read(terminal, _READ_MAX)
    if not read:
        raise EOFError
    return read.decode(errors="replace")
