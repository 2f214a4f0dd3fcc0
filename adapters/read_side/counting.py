"""Numbers for monitoring out of the views: what was counted, and the calls that wait for a person."""

from collections import Counter
from typing import Any, Final, NamedTuple

from tachograph.adapters.read_side.database import Database

_COUNTS: Final = """
    SELECT metric, agent, label, SUM(number), MIN(first_position) AS since FROM metric_counts
    GROUP BY metric, agent, label ORDER BY since, metric, agent, label
"""
_CALLS: Final = """
    SELECT timeline.run_id, call_key, kind, code FROM runs
    JOIN timeline ON timeline.run_id = runs.run_id
    WHERE status = 'open' AND kind IN ('tool_started', 'tool_call', 'tool_error')
    ORDER BY timeline.run_id, timeline.version
"""
_EFFECTS: Final = """
    SELECT execution, COUNT(*) FROM approvals WHERE execution IN ('started', 'unknown') GROUP BY execution
"""


class Count(NamedTuple):
    """So many of something; in the order in which the first one of each was recorded."""

    metric: str
    agent: str
    label: str
    number: int


def counts(database: Database) -> list[Count]:
    """Return what was counted, over all tenants."""
    with database.reading() as transaction:
        rows = transaction.rows(_COUNTS)
    return [Count(metric, agent, label, int(number)) for metric, agent, label, number, _ in rows]


def in_doubt(database: Database) -> dict[str, int]:
    """
    Return how many calls of open runs, and effects of approvals, have no outcome that is known.

    Returns:
        started: they are under way, or were when their process died; outcome_unknown: a person has to say.
    """
    with database.reading() as transaction:
        calls, effects = transaction.rows(_CALLS), transaction.rows(_EFFECTS)
    last: dict[tuple[str, str], Any] = {(run, key): (kind, code) for run, key, kind, code in calls}
    found = Counter(
        "started" if kind == "tool_started" else "outcome_unknown"
        for kind, code in last.values()
        if kind == "tool_started" or code == "outcome_unknown"
    )
    for execution, number in effects:
        found["started" if execution == "started" else "outcome_unknown"] += number
    return {state: found[state] for state in ("started", "outcome_unknown")}
