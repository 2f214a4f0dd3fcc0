"""Tachograph: the public library, many runs on one event loop."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence

from contestants import Contestant


class TachographContestant(Contestant):
    """The refund agent with a scripted model and async tools."""

    def open(self) -> None:
        """Start the event loop that all runs share."""
        self._loop = asyncio.Runner()

    def execute(self, run_ids: Sequence[str]) -> None:
        """Gather the runs, `concurrency` of them admitted at once."""
        self._loop.run(self._run_all(run_ids))

    def close(self) -> None:
        """Stop the event loop."""
        self._loop.close()

    @abstractmethod
    async def run_one(self, run_id: str) -> None:
        """Execute a run from its first model turn to its end."""

    async def _run_all(self, run_ids: Sequence[str]) -> None:
        admitted = asyncio.Semaphore(self.concurrency)

        async def admit(run_id: str) -> None:
            async with admitted:
                await self.run_one(run_id)

        await asyncio.gather(*(admit(run_id) for run_id in run_ids))
