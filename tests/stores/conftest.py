"""Open stores for the stores' tests."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph import open_store
from tachograph.domain.ports import EventStore


@pytest.fixture
def store(store_url: str) -> Iterator[EventStore]:
    """An empty store of each kind."""
    opened = open_store(store_url)
    yield opened
    opened.close()


@pytest.fixture
def database(database_url: str) -> Iterator[EventStore]:
    """An empty store in a database of each kind."""
    opened = open_store(database_url)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def hostile_strings(shared_data: Path) -> list[str]:
    """The corpus of texts that have broken stores, terminals, tables and logs."""
    corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    return [text for kind, texts in corpus.items() if kind != "source" for text in texts]
