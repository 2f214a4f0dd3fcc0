"""Open stores and read sides, of each kind."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tachograph.adapters.read_side import ReadSide, open_read_side
from tachograph.domain.ports import EventStore

OpenReadSide = Callable[..., ReadSide]


@pytest.fixture
def opened() -> Iterator[OpenReadSide]:
    """Open read sides that are closed after the test."""
    sides: list[ReadSide] = []

    def open_one(store: EventStore, **options: Any) -> ReadSide:
        side = open_read_side(store, **options)
        sides.append(side)
        return side

    yield open_one
    for side in sides:
        side.close()


@pytest.fixture
def side(store: EventStore, opened: OpenReadSide) -> ReadSide:
    """The read side of the empty store."""
    return opened(store)
