"""What agents decided or changed without a person in between."""

from typing import Final

from tachograph.adapters.reports.report import Column, Section, figures, share
from tachograph.adapters.reports.source import Source

_ENDED: Final = """
    SELECT r.agent, r.outcome, COUNT(*), SUM(CASE WHEN a.approval_id IS NULL THEN 0 ELSE 1 END),
        SUM(r.ended_by_person), SUM(CASE WHEN r.source_format IS NULL THEN 0 ELSE 1 END)
    FROM v_runs AS r JOIN span ON r.ended_at >= since AND r.ended_at < until
    LEFT JOIN v_approvals AS a ON a.run_id = r.run_id
    GROUP BY r.agent, r.outcome ORDER BY r.agent, r.outcome
"""
_CHANGES: Final = """
    SELECT c.recorded_at, c.run_id, c.tenant, c.agent, c.call_key, c.tool, c.effect, c.code, c.settled
    FROM v_tool_calls AS c JOIN span ON c.recorded_at >= since AND c.recorded_at < until
    WHERE c.effect IS NOT NULL AND c.shared = 0 ORDER BY c.position
"""
_EFFECTS: Final = """
    SELECT COUNT(*) FROM fact_effects_then AS x JOIN span ON x.recorded_at >= since AND x.recorded_at < until
    WHERE x.state = 'done'
"""
_UNKNOWN: Final = """
    SELECT COUNT(*) FROM v_tool_calls AS c JOIN span ON c.recorded_at >= since AND c.recorded_at < until
    JOIN v_runs AS r ON r.run_id = c.run_id
    WHERE r.source_format IS NOT NULL AND c.code IS NULL AND c.shared = 0
"""
_COLUMNS: Final = (
    Column("at", "time"),
    Column("run"),
    Column("tenant"),
    Column("agent"),
    Column("call"),
    Column("tool"),
    Column("effect"),
    Column("result"),
)
_OUTCOMES: Final = (
    Column("agent"),
    Column("outcome"),
    Column("runs", "number"),
    Column("with an approval", "number"),
    Column("ended by a person", "number"),
    Column("imported", "number"),
    Column("of all runs", "share"),
)
ALONE: Final = ("answered", "needs_clarification", "blocked")


def sections(source: Source) -> list[Section]:
    """Return the figures, outcomes by agent, and one row a change that an agent made by itself."""
    ended = source.rows(_ENDED)
    changes = source.rows(_CHANGES)
    [[effects]], [[unknown]] = source.rows(_EFFECTS), source.rows(_UNKNOWN)
    every = sum(row[2] for row in ended)
    alone = sum(row[2] - row[3] - row[4] for row in ended if row[1] in ALONE)
    part = share(alone, every)
    return [
        figures(
            [
                ("runs ended", every, "in the period"),
                (
                    "without a person",
                    alone,
                    "answered, asked back or blocked: no approval, no hand-off, no cancel",
                ),
                ("share without a person", None if part is None else f"{part} %", "of all that ended"),
                ("handed to a person", sum(row[2] for row in ended if row[1] == "handed_off"), "handed off"),
                ("asked a person", sum(row[3] for row in ended), "ended by asking for an approval"),
                (
                    "changes by agents alone",
                    len(changes),
                    "calls of tools that change the world, no approval before",
                ),
                ("changes after approval", effects, "effects of approvals that were done"),
                (
                    "calls of imported runs",
                    unknown,
                    "their record doesn't say which of them changed something",
                ),
            ]
        ),
        Section("outcomes", "How runs ended", _OUTCOMES, [(*row, share(row[2], every)) for row in ended]),
        Section(
            "changes",
            "Changes that agents made by themselves",
            _COLUMNS,
            [
                (*row[:7], "done" if row[7] is None else row[7] + (", settled by a person" if row[8] else ""))
                for row in changes
            ],
            "Tools whose effect is `idempotent` or `once`, called within a run. Whether a decision has "
            "legal or "
            "similarly significant effects for somebody is not in the record.",
        ),
    ]
