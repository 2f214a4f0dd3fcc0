"""
Several processes that append to one store at the same time: `appender.py URL PROCESSES APPENDS [RUN]`.

Without RUN each process writes a run of its own, one event an append. With RUN all of them write that
one run, each trying for every version. Each process prints one line of JSON: its run, the versions
that it stored, and how often it was told of a conflict.
"""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from uuid import UUID

from tachograph.adapters.stores import postgres, recorded, sqlite  # noqa: F401  # before the fork
from tachograph.adapters.stores.opening import open_store
from tachograph.adapters.world import SystemIds
from tachograph.domain.errors import VersionConflict
from tachograph.domain.events import ModelTurn
from tachograph.domain.ports import EventStore


def turn(step: int) -> ModelTurn:
    return ModelTurn(
        recorded_at=datetime.now(UTC),
        step=step,
        model_asked="scripted",
        request_digest="0" * 64,
        text=f"by process {os.getpid()}",
        finish_reason="stop",
        latency_ms=1,
    )


async def write_own(store: EventStore, run_id: UUID, appends: int) -> dict[str, object]:
    versions = [
        await store.append(run_id, [turn(version + 1)], expected_version=version)
        for version in range(appends)
    ]
    return {"run": str(run_id), "versions": versions, "conflicts": 0}


async def compete(store: EventStore, run_id: UUID, appends: int) -> dict[str, object]:
    versions, conflicts = [], 0
    while (version := len(store.read(run_id))) < appends:
        try:
            versions.append(await store.append(run_id, [turn(version + 1)], expected_version=version))
        except VersionConflict:
            conflicts += 1
    return {"run": str(run_id), "versions": versions, "conflicts": conflicts}


def work(url: str, appends: int, run_id: UUID | None) -> str:
    store = open_store(url)
    try:
        if run_id is None:
            return json.dumps(asyncio.run(write_own(store, SystemIds().run_id(), appends)))
        return json.dumps(asyncio.run(compete(store, run_id, appends)))
    finally:
        store.close()


def main(url: str, processes: str, appends: str, run_id: str | None = None) -> int:
    children = []
    for _ in range(int(processes)):
        child = os.fork()
        if child == 0:
            os.write(1, work(url, int(appends), UUID(run_id) if run_id else None).encode() + b"\n")
            os._exit(0)
        children.append(child)
    return sum(os.waitpid(child, 0)[1] for child in children)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
