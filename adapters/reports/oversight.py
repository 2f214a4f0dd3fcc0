"""How people decide: how often yes, after how long, how often against the agent, how often unread."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from tachograph.adapters.reports.report import Column, Row, Section, duration, figures, median, share
from tachograph.adapters.reports.source import Source
from tachograph.domain.approvals.events import ApprovalDenied, ApprovalGranted

FAST_MS: Final = 5_000
_APPROVALS: Final = """
    SELECT approval_id, a.run_id, a.agent, tool, requested_at, status, decided_at, decided_after_ms,
        refused_answers, escalated_at, last.version
    FROM v_approvals AS a
    JOIN span ON a.requested_at >= since AND a.requested_at < until
    JOIN (SELECT run_id, MAX(version) AS version FROM entries GROUP BY run_id) AS last
        ON last.run_id = a.approval_id
    ORDER BY a.position
"""
_CANCELLED: Final = """
    SELECT COUNT(*) FROM v_runs AS r, span
    WHERE ended_by_person = 1 AND ended_at >= since AND ended_at < until
"""
_SETTLED: Final = """
    SELECT COUNT(*) FROM v_tool_calls AS c, span
    WHERE settled = 1 AND shared = 0 AND recorded_at >= since AND recorded_at < until
"""
_BY_TOOL: Final = (
    Column("agent"),
    Column("tool"),
    Column("asked for", "number"),
    Column("granted", "number"),
    Column("denied", "number"),
    Column("expired", "number"),
    Column("pending", "number"),
    Column("granted of decided", "share"),
    Column("median time", "duration"),
    Column("longest time", "duration"),
)
_BY_PERSON: Final = (
    Column("person"),
    Column("answers", "number"),
    Column("granted", "number"),
    Column("denied", "number"),
    Column("granted of all", "share"),
    Column("median time", "duration"),
    Column("under five seconds", "number"),
)
_FAST: Final = (
    Column("decided", "time"),
    Column("approval"),
    Column("run"),
    Column("agent"),
    Column("status"),
    Column("after", "duration"),
    Column("decided by"),
)


def sections(source: Source) -> list[Section]:
    """Return the figures, the same by tool and by person, and decisions in under five seconds."""
    found = source.rows(_APPROVALS)
    answers = [_answers(source, row) for row in found]
    return [
        _figures(source, found),
        Section(
            "by_tool",
            "By agent and tool",
            _BY_TOOL,
            _by_tool(found),
            "Time: from the request to the decision, of granted and denied ones.",
        ),
        Section(
            "by_person",
            "By person",
            _BY_PERSON,
            _by_person(given for of_one in answers for given in of_one),
            "Every vote counts here, also one of several that were needed. Time: from the request to the "
            "vote.",
        ),
        Section(
            "fast",
            "Decided in under five seconds",
            _FAST,
            [
                (row[6], row[0], row[1], row[2], row[5], row[7], "; ".join(person for person, _, _ in given))
                for row, given in zip(found, answers, strict=True)
                if row[5] in ("granted", "denied") and row[7] < FAST_MS
            ],
        ),
    ]


def _figures(source: Source, found: list[tuple[Any, ...]]) -> Section:
    count = {status: sum(row[5] == status for row in found) for status in _STATUSES}
    times = [row[7] for row in found if row[5] in ("granted", "denied")]
    decided = len(times)
    [[cancelled]], [[settled]] = source.rows(_CANCELLED), source.rows(_SETTLED)
    rate, middle = share(count["granted"], decided), median(times)
    return figures(
        [
            ("asked for", len(found), "approvals asked for in the period"),
            ("decided by people", decided, "of these, granted or denied up to the position"),
            ("granted", count["granted"], "as many people said yes as were needed"),
            ("approval rate", None if rate is None else f"{rate} %", "granted of those decided by people"),
            ("median time to decide", None if middle is None else duration(middle), "by people"),
            ("under five seconds", sum(at < FAST_MS for at in times), "decided faster than one can read"),
            ("expired", count["expired"], "nobody decided in time"),
            ("pending", count["pending"], "nobody has decided yet"),
            ("escalated", sum(row[9] is not None for row in found), "somebody else had to look"),
            ("refused answers", sum(row[8] for row in found), "answers that counted for nothing"),
            ("overrides", count["denied"] + cancelled + settled, "the three below together"),
            ("denied", count["denied"], "a person said no to what the agent asked for"),
            ("runs ended by a person", cancelled, "cancelled in the period"),
            ("calls settled by a person", settled, "found out by a person in the period, after a crash"),
        ]
    )


def _by_tool(found: list[tuple[Any, ...]]) -> list[Row]:
    groups: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for row in found:
        groups[row[2], row[3]].append(row)
    lines: list[Row] = []
    for (agent, tool), rows in sorted(groups.items()):
        count = [sum(row[5] == status for row in rows) for status in _STATUSES]
        times = [row[7] for row in rows if row[5] in ("granted", "denied")]
        rate = share(count[0], len(times))
        lines.append((agent, tool, len(rows), *count, rate, median(times), max(times, default=None)))
    return lines


def _answers(source: Source, row: tuple[Any, ...]) -> list[tuple[str, str, int]]:
    """Return who answered, what, and after how many milliseconds."""
    if row[5] in ("pending", "expired") and not row[8]:
        return []
    events = [event for _, event in source.events(row[0], row[10])]
    return [
        (
            event.by,
            "granted" if isinstance(event, ApprovalGranted) else "denied",
            max(0, round((event.recorded_at - events[0].recorded_at).total_seconds() * 1000)),
        )
        for event in events
        if isinstance(event, ApprovalGranted | ApprovalDenied)
    ]


def _by_person(answers: Iterable[tuple[str, str, int]]) -> list[Row]:
    groups: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for person, answer, after_ms in answers:
        groups[person].append((answer, after_ms))
    lines: list[Row] = []
    for person, given in sorted(groups.items()):
        granted = sum(answer == "granted" for answer, _ in given)
        times = [after_ms for _, after_ms in given]
        fast = sum(after_ms < FAST_MS for after_ms in times)
        rate = share(granted, len(given))
        lines.append((person, len(given), granted, len(given) - granted, rate, median(times), fast))
    return lines


_STATUSES: Final = ("granted", "denied", "expired", "pending")
