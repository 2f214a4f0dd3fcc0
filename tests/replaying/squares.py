"""Something to read, in a module that other processes can import."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.domain.ports import EventStore


@dataclass(frozen=True)
class Squares:
    """Squares numbers; the process that does `dies_at` for the first time dies."""

    dies_at: int | None = None
    mark: str = ""
    always: bool = False

    def __call__(self, store: EventStore, portion: Sequence[int]) -> list[int]:
        assert store.head() == 0
        if self.dies_at in portion and (self.always or not os.path.exists(self.mark)):
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [number * number for number in portion]
