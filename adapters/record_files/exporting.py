"""Export a store's record into a folder, from where the export before has ended, each event once."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tachograph.adapters.collector import collector_paused
from tachograph.adapters.record_files import columns, manifest
from tachograph.adapters.record_files.documents import ocsf_lines, prov_lines
from tachograph.adapters.record_files.lines import csv_lines, json_lines
from tachograph.adapters.record_files.manifest import Goal, Header, Manifest, Part, partial_name
from tachograph.adapters.record_files.parquet import Months
from tachograph.adapters.record_files.part import OpenPart, Written
from tachograph.adapters.record_files.reading import LogReader
from tachograph.adapters.spreading import Spread, spread
from tachograph.domain.codec import encode
from tachograph.domain.errors import ExportRefused
from tachograph.domain.events import Recorded
from tachograph.domain.ports import EventStore

RANGE: Final = 50_000  # Positions of a part: never changed, or an export that was cut short comes out other.

Format = Callable[[Path, EventStore], Written]
Range = tuple[int, int]  # past one position, up to another

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {"jsonl": json_lines, "csv": csv_lines, "parquet": Months, "ocsf": ocsf_lines, "prov": prov_lines}
)


ALONE: Final = Spread(cores=1)


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did, and what is in its folder now."""

    after: int
    position: int
    events: int
    unreadable: int
    files: int
    events_in_all: int
    files_in_all: int


def export_record(
    store: EventStore,
    form: str,
    folder: Path,
    *,
    after: int | None = None,
    tenant: str | None = None,
    url: str = "",
    where: Spread = ALONE,
    progress: Callable[[int, int], None] | None = None,
) -> Exported:
    """
    Write what was recorded since the last export into the same folder, or all of it.

    An export that was cut short is completed first, up to where it was to go: so its files are the same as
    if nothing had happened.

    Args:
        form: One of FORMATS.
        after: The position before the first event, for a new folder.
        tenant: Of this tenant alone.
        url: Of the store, by which other processes open it.
        progress: Hears how many ranges of the log are done, and how many there are.
    Raises:
        ExportRefused: The folder holds something else, or an export of another kind or store.
        StoreError: The store failed; the parts before are whole.
        OSError: The files can't be written; the same.
    """
    with manifest.opened(folder) as to:
        head = store.head()
        if head:
            _check_header(to, _header(store, form, to, after, tenant), after)
        before = (to.position, to.events, to.files)
        unreadable = 0
        write = _WriteRanges(form, str(folder), tenant)

        def go_on() -> int:
            ranges = _ranges(to.position, to.goal)
            written = spread(write, ranges, store, url, where, progress, at_once=1)
            return sum(_noted(to, part) for parts in written for part in parts)

        if to.position < to.goal:
            unreadable += go_on()
        if to.goal < head:
            to.add(Goal(goal=head))
            unreadable += go_on()
        position, events, files = before
        return Exported(
            position, to.position, to.events - events, unreadable, to.files - files, to.events, to.files
        )


@dataclass(frozen=True, slots=True)
class _WriteRanges:
    """Writes ranges of a store's log, here or in another process."""

    form: str
    folder: str
    tenant: str | None

    def __call__(self, store: EventStore, portion: Sequence[Range]) -> list[list[Part]]:
        with collector_paused():
            return [self._written(store, after, up_to) for after, up_to in portion]

    def _written(self, store: EventStore, after: int, up_to: int) -> list[Part]:
        folder = Path(self.folder)

        def begin(after: int) -> OpenPart:
            partial = folder / partial_name(after)
            return OpenPart(folder, after, FORMATS[self.form](partial, store))

        parts: list[Part] = []
        part, position = begin(after), after
        try:
            for placed in LogReader(store).between(after, up_to):
                if part.is_full:
                    parts.append(part.seal(position))
                    part = begin(position)
                position = placed.entry.position
                if self.tenant is None or placed.whose.tenant == self.tenant:
                    part.write(placed)
            return [*parts, part.seal(up_to)]
        except BaseException:
            part.abandon()
            raise


def _ranges(after: int, goal: int) -> list[Range]:
    """Cut a stretch of the log at every RANGE positions."""
    edges = [after, *range((after // RANGE + 1) * RANGE, goal, RANGE), goal]
    return list(pairwise(edges))


def _noted(to: Manifest, part: Part) -> int:
    to.add(part)
    return part.unreadable


def _header(store: EventStore, form: str, to: Manifest, after: int | None, tenant: str | None) -> Header:
    from_position = to.header.after if after is None and to.header is not None else after or 0
    return Header(
        format=form, columns=columns.VERSION, tenant=tenant, after=from_position, begins=_beginning(store)
    )


def _check_header(to: Manifest, wanted: Header, after: int | None) -> None:
    if to.header is None:
        to.add(wanted)
        return
    for name, meaning in (
        ("format", "format"),
        ("columns", "version of the columns"),
        ("tenant", "tenant"),
        ("after", "first position"),
        ("begins", "store"),
    ):
        if getattr(to.header, name) != getattr(wanted, name):
            raise ExportRefused(f"{to.folder} holds an export of another {meaning}: name another folder")


def _beginning(store: EventStore) -> str:
    """Return the digest of the store's first event, by which the same store is known again."""
    first = store.read_log(limit=1)[0]
    what = encode(first.event) if isinstance(first, Recorded) else first.why.encode()
    place = f"{first.run_id} {first.version} {first.kind} ".encode()
    return hashlib.sha256(place + what).hexdigest()
