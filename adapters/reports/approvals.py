"""What people were asked to approve, on what grounds, and what they decided."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from tachograph.adapters.reports.report import Column, Row, Section
from tachograph.adapters.reports.source import Source
from tachograph.domain.approvals.events import ApprovalDenied, ApprovalGranted, ApprovalRequested
from tachograph.domain.currencies import CURRENCY_DIGITS
from tachograph.domain.events import Event

NO_AMOUNT: Final = "(no amount)"
_QUERY: Final = """
    SELECT approval_id, a.run_id, a.tenant, a.agent, tool, subject, policy_version, amount, currency,
        amount_minor, requested_at, status, decided_at, decided_after_ms, execution, last.version,
        verdicts.judged, verdicts.doubtful
    FROM v_approvals AS a
    JOIN span ON a.requested_at >= since AND a.requested_at < until
    JOIN (SELECT run_id, MAX(version) AS version FROM entries GROUP BY run_id) AS last
        ON last.run_id = a.approval_id
    LEFT JOIN (
        SELECT run_id, SUM(arguments) AS judged,
            SUM(CASE WHEN verdict IN ('unsupported', 'weak', 'coincidental', 'not_searched')
                THEN arguments ELSE 0 END) AS doubtful
        FROM fact_verdicts_then GROUP BY run_id
    ) AS verdicts ON verdicts.run_id = a.run_id
    ORDER BY a.position
"""
_SHOWN_APART: Final = frozenset({"amount", "currency"})
_DIGEST_LENGTH: Final = 64
_REQUEST: Final = "Request"
_ASKED: Final = "Asked for"
_WHY: Final = "Why"
_DECISION: Final = "Decision"
_COLUMNS: Final = (
    Column("requested", "time", _REQUEST),
    Column("approval", "text", _REQUEST),
    Column("run", "text", _REQUEST),
    Column("tenant", "text", _REQUEST),
    Column("agent", "text", _REQUEST),
    Column("tool", "text", _ASKED),
    Column("subject", "text", _ASKED),
    Column("amount", "amount", _ASKED),
    Column("currency", "text", _ASKED),
    Column("why it was requested", "text", _WHY),
    Column("evidence", "text", _WHY),
    Column("policy", "text", _WHY),
    Column("status", "text", _DECISION),
    Column("decided", "time", _DECISION),
    Column("after", "duration", _DECISION),
    Column("decided by", "text", _DECISION),
    Column("reason", "text", _DECISION),
    Column("effect", "text", _DECISION),
)
_SUMS: Final = (
    Column("tool"),
    Column("currency"),
    Column("asked for", "number"),
    Column("amount asked for", "amount"),
    Column("granted", "number"),
    Column("amount granted", "amount"),
    Column("denied", "number"),
    Column("expired", "number"),
    Column("pending", "number"),
)


def sections(source: Source) -> list[Section]:
    """Return sums by tool and currency, then one row an approval."""
    found = source.rows(_QUERY)
    return [
        Section(
            "sums",
            "Approvals by tool and currency",
            _SUMS,
            _sums(found),
            "Approvals asked for in the period, decided up to the position. Amounts are the argument "
            "`amount`.",
        ),
        Section(
            "approvals",
            "Each approval",
            _COLUMNS,
            [_row(source, *values) for values in found],
            "Why it was requested: the arguments as the agent gave them. Evidence: how many of the values in "
            "them are in doubt (unsupported, weak, coincidental, not searched), by the verdicts recorded "
            "with the end.",
        ),
    ]


def _sums(found: Sequence[tuple[Any, ...]]) -> list[Row]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in found:
        tool, currency, minor, status = row[4], row[8], row[9], row[11]
        place = counts[tool, NO_AMOUNT if minor is None else currency]
        place["asked"] += 1
        place[status] += 1
        place["minor"] += minor or 0
        place["minor granted"] += (minor or 0) if status == "granted" else 0
    return [
        (
            tool,
            currency,
            count["asked"],
            major(count["minor"], currency),
            count["granted"],
            major(count["minor granted"], currency),
            count["denied"],
            count["expired"],
            count["pending"],
        )
        for (tool, currency), count in sorted(counts.items())
    ]


def major(minor: int, currency: str) -> str | None:
    """Return an amount of minor units as a plain decimal; None where there is no currency."""
    digits = CURRENCY_DIGITS.get(currency)
    if digits is None:
        return None
    whole, part = divmod(abs(minor), 10**digits)
    sign = "-" if minor < 0 else ""
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


def _row(
    source: Source,
    approval_id: str,
    run_id: str,
    tenant: str,
    agent: str,
    tool: str,
    subject: str | None,
    policy: str | None,
    amount: str | None,
    currency: str | None,
    minor: int | None,
    requested_at: str,
    status: str,
    decided_at: str | None,
    decided_after_ms: int | None,
    execution: str,
    version: int,
    judged: int | None,
    doubtful: int | None,
) -> Row:
    events = [event for _, event in source.events(approval_id, version)]
    asked = next((event for event in events if isinstance(event, ApprovalRequested)), None)
    return (
        requested_at,
        approval_id,
        run_id,
        tenant,
        agent,
        tool,
        subject,
        amount if minor is None or currency is None else major(minor, currency),
        currency,
        grounds(asked.arguments) if asked else None,
        _evidence(judged, doubtful),
        policy,
        status,
        decided_at,
        decided_after_ms,
        *_decided(events, status),
        execution,
    )


def grounds(arguments: str) -> str:
    """Return arguments as a sentence: each by its name, but what has a column of its own, and digests."""
    try:
        found = json.loads(arguments, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(found, dict):
        return arguments
    parts = [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in found.items()
        if name not in _SHOWN_APART and not _is_digest(value)
    ]
    return "; ".join(parts)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == _DIGEST_LENGTH and set(value) <= set("0123456789abcdef")


def _evidence(judged: int | None, doubtful: int | None) -> str:
    if judged is None:
        return "not judged"
    return f"{doubtful} of {judged} in doubt" if doubtful else f"none of {judged} in doubt"


def _decided(events: Sequence[Event], status: str) -> tuple[str | None, str | None]:
    """Return who decided, and with which reason."""
    if status == "denied":
        denials = [event for event in events if isinstance(event, ApprovalDenied)]
        return (denials[0].by, denials[0].reason) if denials else (None, None)
    votes = [event for event in events if isinstance(event, ApprovalGranted)]
    if not votes:
        return None, None
    return "; ".join(vote.by for vote in votes), "; ".join(vote.reason for vote in votes)
