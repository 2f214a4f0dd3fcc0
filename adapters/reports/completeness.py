"""Whether the log is whole: gaps, unfinished runs, pauses, clocks, and totals that don't add up."""

from collections import Counter
from datetime import datetime
from typing import Any, Final

from tachograph.adapters.reports.report import Column, Row, Section, figures
from tachograph.adapters.reports.source import Source

PAUSE_S: Final = 900
_IN_PERIOD: Final = """
    period AS (
        SELECT run_id FROM entries, span GROUP BY run_id, since, until
        HAVING COALESCE(MAX(recorded_at), since) >= since AND COALESCE(MIN(recorded_at), '') < until
    )
"""
_STREAMS: Final = """
    , {_IN_PERIOD}
    SELECT COUNT(*), COUNT(DISTINCT e.run_id), SUM(CASE WHEN e.recorded_at IS NULL THEN 1 ELSE 0 END),
        MIN(e.recorded_at), MAX(e.recorded_at), COUNT(DISTINCT e.tenant)
    FROM entries AS e JOIN period ON period.run_id = e.run_id
"""
_GAPS: Final = f"""
    , {_IN_PERIOD}
    SELECT e.run_id, MAX(e.recorded_at), MAX(e.version), COUNT(*), MIN(e.version)
    FROM entries AS e JOIN period ON period.run_id = e.run_id
    GROUP BY e.run_id HAVING MAX(e.version) <> COUNT(*) OR MIN(e.version) <> 1 ORDER BY e.run_id
"""
_UNREADABLE: Final = f"""
    , {_IN_PERIOD}
    SELECT e.run_id, e.version, e.kind, e.position
    FROM entries AS e JOIN period ON period.run_id = e.run_id WHERE e.recorded_at IS NULL ORDER BY e.position
"""
_OPEN: Final = """
    SELECT r.run_id, MAX(e.recorded_at), r.agent, r.position
    FROM v_runs AS r JOIN span ON r.started_at < until
    JOIN entries AS e ON e.run_id = r.run_id
    WHERE r.outcome IS NULL GROUP BY r.run_id, r.agent, r.position ORDER BY r.position
"""
_AFTER_END: Final = """
    , {_IN_PERIOD}
    SELECT e.run_id, e.recorded_at, e.version, e.kind
    FROM fact_ends_then AS ended JOIN entries AS e ON e.run_id = ended.run_id AND e.version > ended.version
    JOIN period ON period.run_id = e.run_id ORDER BY e.position
"""
_TOTALS: Final = f"""
    , {_IN_PERIOD}, counted AS (
        SELECT run_id, SUM(CASE WHEN kind = 'model_turn' THEN 1 ELSE 0 END) AS steps,
            SUM(CASE WHEN kind = 'tool_call' THEN 1 ELSE 0 END) AS tool_calls,
            SUM(CASE WHEN kind = 'tool_error' THEN 1 ELSE 0 END) AS tool_errors
        FROM entries GROUP BY run_id
    )
    SELECT ended.run_id, ended.recorded_at, ended.steps, counted.steps, ended.tool_calls, counted.tool_calls,
        ended.tool_errors, counted.tool_errors
    FROM fact_ends_then AS ended JOIN counted ON counted.run_id = ended.run_id
    JOIN period ON period.run_id = ended.run_id
    WHERE ended.steps <> counted.steps OR ended.tool_calls <> counted.tool_calls
        OR ended.tool_errors <> counted.tool_errors
    ORDER BY ended.position
"""
_STEPS_BACK: Final = f"""
    , {_IN_PERIOD}, followed AS (
        SELECT run_id, version, position, recorded_at,
            MAX(recorded_at) OVER (PARTITION BY run_id ORDER BY version
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
        FROM entries
    )
    SELECT f.run_id, f.recorded_at, f.version, f.latest
    FROM followed AS f JOIN period ON period.run_id = f.run_id
    WHERE f.recorded_at < f.latest ORDER BY f.position
"""
_PAUSES: Final = """
    , followed AS (
        SELECT e.run_id, e.version, e.position, e.kind, e.recorded_at,
            LAG(e.recorded_at) OVER (PARTITION BY e.run_id ORDER BY e.version) AS earlier
        FROM entries AS e JOIN fact_starts_then AS s ON s.run_id = e.run_id
    )
    SELECT run_id, recorded_at, earlier, kind
    FROM followed JOIN span ON recorded_at >= since AND recorded_at < until
    WHERE earlier IS NOT NULL
        AND (kind = 'run_resumed' OR SUBSTR(earlier, 1, 15) < SUBSTR(recorded_at, 1, 15))
    ORDER BY position
"""
_SILENCE: Final = """
    , followed AS (
        SELECT recorded_at, LAG(recorded_at) OVER (ORDER BY position) AS earlier
        FROM entries WHERE recorded_at IS NOT NULL
    )
    SELECT earlier, recorded_at FROM followed JOIN span ON recorded_at >= since AND recorded_at < until
    WHERE SUBSTR(earlier, 1, 13) < SUBSTR(recorded_at, 1, 13) ORDER BY recorded_at
"""
_COLUMNS: Final = (
    Column("finding"),
    Column("run"),
    Column("at", "time"),
    Column("for", "duration"),
    Column("what it means"),
)


def sections(source: Source) -> list[Section]:
    """Return the figures, and one row a finding."""
    lines = [*_missing(source), *_unfinished(source), *_contradictions(source), *_pauses(source)]
    count = Counter(str(line[0]) for line in lines)
    [[events, streams, unreadable, first, last, tenants]] = source.rows(_STREAMS)
    silence = max((_between_ms(before, at) for before, at in source.rows(_SILENCE)), default=0)
    return [
        figures(
            [
                ("events", events, "in the log up to the position, of what has an event in the period"),
                ("runs, approvals, definitions", streams, "each with its own events, counted from version 1"),
                ("tenants", tenants, "whose events these are"),
                ("first event", first, "recorded at, UTC"),
                ("last event", last, "recorded at, UTC"),
                ("gaps", count["gap"], "a version of a run is missing"),
                ("unreadable events", unreadable, "stored, but no event that this release knows"),
                ("unfinished runs", count["unfinished"], "open at the position"),
                ("takeovers", count["takeover"], "a run went on under another owner"),
                ("pauses", count["pause"], "nothing was recorded in a run for 15 minutes or more"),
                ("after the end", count["after the end"], "an event follows the end of its run"),
                (
                    "totals that differ",
                    count["totals differ"],
                    "the end of a run counts other events than there are",
                ),
                ("clock steps", count["clock stepped back"], "an event is timed before one that it follows"),
                ("longest silence", f"{silence // 1000} s", "time in which nothing at all was recorded"),
            ]
        ),
        Section(
            "findings",
            "Findings",
            _COLUMNS,
            lines,
            "Order comes from positions and versions, never from a clock. Positions may leave gaps, which "
            "mean "
            "nothing; versions of a run may not. Whether somebody with the database's own rights took whole "
            "runs "
            "away can't be seen from the log alone, only against a checkpoint kept elsewhere.",
        ),
    ]


def _missing(source: Source) -> list[Row]:
    gaps: list[Row] = [
        ("gap", run_id, at, None, f"versions {first} to {last}, but {count} events")
        for run_id, at, last, count, first in source.rows(_GAPS)
    ]
    return gaps + [
        ("unreadable", run_id, None, None, f"version {version}, position {position}: {kind}")
        for run_id, version, kind, position in source.rows(_UNREADABLE)
    ]


def _unfinished(source: Source) -> list[Row]:
    return [
        ("unfinished", run_id, at, _between_ms(at, source.recorded_at), f"open run of agent {agent}")
        for run_id, at, agent, _ in source.rows(_OPEN)
    ]


def _contradictions(source: Source) -> list[Row]:
    lines: list[Row] = [
        ("after the end", run_id, at, None, f"version {version}: {kind}")
        for run_id, at, version, kind in source.rows(_AFTER_END)
    ]
    for run_id, at, steps, turns, calls, called, errors, failed in source.rows(_TOTALS):
        there = f"there are {turns}, {called}, {failed}"
        said = f"its end says {steps} turns, {calls} calls, {errors} errors; {there}"
        lines.append(("totals differ", run_id, at, None, said))
    for run_id, at, version, latest in source.rows(_STEPS_BACK):
        lines.append(("clock stepped back", run_id, at, _between_ms(at, latest), f"at version {version}"))
    return lines


def _pauses(source: Source) -> list[Row]:
    lines: list[Row] = []
    for run_id, at, before, kind in source.rows(_PAUSES):
        silent_ms = _between_ms(before, at)
        if kind == "run_resumed":
            lines.append(("takeover", run_id, at, silent_ms, "taken over after this time without an event"))
        elif silent_ms >= PAUSE_S * 1000:
            lines.append(("pause", run_id, at, silent_ms, f"before {kind}"))
    return lines


def _between_ms(before: Any, after: Any) -> int:
    if before is None or after is None:
        return 0
    passed = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    return max(0, round(passed.total_seconds() * 1000))
