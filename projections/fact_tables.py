"""
The tables of facts: one row an event, never changed afterwards.

Each row has the position of its event, so whoever leaves out what lies past a position sees the facts as they
stood there. None of it is personal: of what was asked for there is the amount, of people there is nothing.
"""

from typing import Final

from tachograph.projections.projection import Column, Table

_PLACE: Final = (
    Column("position", "INTEGER", required=True),
    Column("run_id", "TEXT", required=True),
    Column("version", "INTEGER", required=True),
    Column("trace_id", "TEXT", required=True),
    Column("tenant", "TEXT", required=True),
    Column("agent", "TEXT"),
    Column("recorded_at", "TEXT", required=True),
    Column("recorded_us", "INTEGER", required=True),
    Column("shared", "INTEGER", required=True),
)


def _table(name: str, *columns: Column, key: tuple[str, ...] = ("run_id", "version")) -> Table:
    """Return a table of facts. In those of approvals, `run_id` is the approval's own id."""
    return Table(name, (*_PLACE, *columns), key, indexes=(("position",), ("recorded_at",)))


STARTS: Final = _table(
    "fact_starts",
    Column("agent_version", "TEXT"),
    Column("definition_digest", "TEXT"),
    Column("catalogue_digest", "TEXT"),
    Column("source_format", "TEXT"),
    Column("source_clock", "TEXT"),
    Column("continues", "TEXT"),
    Column("forked_from", "TEXT"),
    Column("fork_live", "INTEGER"),
    Column("max_steps", "INTEGER"),
)
TAKEOVERS: Final = _table("fact_takeovers", Column("owner", "TEXT"), Column("by_worker", "INTEGER"))
TURNS: Final = _table(
    "fact_turns",
    Column("step", "INTEGER"),
    Column("model_asked", "TEXT"),
    Column("model_answered", "TEXT"),
    Column("finish_reason", "TEXT"),
    Column("calls", "INTEGER"),
    Column("tokens_in", "INTEGER"),
    Column("tokens_out", "INTEGER"),
    Column("cost_nano_usd", "INTEGER"),
    Column("retries", "INTEGER"),
    Column("latency_ms", "INTEGER"),
    Column("rejected", "INTEGER"),
)
BEGUN: Final = _table(
    "fact_begun", Column("call_key", "TEXT"), Column("tool", "TEXT"), Column("effect", "TEXT")
)
CALLS: Final = _table(
    "fact_calls",
    Column("call_key", "TEXT"),
    Column("tool", "TEXT"),
    Column("code", "TEXT"),
    Column("duration_ms", "INTEGER"),
    Column("settled", "INTEGER"),
)
ENDS: Final = _table(
    "fact_ends",
    Column("outcome", "TEXT"),
    Column("reason", "TEXT"),
    Column("tool", "TEXT"),
    Column("call_key", "TEXT"),
    Column("by_person", "INTEGER"),
    Column("steps", "INTEGER"),
    Column("tool_calls", "INTEGER"),
    Column("tool_errors", "INTEGER"),
    Column("judged_by", "INTEGER"),
)
VERDICTS: Final = _table(
    "fact_verdicts",
    Column("verdict", "TEXT", required=True),
    Column("arguments", "INTEGER"),
    key=("run_id", "version", "verdict"),
)
APPROVALS: Final = _table(
    "fact_approvals",
    Column("asked_by", "TEXT"),
    Column("tool", "TEXT"),
    Column("subject", "TEXT"),
    Column("approver_group", "TEXT"),
    Column("needed", "INTEGER"),
    Column("policy_version", "TEXT"),
    Column("amount", "TEXT"),
    Column("currency", "TEXT"),
    Column("amount_minor", "INTEGER"),
    Column("requesters", "INTEGER"),
    Column("then_does", "TEXT"),
    Column("expires_at", "TEXT"),
)
ANSWERS: Final = _table("fact_answers", Column("answer", "TEXT"), Column("code", "TEXT"))
EFFECTS: Final = _table(
    "fact_effects",
    Column("state", "TEXT"),
    Column("tool", "TEXT"),
    Column("effect", "TEXT"),
    Column("code", "TEXT"),
    Column("settled", "INTEGER"),
)

TABLES: Final = (STARTS, TAKEOVERS, TURNS, BEGUN, CALLS, ENDS, VERDICTS, APPROVALS, ANSWERS, EFFECTS)
