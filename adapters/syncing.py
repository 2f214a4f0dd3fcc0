"""Make what was written durable."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until a file is on the disk, or the names in a folder. Raises OSError: It can't be."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
