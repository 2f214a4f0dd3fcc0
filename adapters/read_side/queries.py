"""
The queries of the views: page by page, each page a transaction of its own.

So a reader who takes his time holds nothing: no lock that a rebuild would wait for, no old snapshot that
the database must keep, and no more than a page in memory. A page shows its rows as they are when it is
read; keys don't change, so no row comes twice and none that was there at the start is left out.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from tachograph.adapters.read_side.database import Database
from tachograph.projections import approvals as approvals_view
from tachograph.projections import runs as runs_view
from tachograph.projections import timeline as timeline_view

PAGE_ROWS: Final = 500
_POSITION_MAX: Final = 2**63 - 1
_MILLISECOND: Final = timedelta(milliseconds=1)

_STEPS: Final = """
    SELECT page.trace_id, page.tenant, page.runs, model_turns, tool_calls, tool_errors,
        outcome, ended.runs
    FROM (
        SELECT trace_id, tenant, runs, model_turns, tool_calls, tool_errors FROM step_counts
        WHERE (trace_id, tenant) > (%s, %s){filters} ORDER BY trace_id, tenant LIMIT %s
    ) AS page
    LEFT JOIN step_count_outcomes AS ended
        ON ended.trace_id = page.trace_id AND ended.tenant = page.tenant
    ORDER BY page.trace_id, page.tenant, outcome
"""
_RUNS: Final = """
    SELECT {columns} FROM runs WHERE first_position < %s{filters} ORDER BY first_position DESC LIMIT %s
"""
_TIMELINE: Final = """
    SELECT {columns} FROM timeline WHERE run_id = %s AND version > %s ORDER BY version LIMIT %s
"""
_APPROVALS: Final = """
    SELECT {columns} FROM approvals WHERE first_position > %s{filters} ORDER BY first_position LIMIT %s
"""
_OF_TENANT: Final = " AND tenant = %s"
_OF_SUBJECT: Final = " AND subject = %s"
_OF_EXECUTION: Final = " AND execution = %s"
_PENDING: Final = " AND denied_at IS NULL AND expired_at IS NULL AND votes < needed"
_OF_TRACE: Final = " AND trace_id = %s"
_OF_STATUS: Final = " AND status = %s"
_COUNTS: Final = ("trace_id", "tenant", "runs", "model_turns", "tool_calls", "tool_errors")

Line = dict[str, Any]


def steps(database: Database, trace_id: str | None) -> Iterator[Line]:
    """Yield the counts of each trace, in order of trace id and tenant."""
    query = _STEPS.format(filters="" if trace_id is None else _OF_TRACE)
    filters = [] if trace_id is None else [trace_id]
    after = ("", "")
    while rows := _rows(database, query, *after, *filters, PAGE_ROWS):
        for counts, of_trace in groupby(rows, key=lambda row: row[: len(_COUNTS)]):
            outcomes = {outcome: number for *_, outcome, number in of_trace if outcome is not None}
            yield {**dict(zip(_COUNTS, counts, strict=True)), "outcomes": outcomes}
            after = counts[:2]


def runs(
    database: Database, *, trace_id: str | None, status: str | None, limit: int | None
) -> Iterator[Line]:
    """Yield runs, the one that was recorded last first."""
    names = runs_view.TABLE.column_names
    filters = {_OF_TRACE: trace_id, _OF_STATUS: status}
    given = {condition: value for condition, value in filters.items() if value is not None}
    query = _RUNS.format(columns=", ".join(names), filters="".join(given))
    before, left = _POSITION_MAX, limit
    while left is None or left > 0:
        page_rows = PAGE_ROWS if left is None else min(PAGE_ROWS, left)
        rows = _rows(database, query, before, *given.values(), page_rows)
        if not rows:
            return
        for row in rows:
            line = dict(zip(names, row, strict=True))
            before = line.pop("first_position")
            yield line | {"duration_ms": _duration_ms(line["started_at"], line["last_recorded_at"])}
        left = None if left is None else left - len(rows)


def approvals(
    database: Database, *, tenant: str | None, subject: str | None, execution: str | None, pending: bool
) -> Iterator[Line]:
    """Yield approvals, the one that was asked for first before the others."""
    names = approvals_view.TABLE.column_names
    filters = {_OF_TENANT: tenant, _OF_SUBJECT: subject, _OF_EXECUTION: execution}
    given = {condition: value for condition, value in filters.items() if value is not None}
    conditions = "".join(given) + (_PENDING if pending else "")
    query = _APPROVALS.format(columns=", ".join(names), filters=conditions)
    after = -1
    while rows := _rows(database, query, after, *given.values(), PAGE_ROWS):
        for row in rows:
            line = dict(zip(names, row, strict=True))
            after = line.pop("first_position")
            yield line | {"status": _status(line)}


def _status(line: Line) -> str:
    if line["denied_at"] is not None:
        return "denied"
    if line["expired_at"] is not None:
        return "expired"
    return "granted" if line["votes"] >= line["needed"] else "pending"


def timeline(database: Database, run_id: str) -> Iterator[Line]:
    """Yield what was recorded of a run, in order of version."""
    names = timeline_view.TABLE.column_names
    query = _TIMELINE.format(columns=", ".join(names))
    after, latest = 0, ""
    while rows := _rows(database, query, run_id, after, PAGE_ROWS):
        for row in rows:
            line = dict(zip(names, row, strict=True))
            after, at = line["version"], line["recorded_at"] or latest
            yield line | {"clock_stepped_back": at < latest}
            latest = max(latest, at)


def _rows(database: Database, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with database.reading() as transaction:
        return transaction.rows(query, parameters)


def _duration_ms(first: str | None, last: str | None) -> int | None:
    """Return the time between two recorded times; 0 where the clock stepped back."""
    if first is None or last is None:
        return None
    return max(0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)) // _MILLISECOND)
