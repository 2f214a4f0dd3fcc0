"""The log as lines of JSON on standard error: ASCII alone, so no text in it can break a line or be obeyed."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from tachograph.adapters.screen import machine

LOGGER: Final = "tachograph"


class JsonFormatter(logging.Formatter):
    """Writes a record as {time, level, event, and its own fields}."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A record that is none of ours has its message as its event."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat("T", "milliseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", None) or record.getMessage(),
        }
        return machine.line(line | getattr(record, "fields", {}))


class _QuietHandler(logging.StreamHandler[Any]):
    """A log that can't be written is no reason to fail, or to print anything else there."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing."""


@contextmanager
def json_on_standard_error() -> Iterator[None]:
    """Write the log for as long as this lasts."""
    logger, handler = logging.getLogger(LOGGER), _QuietHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.setLevel(logging.INFO)
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
