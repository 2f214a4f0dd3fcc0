"""Whether the log is whole: gaps, unfinished runs, pauses, clocks, and totals that don't add up."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from tachograph.adapters.reports.report import Column, Row, Section, duration, figures
from tachograph.adapters.reports.source import Source

PAUSE_MS: Final = 900_000
_STREAMS: Final = """
    , counted AS (
        SELECT run_id, COUNT(*) AS events, MIN(version) AS first, MAX(version) AS last,
            MIN(recorded_at) AS began, MAX(recorded_at) AS latest, MAX(tenant) AS tenant,
            SUM(CASE WHEN recorded_at IS NULL THEN 1 ELSE 0 END) AS unreadable,
            SUM(CASE WHEN kind = 'model_turn' THEN 1 ELSE 0 END) AS steps,
            SUM(CASE WHEN kind = 'tool_call' THEN 1 ELSE 0 END) AS tool_calls,
            SUM(CASE WHEN kind = 'tool_error' THEN 1 ELSE 0 END) AS tool_errors
        FROM entries GROUP BY run_id
    )
    SELECT c.run_id, c.events, c.first, c.last, c.began, c.latest, c.tenant, c.unreadable, c.steps,
        c.tool_calls, c.tool_errors, s.agent, e.version, e.steps, e.tool_calls, e.tool_errors
    FROM counted AS c
    JOIN span ON COALESCE(c.latest, since) >= since AND COALESCE(c.began, '') < until
    LEFT JOIN fact_starts_then AS s ON s.run_id = c.run_id
    LEFT JOIN fact_ends_then AS e ON e.run_id = c.run_id
    ORDER BY c.began, c.run_id
"""
_OPEN_BEFORE: Final = """
    SELECT s.run_id, s.agent, MAX(e.recorded_at)
    FROM fact_starts_then AS s JOIN span ON 1 = 1
    LEFT JOIN fact_ends_then AS ended ON ended.run_id = s.run_id
    JOIN entries AS e ON e.run_id = s.run_id
    WHERE ended.run_id IS NULL
    GROUP BY s.run_id, s.agent, s.position, since HAVING MAX(e.recorded_at) < since ORDER BY s.position
"""
_FOLLOWED: Final = """
    , followed AS (
        SELECT run_id, version, position, kind, recorded_at,
            LAG(recorded_at) OVER (PARTITION BY run_id ORDER BY version) AS earlier,
            MAX(recorded_at) OVER (PARTITION BY run_id ORDER BY version
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
        FROM entries
    )
    SELECT f.run_id, f.version, f.kind, f.recorded_at, f.earlier, f.latest, s.run_id
    FROM followed AS f JOIN span ON f.recorded_at >= since AND f.recorded_at < until
    LEFT JOIN fact_starts_then AS s ON s.run_id = f.run_id
    WHERE f.recorded_at < f.latest OR f.kind = 'run_resumed'
        OR SUBSTR(f.earlier, 1, 15) < SUBSTR(f.recorded_at, 1, 15)
    ORDER BY f.position
"""
_SILENCE: Final = """
    , followed AS (
        SELECT e.recorded_at, LAG(e.recorded_at) OVER (ORDER BY e.recorded_at) AS earlier
        FROM entries AS e LEFT JOIN fact_starts_then AS s ON s.run_id = e.run_id
        WHERE e.recorded_at IS NOT NULL AND s.source_format IS NULL
    )
    SELECT earlier, recorded_at FROM followed JOIN span ON recorded_at >= since AND recorded_at < until
    WHERE SUBSTR(earlier, 1, 15) < SUBSTR(recorded_at, 1, 15)
"""
_COLUMNS: Final = (
    Column("finding"),
    Column("run"),
    Column("at", "time"),
    Column("for", "duration"),
    Column("what it means"),
)


class _Stream(NamedTuple):
    """What is counted of a run, an approval or a definition, and what the end of a run says."""

    run_id: str
    events: int
    first: int
    last: int
    began: str | None
    latest: str | None
    tenant: str | None
    unreadable: int
    steps: int
    tool_calls: int
    tool_errors: int
    agent: str | None
    end_version: int | None
    end_steps: int | None
    end_calls: int | None
    end_errors: int | None


def sections(source: Source) -> list[Section]:
    """Return the figures, and one row a finding."""
    streams = [_Stream(*row) for row in source.rows(_STREAMS)]
    lines: list[Row] = [line for stream in streams for line in _of_stream(stream, source.recorded_at)]
    for run_id, agent, latest in source.rows(_OPEN_BEFORE):
        lines.append(_unfinished(run_id, agent, latest, source.recorded_at))
    for run_id, version, kind, at, earlier, latest, run in source.rows(_FOLLOWED):
        lines += _of_times(run_id, version, kind, at, earlier, latest, of_run=run is not None)
    count = Counter(str(line[0]) for line in lines)
    silence_ms = max((_between_ms(before, at) for before, at in source.rows(_SILENCE)), default=0)
    return [
        figures(
            [
                ("events", sum(each.events for each in streams), "of all that has an event in the period"),
                ("runs, approvals, definitions", len(streams), "each counts its events from version 1"),
                ("tenants", len({each.tenant for each in streams} - {None}), "whose events these are"),
                ("first event", min((e.began for e in streams if e.began), default=None), "recorded at, UTC"),
                (
                    "last event",
                    max((e.latest for e in streams if e.latest), default=None),
                    "recorded at, UTC",
                ),
                ("gaps", count["gap"], "a version is missing"),
                ("unreadable", count["unreadable"], "stored, but no event that this release knows"),
                ("unfinished runs", count["unfinished"], "open at the position, whenever they began"),
                ("takeovers", count["takeover"], "a run went on under another owner"),
                ("pauses", count["pause"], "nothing was recorded in a run for 15 minutes or more"),
                ("after the end", count["after the end"], "events follow the end of their run"),
                (
                    "totals that differ",
                    count["totals differ"],
                    "a run's end counts other events than there are",
                ),
                ("clock steps", count["clock stepped back"], "an event is timed before one that it follows"),
                (
                    "longest silence",
                    duration(silence_ms),
                    "nothing at all was recorded; without imports",
                ),
            ]
        ),
        Section(
            "findings",
            "Findings",
            _COLUMNS,
            lines,
            "Order comes from positions and versions, never from a clock. Positions may leave gaps, which "
            "mean "
            "nothing; versions may not. Whether somebody with the database's own rights took whole runs away "
            "can't be seen from the log alone, only against a checkpoint kept elsewhere.",
        ),
    ]


def _of_stream(stream: _Stream, now: str | None) -> Iterator[Row]:
    run_id, at = stream.run_id, stream.latest
    if stream.last != stream.events or stream.first != 1:
        yield "gap", run_id, at, None, f"versions {stream.first} to {stream.last}, but {stream.events} events"
    if stream.unreadable:
        yield "unreadable", run_id, at, None, f"events of it that can't be read: {stream.unreadable}"
    if stream.end_version is None:
        if stream.agent is not None:
            yield _unfinished(run_id, stream.agent, at, now)
        return
    if stream.last > stream.end_version:
        yield "after the end", run_id, at, None, f"ended at version {stream.end_version}, has {stream.last}"
    said = (stream.end_steps, stream.end_calls, stream.end_errors)
    there = (stream.steps, stream.tool_calls, stream.tool_errors)
    if said != there:
        meaning = "turns, calls, errors: its end says {}, {}, {}; there are {}, {}, {}".format(*said, *there)
        yield "totals differ", run_id, at, None, meaning


def _of_times(
    run_id: str, version: int, kind: str, at: str, earlier: str | None, latest: str | None, *, of_run: bool
) -> Iterator[Row]:
    silent_ms = _between_ms(earlier, at)
    if latest is not None and at < latest:
        yield "clock stepped back", run_id, at, _between_ms(at, latest), f"at version {version}, {kind}"
    if kind == "run_resumed":
        yield "takeover", run_id, at, silent_ms, "taken over after this time without an event"
    elif of_run and silent_ms >= PAUSE_MS:
        yield "pause", run_id, at, silent_ms, f"nothing was recorded until {kind}"


def _unfinished(run_id: str, agent: str, latest: str | None, now: str | None) -> Row:
    return "unfinished", run_id, latest, _between_ms(latest, now), f"open run of agent {agent}"


def _between_ms(before: Any, after: Any) -> int:
    if before is None or after is None:
        return 0
    passed = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    return max(0, round(passed.total_seconds() * 1000))
