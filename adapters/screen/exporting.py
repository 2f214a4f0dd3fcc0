"""What `export otel` and `export openinference` do: the record as spans, to a file or to an endpoint."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from tachograph.adapters.exporters import otlp_json
from tachograph.adapters.exporters.conventions import CONVENTIONS, Convention
from tachograph.adapters.exporters.otlp_http import NotSent, OtlpSender
from tachograph.adapters.exporters.span_log import SpanLog
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.epilogue import counted
from tachograph.adapters.screen.failures import without_secrets
from tachograph.adapters.screen.output import Screen, progress, text
from tachograph.projections.span import Span

STANDARD_OUTPUT: Final = "-"
SPANS_AT_ONCE: Final = 100
CHARACTERS_AT_ONCE: Final = 4_000_000  # Of content; collectors refuse requests that are too large.
_ENDPOINT: Final = ("http://", "https://")

Write = Callable[[Sequence[Span]], object]


def spans(settings: Settings, form: str, to: str, after: int, *, content: bool) -> int:
    """Export the spans of events past a position. NO if some events could not be read."""
    convention = CONVENTIONS[form]
    position, written, unreadable = after, 0, 0
    with opened(settings.store) as store:
        log = SpanLog(store, content=content)
        with _writer(to, convention) as write, progress(f"export {form}") as shown:
            try:
                for batch in log.batches(after, shown):
                    for portion in _portions(batch.spans):
                        write(portion)
                    position, unreadable = batch.position, unreadable + batch.unreadable
                    written += len(batch.spans)
            except (NotSent, KeyboardInterrupt):
                if to.startswith(_ENDPOINT):
                    tell(f"{counted(written, 'span')} sent; go on with --after {position}.")
                raise
    _print(settings, form, to, after, position, written, unreadable)
    return NO if unreadable else FINE


def _portions(spans: Sequence[Span]) -> Iterator[list[Span]]:
    portion: list[Span] = []
    characters = 0
    for span in spans:
        size = span.content_size
        if portion and (len(portion) >= SPANS_AT_ONCE or characters + size > CHARACTERS_AT_ONCE):
            yield portion
            portion, characters = [], 0
        portion.append(span)
        characters += size
    if portion:
        yield portion


def _print(
    settings: Settings, form: str, to: str, after: int, position: int, written: int, unreadable: int
) -> None:
    where = without_secrets(to)
    said = f"{counted(written, 'span')} up to position {position} in {where}"
    if to == STANDARD_OUTPUT:
        tell(f"{counted(written, 'span')} up to position {position}.")
    elif settings.as_json:
        record = {
            "format": form,
            "to": where,
            "after": after,
            "position": position,
            "spans": written,
            "unreadable": unreadable,
        }
        Screen().lines([machine.line(record)])
    else:
        Screen().print(text(f"{said}. What comes later: --after {position}", characters_max=500))
    if unreadable:
        tell(f"Without a span, since it can't be read: {counted(unreadable, 'event')}.")


@contextmanager
def _writer(to: str, convention: Convention) -> Iterator[Write]:
    if to == STANDARD_OUTPUT:
        yield lambda spans: Screen().lines([otlp_json.line(spans, convention)])
    elif to.startswith(_ENDPOINT):
        sender = OtlpSender(to, convention)
        try:
            yield sender.send
        finally:
            sender.close()
    else:
        with _replaced(Path(to)) as write:
            yield lambda spans: write(f"{otlp_json.line(spans, convention)}\n")


@contextmanager
def _replaced(path: Path) -> Iterator[Callable[[str], object]]:
    """Write a file beside a path, and put it in its place once it is whole and durable."""
    if path.exists() and not path.is_file():
        raise click.UsageError(f"{path} is there, and is no file.")
    partial = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        with partial.open("w", encoding="ascii") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
