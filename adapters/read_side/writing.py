"""Computed rows into the tables of a generation, and a way round rows that the database refuses."""

from collections.abc import Callable, Sequence

from tachograph.adapters.read_side.computing import Computed, rows_of
from tachograph.adapters.read_side.database import RowRefused, Transaction
from tachograph.adapters.read_side.quarantine import Poison
from tachograph.projections.projection import Projection

Write = Callable[[Transaction, int, Projection, Computed], Sequence[Poison]]


def write(
    transaction: Transaction, generation: int, projection: Projection, computed: Computed
) -> Sequence[Poison]:
    """Write a batch at once; return the entries that are not in it. Raises RowRefused."""
    for table, rows in computed.rows:
        if rows:
            transaction.write(table, generation, rows)
    return computed.poison


def write_singly(
    transaction: Transaction, generation: int, projection: Projection, computed: Computed
) -> Sequence[Poison]:
    """Write one entry at a time; return also those that the database refused."""
    poison = list(computed.poison)
    for placed in computed.good:
        alone = Computed(rows_of(projection, [placed]), (), ())
        try:
            with transaction.savepoint():
                write(transaction, generation, projection, alone)
        except RowRefused as exc:
            poison.append(Poison(placed, str(exc)))
    return poison
