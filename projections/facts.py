"""What auditors count: runs, turns, calls, decisions and findings as facts, from which reports are made."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.events import (
    ModelTurn,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.queueing import WORKER
from tachograph.domain.why.argument import Verdict
from tachograph.projections.amounts import amount_of
from tachograph.projections.fact_tables import TABLES
from tachograph.projections.fact_views import VIEWS
from tachograph.projections.metrics import TOKENS_MAX, nano_usd
from tachograph.projections.plain import plain, time_text
from tachograph.projections.projection import Changes, Placed, Projection, Row, Value

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_VERDICTS: Final = frozenset(get_args(Verdict))

_Cells = dict[str, Value]
_Made = Iterator[tuple[str, _Cells]]


def changes(batch: Sequence[Placed]) -> Changes:
    """Add the facts of each event."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for placed in batch:
        assert placed.event is not None, "what can't be read is no fact"
        place = _place(placed)
        for table, cells in _FACTS[placed.kind](placed.event):
            rows[table].append(place | cells)
    return rows


def _place(placed: Placed) -> _Cells:
    assert placed.event is not None
    return {
        "position": placed.position,
        "run_id": placed.run_id,
        "version": placed.version,
        "trace_id": placed.trace_id,
        "tenant": placed.tenant,
        "agent": plain(placed.agent or ""),
        "recorded_at": placed.recorded_at,
        "recorded_us": (placed.event.recorded_at - _EPOCH) // _MICROSECOND,
        "shared": int(placed.shared),
    }


def _started(event: RunStarted) -> _Made:
    yield (
        "fact_starts",
        {
            "agent_version": plain(event.agent_version),
            "definition_digest": plain(event.definition_digest),
            "catalogue_digest": plain(event.catalogue_digest),
            "source_format": plain(event.source.format) if event.source else None,
            "source_clock": event.source.clock if event.source else None,
            "continues": str(event.continues) if event.continues else None,
            "forked_from": str(event.forked_from) if event.forked_from else None,
            "fork_live": int(event.fork.live) if event.fork else None,
            "max_steps": min(event.budget.max_steps, TOKENS_MAX),
        },
    )


def _resumed(event: RunResumed) -> _Made:
    yield "fact_takeovers", {"owner": plain(event.owner), "by_worker": int(event.actor == WORKER)}


def _turn(event: ModelTurn) -> _Made:
    yield (
        "fact_turns",
        {
            "step": min(event.step, TOKENS_MAX),
            "model_asked": plain(event.model_asked),
            "model_answered": plain(event.model_answered) if event.model_answered else None,
            "finish_reason": event.finish_reason,
            "calls": len(event.calls),
            "tokens_in": min(event.usage.tokens_in, TOKENS_MAX),
            "tokens_out": min(event.usage.tokens_out, TOKENS_MAX),
            "cost_nano_usd": None if event.cost_usd is None else nano_usd(event.cost_usd),
            "retries": len(event.attempts or ()),
            "latency_ms": min(event.latency_ms, TOKENS_MAX),
            "rejected": int(event.error is not None),
        },
    )


def _begun(event: ToolStarted) -> _Made:
    yield (
        "fact_begun",
        {"call_key": plain(event.call_key), "tool": plain(event.name), "effect": event.effect},
    )


def _called(event: ToolCall | ToolError) -> _Made:
    yield (
        "fact_calls",
        {
            "call_key": plain(event.call_key),
            "tool": plain(event.name),
            "code": event.code if isinstance(event, ToolError) else None,
            "duration_ms": min(event.duration_ms, TOKENS_MAX),
            "settled": int(event.settled is not None),
        },
    )


def _ended(event: Terminal) -> _Made:
    provenance = event.provenance
    yield (
        "fact_ends",
        {
            "outcome": event.outcome,
            "reason": plain(event.reason) if event.reason else None,
            "tool": plain(event.tool) if event.tool else None,
            "call_key": plain(event.call_key) if event.call_key else None,
            "by_person": int(event.actor is not None),
            "steps": min(event.totals.steps, TOKENS_MAX),
            "tool_calls": min(event.totals.tool_calls, TOKENS_MAX),
            "tool_errors": min(event.totals.tool_errors, TOKENS_MAX),
            "judged_by": min(provenance.version, TOKENS_MAX) if provenance else None,
        },
    )
    given = provenance.verdicts.values() if provenance else ()
    counted = Counter(verdict if verdict in _VERDICTS else "other" for verdict in given)
    for verdict, number in counted.items():
        yield "fact_verdicts", {"verdict": verdict, "arguments": number}


def _asked(event: ApprovalRequested) -> _Made:
    asked = amount_of(event.arguments)
    yield (
        "fact_approvals",
        {
            "asked_by": str(event.run_id),
            "tool": plain(event.tool),
            "subject": plain(event.subject) if event.subject else None,
            "approver_group": plain(event.group) if event.group else None,
            "needed": min(event.needed, TOKENS_MAX),
            "policy_version": plain(event.policy_version) if event.policy_version else None,
            "amount": asked.amount,
            "currency": asked.currency,
            "amount_minor": asked.minor,
            "requesters": len(event.requested_for),
            "then_does": event.then,
            "expires_at": time_text(event.expires_at) if event.expires_at else None,
        },
    )


def _answer(answer: str) -> Callable[[Any], _Made]:
    def made(event: Any) -> _Made:
        yield "fact_answers", {"answer": answer, "code": getattr(event, "code", None)}

    return made


def _effect_begun(event: ApprovalStarted) -> _Made:
    yield (
        "fact_effects",
        {"state": "started", "tool": plain(event.tool), "effect": event.effect, "code": None, "settled": 0},
    )


def _effect_done(event: ApprovalExecuted) -> _Made:
    unknown = event.code == "outcome_unknown"
    yield (
        "fact_effects",
        {
            "state": "unknown" if unknown else "failed" if event.code else "done",
            "tool": None,
            "effect": None,
            "code": plain(event.code) if event.code else None,
            "settled": int(event.settled is not None),
        },
    )


_FACTS: Final[Mapping[str, Callable[[Any], _Made]]] = {
    RunStarted.kind: _started,
    RunResumed.kind: _resumed,
    ModelTurn.kind: _turn,
    ToolStarted.kind: _begun,
    ToolCall.kind: _called,
    ToolError.kind: _called,
    Terminal.kind: _ended,
    ApprovalRequested.kind: _asked,
    ApprovalGranted.kind: _answer("granted"),
    ApprovalDenied.kind: _answer("denied"),
    ApprovalExpired.kind: _answer("expired"),
    ApprovalEscalated.kind: _answer("escalated"),
    ApprovalRefused.kind: _answer("refused"),
    ApprovalStarted.kind: _effect_begun,
    ApprovalExecuted.kind: _effect_done,
}

FACTS: Final = Projection(
    name="facts", version=1, tables=TABLES, changes=changes, kinds=frozenset(_FACTS), views=VIEWS
)
