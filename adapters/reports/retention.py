"""How far the record reaches back, and what the rules about keeping it ask for."""

from datetime import datetime, timedelta
from typing import Final

from tachograph.adapters.reports.report import Column, Row, Section, figures
from tachograph.adapters.reports.rule_sets import retention_rules
from tachograph.adapters.reports.source import Source

_MONTHS: Final = """
    SELECT tenant, SUBSTR(recorded_at, 1, 7) AS month, COUNT(*), COUNT(DISTINCT run_id), MIN(recorded_at),
        MAX(recorded_at)
    FROM (
        SELECT e.* FROM entries AS e LEFT JOIN fact_starts_then AS s ON s.run_id = e.run_id
        WHERE s.source_format IS NULL
    ) AS here
    JOIN span ON recorded_at >= since AND recorded_at < until
    GROUP BY tenant, SUBSTR(recorded_at, 1, 7) ORDER BY month, tenant
"""
_ALL: Final = """
    SELECT MIN(CASE WHEN s.source_format IS NULL THEN e.recorded_at END),
        SUM(CASE WHEN s.source_format IS NULL THEN 0 ELSE 1 END)
    FROM entries AS e LEFT JOIN fact_starts_then AS s ON s.run_id = e.run_id
"""
_COLUMNS: Final = (
    Column("month (UTC)"),
    Column("tenant"),
    Column("events", "number"),
    Column("runs and approvals", "number"),
    Column("first event", "time"),
    Column("last event", "time"),
)
_RULES: Final = (
    Column("rule"),
    Column("clause"),
    Column("keep at least (months)", "number"),
    Column("whose"),
    Column("the record reaches back"),
)
_DAY: Final = timedelta(days=1)
_DAYS_OF_A_MONTH_MAX: Final = 31


def sections(source: Source) -> list[Section]:
    """Return the figures, the record month by month, and what rules ask for."""
    found = source.rows(_MONTHS)
    [[first, imported]] = source.rows(_ALL)
    days = _days(first, source.recorded_at)
    return [
        figures(
            [
                ("first event", first, "of the whole record, UTC"),
                ("last event", source.recorded_at, "up to the position, UTC"),
                ("days kept so far", days, "from the first event to the position"),
                ("events", sum(row[2] for row in found), "in the period"),
                ("imported events", imported or 0, "not counted here: their times are those of their file"),
                ("removed", 0, "events that were removed: the log is append-only, and has no way to do it"),
            ]
        ),
        Section(
            "months",
            "The record month by month",
            _COLUMNS,
            [(row[1], row[0], *row[2:]) for row in found],
            "By the time that an event was recorded. Events of no tenant are definitions of agents.",
        ),
        Section(
            "rules",
            "What rules ask for",
            _RULES,
            [_rule(rule, clause, months, whose, days) for rule, clause, months, whose in retention_rules()],
            "A record that is younger than a rule asks for may still be complete: nothing in it was "
            "removed. How "
            "long the database and its backups are kept is decided outside of this program.",
        ),
    ]


def _rule(rule: str, clause: str, months: int, whose: str, days: int | None) -> Row:
    if days is None:
        return rule, clause, months, whose, "nothing is recorded"
    asked = months * _DAYS_OF_A_MONTH_MAX
    return rule, clause, months, whose, f"{days} days: {'as far' if days >= asked else 'not yet as far'}"


def _days(first: str | None, last: str | None) -> int | None:
    if first is None or last is None:
        return None
    return max(timedelta(), datetime.fromisoformat(last) - datetime.fromisoformat(first)) // _DAY
