"""
Brings the views up to the log: batch by batch, rows and position in one transaction.

A batch is read, decoded and turned to rows before its transaction begins, so that appends wait for the
writing alone. The transaction first moves each view's position from where it was read; where that fails,
another runner was there first, and the view is left out and looked up again. So any number of runners may
work at once, and each event is applied once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tachograph.adapters.collector import collector_paused
from tachograph.adapters.read_side import generations, quarantine
from tachograph.adapters.read_side.computing import Computed, compute
from tachograph.adapters.read_side.database import Database, RowRefused, ViewHeld
from tachograph.adapters.read_side.errors import BuiltByNewerRelease, Superseded
from tachograph.adapters.read_side.generations import Generation
from tachograph.adapters.read_side.placing import PlacedLog
from tachograph.adapters.read_side.writing import Write, write, write_singly
from tachograph.domain.errors import StoreError
from tachograph.domain.ports import Clock
from tachograph.projections.plain import time_text
from tachograph.projections.projection import Placed, Projection

Progress = Callable[[int, int], None]

_ROUNDS_MAX: Final = 100


@dataclass(slots=True, eq=False)
class _Target:
    """A generation that is being filled; `stored` follows its position."""

    projection: Projection
    stored: Generation


class Runner:
    """Fills the views of one database from one log. For use by one thread at a time."""

    def __init__(
        self, log: PlacedLog, database: Database, projections: Sequence[Projection], clock: Clock
    ) -> None:
        self._log = log
        self._database = database
        self._projections = sorted(projections, key=lambda projection: projection.name)
        self._clock = clock

    def catch_up(self, progress: Progress | None) -> int:
        """
        Apply what the log holds beyond the views, and rebuild views whose projection has a new version.

        Returns:
            How many events were applied.
        Raises:
            BuiltByNewerRelease: A view that this release must not write to.
        """
        applied = 0
        for _ in range(_ROUNDS_MAX):
            live, building = self._plan()
            try:
                applied += self._advance(live, progress)
                return applied + self._build(building, progress)
            except Superseded:
                continue
        raise StoreError("other processes keep rebuilding the views; nothing is lost, try again later")

    def rebuild(self, projections: Sequence[Projection], progress: Progress | None) -> int:
        """
        Build views again from the first event, beside the ones that readers see, and then show them.

        Raises:
            Superseded: Another process began to rebuild the same view meanwhile.
        """
        targets = [
            _Target(projection, generations.begin(self._database, projection, self._now()))
            for projection in sorted(projections, key=lambda projection: projection.name)
        ]
        return self._build(targets, progress)

    def _plan(self) -> tuple[list[_Target], list[_Target]]:
        """Return the live generations that are of this release, and new ones for those that are older."""
        live: list[_Target] = []
        building: list[_Target] = []
        known = generations.load(self._database)
        for projection in self._projections:
            ours = [each for each in known if each.name == projection.name]
            shown = next(each for each in ours if each.live)
            if shown.version > projection.version:
                raise BuiltByNewerRelease(projection.name)
            if shown.version == projection.version:
                live.append(_Target(projection, shown))
                continue
            begun = next((each for each in ours if each.version == projection.version), None)
            new = begun or generations.begin(self._database, projection, self._now())
            building.append(_Target(projection, new))
        return live, building

    def _build(self, targets: Sequence[_Target], progress: Progress | None) -> int:
        applied = 0
        for _ in range(_ROUNDS_MAX):
            if not targets:
                return applied
            applied += self._advance(targets, progress)
            targets = [target for target in targets if not self._shown(target)]
        names = ", ".join(target.stored.name for target in targets)
        raise StoreError(f"{names} could not be shown: other processes read or write without a pause")

    def _shown(self, target: _Target) -> bool:
        try:
            return generations.go_live(self._database, target.projection, target.stored, self._now())
        except ViewHeld:
            return False

    def _advance(self, targets: Sequence[_Target], progress: Progress | None) -> int:
        """Fill generations up to where the log ends now, all from the same batches."""
        applied = 0
        head = self._log.head() if targets else 0
        while (after := min((target.stored.position for target in targets), default=head)) < head:
            with collector_paused():
                batch = self._log.read(after)
                if not batch:  # What the log ended with was deleted since.
                    break
                applied += self._apply(targets, batch)
                del batch  # Freed before the collector would walk it.
            if progress is not None:
                position = min(target.stored.position for target in targets)
                progress(position, max(head, position))
        return applied

    def _apply(self, targets: Sequence[_Target], batch: Sequence[Placed]) -> int:
        """Apply a batch to the targets that haven't passed it; return how many of its events were new."""
        last = batch[-1].position
        behind = [target for target in targets if target.stored.position < last]
        computed = [compute(target.projection, _past(target, batch)) for target in behind]
        try:
            moved = self._commit(behind, computed, last, write)
        except RowRefused:
            moved = self._commit(behind, computed, last, write_singly)
        first = min((target.stored.position for target in moved), default=last)
        for target in moved:
            target.stored = replace(target.stored, position=last)
        if len(moved) < len(behind):
            self._look_up([target for target in behind if target not in moved])
        return sum(placed.position > first for placed in batch)

    def _commit(
        self, targets: Sequence[_Target], computed: Sequence[Computed], position: int, write: Write
    ) -> list[_Target]:
        """Write rows and positions in one transaction; return the targets that were where they should be."""
        at = self._now()
        moved: list[_Target] = []
        with self._database.writing() as transaction:
            for target, rows in zip(targets, computed, strict=True):
                if generations.advance(transaction, target.stored, position, at):
                    poison = write(transaction, target.stored.generation, target.projection, rows)
                    quarantine.add(transaction, target.stored.name, target.stored.generation, poison, at)
                    moved.append(target)
        return moved

    def _look_up(self, targets: Sequence[_Target]) -> None:
        """Find out where other runners have brought these generations. Raises Superseded."""
        known = {(each.name, each.generation): each for each in generations.load(self._database)}
        for target in targets:
            found = known.get((target.stored.name, target.stored.generation))
            if found is None:
                raise Superseded(target.stored.name)
            target.stored = found

    def _now(self) -> str:
        return time_text(self._clock.now())


def _past(target: _Target, batch: Sequence[Placed]) -> Sequence[Placed]:
    position = target.stored.position
    if batch[0].position > position:
        return batch
    return [placed for placed in batch if placed.position > position]
