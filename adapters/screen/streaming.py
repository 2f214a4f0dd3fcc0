"""The model's text as it arrives, on standard error: the story on standard output tells it whole."""

import click

from tachograph.adapters.exporters.visible import visible


class Heard:
    """Prints the pieces of a text one behind the other."""

    def __init__(self) -> None:
        self._open = False

    def __call__(self, piece: str) -> None:
        """Print a piece. Nothing in it is obeyed by the terminal."""
        self._say(visible(piece, block=True))
        self._open = True

    def end(self) -> None:
        """End the line, if one was begun."""
        if self._open:
            self._say("\n")
            self._open = False

    def _say(self, text: str) -> None:
        try:
            click.echo(text, nl=False, err=True)
        except OSError:
            return
