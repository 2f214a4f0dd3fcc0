"""
Queries of the facts as they stood at a position: what was recorded past it is as if it weren't there.

A query names the views of auditors (`v_runs` ...), `entries` for every entry of the log (the timeline), and
`span` for what was asked for: a time lies in the period if it is at or after `since` and before `until`.
"""

from decimal import Decimal
from typing import Any, Final, NamedTuple

from tachograph.adapters.read_side.database import Database
from tachograph.projections.facts import FACTS
from tachograph.projections.timeline import TIMELINE

_ASKED: Final = """
    WITH span AS (SELECT COALESCE(CAST(%s AS TEXT), '') AS since, COALESCE(CAST(%s AS TEXT), '~') AS until),
    asked AS (SELECT CAST(%s AS TEXT) AS tenant, CAST(%s AS BIGINT) AS position)"""
_THEN: Final = """{name} AS (
    SELECT fact.* FROM {table} AS fact, asked
    WHERE fact.position <= asked.position AND (asked.tenant IS NULL OR fact.tenant = asked.tenant)
)"""
_LAST: Final = """
    SELECT MAX(recorded_at) FROM timeline
    WHERE position <= %s AND run_id NOT IN (SELECT run_id FROM fact_starts WHERE source_format IS NOT NULL)
"""


class Span(NamedTuple):
    """
    What a query is about.

    Args:
        since, until: From and before which time, UTC, ISO 8601 with six decimals; None: without limit.
        tenant: None means all.
    """

    position: int
    since: str | None = None
    until: str | None = None
    tenant: str | None = None


def rows(database: Database, query: str, span: Span) -> list[tuple[Any, ...]]:
    """Return the rows of a query as they stood at the span's position. Sums are integers, as counts are."""
    parameters = (span.since, span.until, span.tenant, span.position)
    with database.reading() as transaction:
        found = transaction.rows(f"{_PRELUDE}{query}", parameters)
    return [tuple(int(cell) if isinstance(cell, Decimal) else cell for cell in row) for row in found]


def recorded_at(database: Database, position: int) -> str | None:
    """Return the latest time recorded up to a position; what was imported has the times of its file."""
    with database.reading() as transaction:
        [[at]] = transaction.rows(_LAST, (position,))
    return None if at is None else str(at)


def _prelude() -> str:
    then = {table.name: f"{table.name}_then" for table in FACTS.tables}
    parts = [_THEN.format(name=name, table=table) for table, name in then.items()]
    parts.append(_THEN.format(name="entries", table=TIMELINE.tables[0].name))
    names = then | {view.name: view.name for view in FACTS.views}
    for view in FACTS.views:
        parts.append(f"{view.name} ({', '.join(view.columns)}) AS ({view.query.format_map(names)})")
    return ",\n".join([_ASKED, *parts]) + "\n"


_PRELUDE: Final = _prelude()
