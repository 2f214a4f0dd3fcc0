"""Stores with refund runs in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph import open_store
from tachograph.domain.ports import EventStore

from .generated import fill


@pytest.fixture
def refunds(store: EventStore) -> EventStore:
    """A store of each kind with 60 refund runs."""
    fill(store, 60)
    return store


@pytest.fixture(scope="module")
def shared_refunds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventStore]:
    """A SQLite store with 300 refund runs, for tests that only read it."""
    path: Path = tmp_path_factory.mktemp("refunds") / "store.db"
    opened = open_store(f"sqlite:///{path}")
    fill(opened, 300)
    yield opened
    opened.close()
