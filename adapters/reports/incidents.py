"""What failed, was blocked, or has an outcome that nobody knows."""

from collections import Counter
from typing import Final

from tachograph.adapters.reports.report import Column, Section, figures, share
from tachograph.adapters.reports.source import Source

_FINDINGS: Final = """
    SELECT f.recorded_at, f.finding, f.run_id, f.version, f.tenant, f.agent, f.tool, f.code
    FROM v_findings AS f JOIN span ON f.recorded_at >= since AND f.recorded_at < until
    WHERE f.finding NOT IN ('unsupported_value', 'taken_over', 'answer_refused', 'approval_escalated')
    ORDER BY f.position, f.version, f.finding
"""
_CALLS: Final = """
    SELECT COUNT(*) FROM v_tool_calls AS c JOIN span ON c.recorded_at >= since AND c.recorded_at < until
    WHERE c.shared = 0
"""
_RUNS: Final = """
    SELECT COUNT(*), COALESCE(SUM(budget_hit), 0)
    FROM v_runs AS r JOIN span ON r.ended_at >= since AND r.ended_at < until
"""
_RETRIES: Final = """
    SELECT COALESCE(SUM(retries), 0)
    FROM v_turns AS t JOIN span ON t.recorded_at >= since AND t.recorded_at < until WHERE shared = 0
"""
SERIOUS: Final = ("outcome_unknown", "effect_failed", "effect_unknown")
_KINDS: Final = (
    Column("finding"),
    Column("agent"),
    Column("tool"),
    Column("code"),
    Column("times", "number"),
    Column("runs", "number"),
)
_COLUMNS: Final = (
    Column("at", "time"),
    Column("finding"),
    Column("run or approval"),
    Column("version", "number"),
    Column("tenant"),
    Column("agent"),
    Column("tool"),
    Column("code"),
)


def sections(source: Source) -> list[Section]:
    """Return the figures, findings by kind, and one row a finding that is more than a failed call."""
    found = source.rows(_FINDINGS)
    [[calls]], [[runs, budgets]], [[retries]] = (source.rows(query) for query in (_CALLS, _RUNS, _RETRIES))
    kinds = Counter(row[1] for row in found)
    by_kind = Counter((row[1], row[5], row[6], row[7]) for row in found)
    runs_of = Counter(key for key, _ in {((row[1], row[5], row[6], row[7]), row[2]) for row in found})
    failed = kinds["tool_error"] + kinds["outcome_unknown"] + kinds["unsupported_argument"]
    rate = share(failed, calls)
    return [
        figures(
            [
                ("runs ended", runs, "in the period"),
                ("blocked", kinds["run_blocked"], "of these, by a limit, a rule or a person"),
                ("budgets hit", budgets, "blocked by a limit of the budget"),
                ("tool calls", calls, "with a result in the period"),
                ("failed or refused", failed, "of these"),
                ("error rate", None if rate is None else f"{rate} %", "failed or refused, of all calls"),
                ("outcome unknown", kinds["outcome_unknown"], "a crash left a call in doubt"),
                ("effects failed", kinds["effect_failed"], "of a granted approval"),
                ("effects unknown", kinds["effect_unknown"], "of a granted approval, in doubt"),
                ("answers rejected", kinds["turn_rejected"], "the model's provider gave no usable answer"),
                ("retries", retries, "attempts at a model that gave no answer"),
                ("approvals expired", kinds["approval_expired"], "nobody decided in time"),
            ]
        ),
        Section(
            "kinds",
            "By kind",
            _KINDS,
            [
                (*key, times, runs_of[key])
                for key, times in sorted(by_kind.items(), key=lambda one: (-one[1], *map(str, one[0])))
            ],
        ),
        Section(
            "incidents",
            "Each incident",
            _COLUMNS,
            [row for row in found if row[1] not in ("tool_error", "unsupported_argument")],
            "Failed and refused calls are counted above; `v_findings` has each. What was said of an error "
            "is in the "
            "record alone: `tachograph show RUN`. Whether an incident has to be reported is not in it.",
        ),
    ]
