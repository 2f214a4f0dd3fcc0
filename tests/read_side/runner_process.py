"""A process that brings views up to date: `runner_process.py URL catch-up|rebuild BATCH_SIZE`."""

import sys

from tachograph import open_store
from tachograph.adapters.read_side import open_read_side


def main(url: str, verb: str, batch_size: str) -> None:
    """Tell each position on a line of its own, and at the end what was applied."""
    store = open_store(url)
    side = open_read_side(store, batch_size=int(batch_size))
    work = side.rebuild if verb == "rebuild" else side.catch_up
    applied = work(progress=lambda position, head: print(position, flush=True))
    print("applied", applied, flush=True)
    side.close()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
