"""Which agents, prompts and models ran, when, how often, and at what cost."""

from decimal import Decimal
from typing import Any, Final

from tachograph.adapters.reports.report import Column, Row, Section, figures
from tachograph.adapters.reports.source import Source

_AGENTS: Final = """
    SELECT r.agent, r.agent_version, r.definition_digest, COUNT(*), MIN(r.started_at), MAX(r.started_at),
        SUM(CASE WHEN r.source_format IS NULL THEN 0 ELSE 1 END)
    FROM v_runs AS r JOIN span ON r.started_at >= since AND r.started_at < until
    GROUP BY r.agent, r.agent_version, r.definition_digest ORDER BY MIN(r.position)
"""
_MODELS: Final = """
    SELECT t.model_asked, COALESCE(t.model_answered, ''), COUNT(*), COUNT(DISTINCT t.run_id),
        SUM(t.tokens_in), SUM(t.tokens_out), SUM(t.cost_nano_usd),
        SUM(CASE WHEN t.cost_nano_usd IS NULL THEN 1 ELSE 0 END), MIN(t.recorded_at), MAX(t.recorded_at)
    FROM v_turns AS t JOIN span ON t.recorded_at >= since AND t.recorded_at < until
    WHERE t.shared = 0
    GROUP BY t.model_asked, COALESCE(t.model_answered, '') ORDER BY MIN(t.position)
"""
_BY_AGENT: Final = (
    Column("agent"),
    Column("version"),
    Column("definition digest"),
    Column("runs", "number"),
    Column("imported", "number"),
    Column("first run", "time"),
    Column("last run", "time"),
)
_BY_MODEL: Final = (
    Column("model asked for"),
    Column("model that answered"),
    Column("turns", "number"),
    Column("runs", "number"),
    Column("tokens sent", "number"),
    Column("tokens received", "number"),
    Column("cost in USD", "amount"),
    Column("turns without a price", "number"),
    Column("first turn", "time"),
    Column("last turn", "time"),
)


def sections(source: Source) -> list[Section]:
    """Return the figures, versions of agents, and models."""
    agents, models = source.rows(_AGENTS), source.rows(_MODELS)
    cost = sum(row[6] or 0 for row in models)
    return [
        figures(
            [
                ("runs", sum(row[3] for row in agents), "begun in the period"),
                (
                    "definitions",
                    len({row[2] for row in agents}),
                    "of agents: another prompt, tool or limit is another",
                ),
                ("models", len({row[0] for row in models}), "asked for in the period"),
                ("tokens sent", sum(row[4] for row in models), "as the providers counted them"),
                ("tokens received", sum(row[5] for row in models), "as the providers counted them"),
                ("cost", f"{_usd(cost)} USD", "of the turns that have a price"),
            ]
        ),
        Section(
            "agents",
            "Agents and their definitions",
            _BY_AGENT,
            [(*row[:4], row[6], *row[4:6]) for row in agents],
            "The digest covers instructions, tools and limits; the record holds the definition itself.",
        ),
        Section("models", "Models", _BY_MODEL, [_model(row) for row in models]),
    ]


def _model(row: tuple[Any, ...]) -> Row:
    asked, answered, turns, runs, sent, received, cost, unpriced, first, last = row
    usd = None if cost is None else _usd(cost)
    return asked, answered or None, turns, runs, sent, received, usd, unpriced, first, last


def _usd(nano: int) -> str:
    return f"{Decimal(nano).scaleb(-9).normalize():f}"
