"""Whether the files of an export are as its manifest says."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tachograph.adapters.record_files.manifest import MANIFEST, parts
from tachograph.adapters.record_files.part import digest_of


class Checked(NamedTuple):
    """A file of an export. `wrong`: what is wrong with it; None: nothing."""

    name: str
    events: int
    wrong: str | None


def checked(folder: Path, progress: Callable[[int, int], None] | None = None) -> Iterator[Checked]:
    """
    Yield each file that the manifest of a folder names, then those that it doesn't.

    Raises:
        ExportRefused: The folder has no manifest, or one that can't be read.
    """
    known = {MANIFEST}
    files = [file for part in parts(folder) for file in part.files]
    for place, file in enumerate(files, start=1):
        known.add(file.name)
        yield Checked(file.name, file.events, _wrong(folder / file.name, file.bytes, file.sha256))
        if progress is not None:
            progress(place, len(files))
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in known and not path.is_dir():
            yield Checked(name, 0, "the manifest doesn't name it")


def _wrong(path: Path, size: int, sha256: str) -> str | None:
    if not path.is_file():
        return "missing"
    found = path.stat().st_size
    if found != size:
        return f"{found} bytes where the manifest says {size}"
    return None if digest_of(path) == sha256 else "its bytes are others than the manifest says"
