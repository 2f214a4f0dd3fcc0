"""A store from its URL."""

from pathlib import Path
from typing import Final

from tachograph.domain.errors import StoreError, TachographError
from tachograph.domain.ports import EventStore

DEFAULT_URL: Final = "sqlite:///tachograph.db"
URL_RULE: Final = "sqlite:///FILE, postgresql://USER@HOST/DATABASE or memory:"


class InvalidStoreUrl(TachographError, ValueError):
    """The URL of a store has none of the known forms."""

    def __init__(self) -> None:
        super().__init__(f"a store is named as {URL_RULE}")


def open_store(url: str = DEFAULT_URL, *, create: bool = True) -> EventStore:
    """
    Open the store that a URL names, and create its schema where it is missing.

    Args:
        url: `sqlite:///FILE` (relative; four slashes for an absolute path), `postgresql://...` as
            libpq takes it, or `memory:`.
        create: Whether a SQLite file that isn't there is made. PostgreSQL databases never are.
    Raises:
        InvalidStoreUrl: None of these forms.
        StoreError: The database can't be opened.
    """
    if url in ("memory:", "memory://"):
        from tachograph.adapters.stores.memory import MemoryEventStore

        return MemoryEventStore()
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        return _sqlite(Path(url.removeprefix("sqlite:///")), create)
    if url.startswith(("postgresql://", "postgres://")):
        from tachograph.adapters.stores.recorded import RecordedEventStore

        return RecordedEventStore(
            {"PERSISTENCE_MODULE": "tachograph.adapters.stores.postgres", "POSTGRES_URL": url}
        )
    raise InvalidStoreUrl


def _sqlite(path: Path, create: bool) -> EventStore:
    from tachograph.adapters.stores.recorded import RecordedEventStore

    if not create and not path.exists():
        raise StoreError(f"there is no store at {path}")
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent} for a store")
    return RecordedEventStore(
        {
            "PERSISTENCE_MODULE": "tachograph.adapters.stores.sqlite",
            "SQLITE_DBNAME": path.absolute().as_uri(),
        }
    )
