"""Open stores for the loop's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph import open_store
from tachograph.domain.ports import EventStore


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventStore]:
    """One store of each kind a module: its tests use runs of their own."""
    if request.param == "memory":
        url = "memory:"
    elif request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'store.db'}"
    else:
        url = request.getfixturevalue("postgres_server").new_schema()
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def memory() -> EventStore:
    """A store for what doesn't depend on the store."""
    return open_store("memory:")


@pytest.fixture
def effects_file(tmp_path: Path) -> Path:
    """A file that handlers write to, also those that are killed."""
    return tmp_path / "effects.txt"
