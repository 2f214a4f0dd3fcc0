"""Which values decisions rested on that stand in no evidence, by the verdicts recorded with them."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tachograph.adapters.reports.report import Column, Row, Section, figures, share
from tachograph.adapters.reports.source import Source
from tachograph.domain.events import Terminal

DOUBTFUL: Final = ("unsupported", "weak", "coincidental", "not_searched")
_JUDGED: Final = """
    SELECT SUM(CASE WHEN e.judged_by IS NULL THEN 0 ELSE 1 END), COUNT(*)
    FROM fact_ends_then AS e JOIN span ON e.recorded_at >= since AND e.recorded_at < until
    WHERE e.tool IS NOT NULL
"""
_VERDICTS: Final = """
    SELECT v.agent, v.verdict, SUM(v.arguments), COUNT(*)
    FROM fact_verdicts_then AS v JOIN span ON v.recorded_at >= since AND v.recorded_at < until
    GROUP BY v.agent, v.verdict ORDER BY v.agent, v.verdict
"""
_ENDS: Final = """
    SELECT v.run_id, v.version, e.recorded_at, v.tenant, v.agent, e.tool, e.outcome
    FROM (
        SELECT DISTINCT run_id, version, tenant, agent FROM fact_verdicts_then
        WHERE verdict IN ('unsupported', 'weak', 'coincidental', 'not_searched')
    ) AS v
    JOIN fact_ends_then AS e ON e.run_id = v.run_id AND e.version = v.version
    JOIN span ON e.recorded_at >= since AND e.recorded_at < until ORDER BY e.position
"""
_REFUSED: Final = """
    SELECT c.recorded_at, c.run_id, c.tenant, c.agent, c.call_key, c.tool
    FROM v_tool_calls AS c JOIN span ON c.recorded_at >= since AND c.recorded_at < until
    WHERE c.code = 'unsupported_argument' AND c.shared = 0 ORDER BY c.position
"""
_BY_VERDICT: Final = (
    Column("agent"),
    Column("verdict"),
    Column("arguments", "number"),
    Column("runs", "number"),
    Column("of the agent's arguments", "share"),
)
_COLUMNS: Final = (
    Column("at", "time"),
    Column("run"),
    Column("tenant"),
    Column("agent"),
    Column("tool"),
    Column("argument"),
    Column("verdict"),
    Column("how it ended"),
)
_ATTEMPTS: Final = (
    Column("at", "time"),
    Column("run"),
    Column("tenant"),
    Column("agent"),
    Column("call"),
    Column("tool"),
)


def sections(source: Source) -> list[Section]:
    """Return the figures, verdicts by agent, doubtful arguments, and attempts that the gate refused."""
    [[judged, ended]] = source.rows(_JUDGED)
    verdicts = source.rows(_VERDICTS)
    refused = source.rows(_REFUSED)
    of_agent = Counter[str]()
    by_verdict = Counter[str]()
    for agent, verdict, number, _ in verdicts:
        of_agent[agent] += number
        by_verdict[verdict] += number
    return [
        figures(
            [
                ("decisions", ended, "runs that ended by a terminal call, in the period"),
                (
                    "judged",
                    judged or 0,
                    "of these, with verdicts recorded: the agent has the gate or declares sources",
                ),
                ("arguments judged", by_verdict.total(), "in them"),
                *(
                    (verdict.replace("_", " "), by_verdict[verdict], _MEANINGS[verdict])
                    for verdict in DOUBTFUL
                ),
                ("refused by the gate", len(refused), "calls that would have rested on such a value"),
            ]
        ),
        Section(
            "verdicts",
            "By agent and verdict",
            _BY_VERDICT,
            [(*row, share(row[2], of_agent[row[0]])) for row in verdicts],
        ),
        Section(
            "arguments",
            "Arguments in doubt",
            _COLUMNS,
            list(_in_doubt(source)),
            "As judged when the run ended. A value that is supported can still be wrong; one that is not "
            "may be "
            "right. `tachograph why RUN` shows where each value came from, also for runs that were not "
            "judged.",
        ),
        Section("refused", "Attempts that the gate refused", _ATTEMPTS, refused),
    ]


def _in_doubt(source: Source) -> Iterator[Row]:
    for run_id, version, at, tenant, agent, tool, outcome in source.rows(_ENDS):
        for place, event in source.events(run_id, version):
            if place == version and isinstance(event, Terminal) and event.provenance is not None:
                for pointer, verdict in sorted(event.provenance.verdicts.items()):
                    if verdict in DOUBTFUL:
                        yield at, run_id, tenant, agent, tool, pointer, verdict, outcome


_MEANINGS: Final = {
    "unsupported": "found nowhere in what the run had seen",
    "weak": "a small number or short word under the same name",
    "coincidental": "a small number or short word that merely occurs somewhere",
    "not_searched": "the evidence was larger than the limit",
}
