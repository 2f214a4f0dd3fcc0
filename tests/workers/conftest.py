"""A shop on each kind of store that keeps what it is told."""

import pytest

from tachograph.domain.ports import EventStore

from .story import Shop


@pytest.fixture
def shop(database: EventStore) -> Shop:
    """An empty store, and an agent whose runs are submitted to it."""
    return Shop(database)
