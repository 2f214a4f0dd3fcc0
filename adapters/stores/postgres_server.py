"""Connections to a PostgreSQL database, with the server's own reason where there are none to be had."""

from collections.abc import Callable
from typing import Any, Final

import psycopg
from eventsourcing import postgres as library
from eventsourcing.persistence import OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

CONNECT_TIMEOUT_S: Final = 5
POOL_MAX: Final = 8
URL_UNREADABLE: Final = (
    "its URL can't be read; in a user's name or password, write '@', ':', '/', '?', '#' and '%' as %XX"
)


class Datastore(library.PostgresDatastore):
    """
    One database.

    Args:
        url: `postgresql://...` as libpq takes it. `?pooler=transaction` beside its own parameters
            leaves out prepared statements, for a server behind a transaction pooler.
    """

    def __init__(self, url: str) -> None:
        super().__init__("", "", "", "", "")
        self.conninfo, self.options = split_url(url)
        self.pool = library.ConnectionPool(
            self.conninfo,
            connection_class=psycopg.Connection[DictRow],
            kwargs={"row_factory": dict_row, "connect_timeout": CONNECT_TIMEOUT_S, **self.options},
            min_size=1,
            max_size=POOL_MAX,
            open=False,
            configure=_autocommit,
            timeout=CONNECT_TIMEOUT_S,
            reconnect_timeout=CONNECT_TIMEOUT_S,
        )

    def connect(self) -> psycopg.Connection[Any]:
        """
        Connect outside of the pool, which would only say that it waited in vain.

        Raises:
            OperationalError: With the server's reason, and never with a piece of the password.
        """
        if not _readable(self.conninfo):
            raise OperationalError(URL_UNREADABLE)
        try:
            return psycopg.connect(self.conninfo, connect_timeout=CONNECT_TIMEOUT_S)
        except psycopg.Error as exc:
            raise OperationalError(str(exc)) from exc

    def register_type_adapters(self) -> None:
        """Do nothing: no composite types are used."""

    def after_connect_func(self) -> Callable[[psycopg.Connection[Any]], None]:
        """Set nothing on a session, so that a transaction pooler may stand in between."""
        return _autocommit


def split_url(url: str) -> tuple[str, dict[str, Any]]:
    """Take our own parameters out of a URL; return the rest, for libpq, and psycopg's options."""
    base, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    kept = [pair for pair in parameters if not pair.startswith("pooler=")]
    options = {"prepare_threshold": None} if "pooler=transaction" in parameters else {}
    return "?".join([base, "&".join(kept)]) if kept else base, options


def _readable(url: str) -> bool:
    """Tell whether libpq reads the URL as it is meant; one that it misreads could be quoted in errors."""
    user = url.partition("://")[2].partition("?")[0].rpartition("@")[0]
    if any(sign in user for sign in "@/#"):
        return False
    try:
        conninfo_to_dict(url)
    except psycopg.Error:
        return False
    return True


def _autocommit(connection: psycopg.Connection[Any]) -> None:
    connection.autocommit = True
