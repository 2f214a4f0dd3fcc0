"""
Spans of approvals: the wait for people, from the asking to the decision, and the effect that follows.

Nothing of them is personal: who decided, and why, stays in the record.
"""

from typing import Final

from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
)
from tachograph.domain.events import Recorded
from tachograph.projections.plain import plain
from tachograph.projections.span import (
    Happened,
    Span,
    Value,
    nanoseconds,
    span_id_of,
    started_before,
    trace_id_of,
)

ENDS_SOMETHING: Final = (ApprovalGranted, ApprovalDenied, ApprovalExpired, ApprovalExecuted)
_REFUSED_MAX: Final = 100


def approval_span(entry: Recorded, state: ApprovalState) -> Span | None:
    """
    Return the span of what an approval's event ends: the wait for people, or the effect.

    Args:
        state: The approval up to and with this event.
    """
    asked, event = state.requested, entry.event
    trace_id = trace_id_of(asked.tenant, asked.trace_id)
    facts: dict[str, Value] = {
        "run_id": str(asked.run_id),
        "conversation": asked.trace_id,
        "tenant": plain(asked.tenant),
        "approval_id": str(entry.run_id),
        "call_key": asked.call_key,
    }
    if isinstance(event, ApprovalExecuted):
        tool = plain(state.started.tool) if state.started else plain(asked.tool)
        end_ns = nanoseconds(event.recorded_at)
        return Span(
            trace_id=trace_id,
            span_id=span_id_of(entry.run_id, entry.version),
            parent_id=span_id_of(entry.run_id, 1),
            operation="execute_tool",
            name=f"execute_tool {tool}",
            start_ns=started_before(end_ns, event.duration_ms),
            end_ns=end_ns,
            facts={**facts, "tool": tool, "settled": event.settled is not None},
            error=plain(event.code) if event.code else None,
        )
    decides = isinstance(event, ApprovalGranted | ApprovalDenied | ApprovalExpired)
    if not decides or state.status == "pending":
        return None
    start_ns = nanoseconds(asked.recorded_at)
    return Span(
        trace_id=trace_id,
        span_id=span_id_of(entry.run_id, 1),
        parent_id=span_id_of(asked.run_id, 1),
        operation="approval",
        name=f"approval {plain(asked.tool)}",
        start_ns=start_ns,
        end_ns=max(start_ns, nanoseconds(event.recorded_at)),
        facts={**facts, "tool": plain(asked.tool), "decision": state.status, "votes": len(state.votes)},
        happened=_while_waiting(state),
    )


def _while_waiting(state: ApprovalState) -> tuple[Happened, ...]:
    """Return what happened to an approval before it was decided, without who did it."""
    moments = [Happened("vote", nanoseconds(each.recorded_at), {}) for each in state.votes]
    for refused in state.refused[:_REFUSED_MAX]:
        moments.append(Happened("refused", nanoseconds(refused.recorded_at), {"code": refused.code}))
    if state.escalated is not None:
        moments.append(Happened("escalated", nanoseconds(state.escalated.recorded_at), {}))
    return tuple(sorted(moments, key=lambda moment: moment.at_ns))
