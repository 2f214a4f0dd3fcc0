"""What went wrong, in one line, and the way out of it."""

import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tachograph.adapters.reports.asking import InvalidPeriod
from tachograph.adapters.screen.commands import NO, NOT_DONE, WRONG_USE, one_line
from tachograph.adapters.stores.opening import InvalidStoreUrl
from tachograph.domain.errors import (
    AnswerRefused,
    CorruptRun,
    InvalidId,
    QueryRefused,
    RunInDoubt,
    StoreError,
    TachographError,
    VersionConflict,
)

_HIDDEN: Final = "***"
_CREDENTIALS: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://[^\s:@/]*):[^\s@/]+@", re.IGNORECASE)
_PARAMETERS: Final = re.compile(r"(?P<name>\b(?:ssl)?password)\s*=\s*[^\s&]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Failure:
    """What the user reads, and the exit code."""

    message: str
    way_out: str = ""
    code: int = NOT_DONE


def explain(exc: Exception, store_url: str) -> Failure:
    """Say what an exception means to a user. `store_url`: its password never shows."""
    message = without_secrets(one_line(_said(exc)), store_url)
    if isinstance(exc, InvalidStoreUrl):
        return Failure(message, "Give one with --store or in TACHOGRAPH_STORE.", WRONG_USE)
    if isinstance(exc, (InvalidId, InvalidPeriod, QueryRefused)):
        return Failure(message, "", WRONG_USE)
    if isinstance(exc, (AnswerRefused, RunInDoubt)):
        return Failure(message, "", NO)
    if isinstance(exc, (TachographError, OSError)):
        return Failure(message, _way_out(exc, store_url))
    place = traceback.extract_tb(exc.__traceback__)[-1]
    return Failure(
        f"unexpected {type(exc).__name__} in {Path(place.filename).name}, line {place.lineno}: {message}",
        "This is a defect of tachograph itself; the record holds what was done until here.",
    )


def _said(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return f"{exc.strerror}: {exc.filename}" if exc.filename else exc.strerror
    return str(exc) or type(exc).__name__


def without_secrets(text: str, store_url: str = "") -> str:
    """Return the text without passwords: those of the store's URL, and any that a URL in it holds."""
    for secret in _secrets(store_url):
        text = text.replace(secret, _HIDDEN)
    text = _CREDENTIALS.sub(rf"\g<scheme>:{_HIDDEN}@", text)
    return _PARAMETERS.sub(rf"\g<name>={_HIDDEN}", text)


def _way_out(exc: Exception, store_url: str) -> str:
    if not isinstance(exc, StoreError) or isinstance(exc, (VersionConflict, CorruptRun)):
        return ""
    if "no store at" in str(exc):
        return "`tachograph demo` or `tachograph db init` makes one; --store names another."
    if "readonly" in str(exc) or "unable to open" in str(exc):
        return "SQLite must be allowed to write to the file and to its folder, even to read it."
    return f"The store is {one_line(without_secrets(store_url, store_url))}; --store names another."


def _secrets(url: str) -> set[str]:
    """Return each form in which the password of a URL may turn up in a message."""
    try:
        parts = urlsplit(url)
        given = {parts.password or ""} | {
            value for name, value in parse_qsl(parts.query) if name.endswith("password")
        }
    except ValueError:
        return set()
    return {form for secret in given for form in (secret, unquote(secret)) if len(form) > 2}
