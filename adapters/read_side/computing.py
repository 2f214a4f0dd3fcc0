"""From a batch to rows, with what a projection can't take set aside."""

from collections.abc import Sequence
from dataclasses import dataclass

from tachograph.adapters.read_side.quarantine import Poison
from tachograph.projections.projection import Placed, Projection, Rows, Table, merged

NO_BEGINNING = "the beginning of its run can't be read, so its trace and tenant are unknown"


@dataclass(frozen=True, slots=True)
class Computed:
    """What a batch comes to: rows to write, the entries that are in them, and those that aren't."""

    rows: tuple[tuple[Table, Rows], ...]
    good: Sequence[Placed]
    poison: Sequence[Poison]


def compute(projection: Projection, batch: Sequence[Placed]) -> Computed:
    """Apply a projection to a batch; if it raises, to one entry at a time, leaving out those that make it."""
    wanted, poison = _wanted(projection, batch)
    try:
        return Computed(rows_of(projection, wanted), wanted, poison)
    except Exception:  # Whatever an entry provokes: found below, recorded, and shown.
        good: list[Placed] = []
        for placed in wanted:
            try:
                rows_of(projection, [placed])
            except Exception as exc:
                poison.append(Poison(placed, f"{type(exc).__name__}: {exc}"))
            else:
                good.append(placed)
        return Computed(rows_of(projection, good), good, poison)


def rows_of(projection: Projection, batch: Sequence[Placed]) -> tuple[tuple[Table, Rows], ...]:
    """Return the rows of a batch, ready to be written, table by table."""
    changes = projection.changes(batch)
    return tuple((table, merged(table, changes.get(table.name, ()))) for table in projection.tables)


def _wanted(projection: Projection, batch: Sequence[Placed]) -> tuple[list[Placed], list[Poison]]:
    kinds = projection.kinds
    if projection.shows_unreadable:
        return [placed for placed in batch if kinds is None or placed.kind in kinds], []
    wanted: list[Placed] = []
    poison: list[Poison] = []
    for placed in batch:
        if placed.event is None:
            poison.append(Poison(placed, placed.why or "unreadable"))
        elif kinds is None or placed.kind in kinds:
            if placed.trace_id is None:
                poison.append(Poison(placed, NO_BEGINNING))
            else:
                wanted.append(placed)
    return wanted, poison
