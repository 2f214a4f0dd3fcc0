"""
Events in the Open Cybersecurity Schema Framework, for a SIEM: one table, pinned here, and no content.

Version: 1.7.0. Source: https://schema.ocsf.io/1.7.0/classes/api_activity and .../detection_finding.
What happens is API Activity (6003), who did it and what came of it; what somebody should look at is a
Detection Finding (2004) beside it. What OCSF has no name for stands under `unmapped`.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

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
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.events import (
    Entry,
    ModelTurn,
    Recorded,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
    Unreadable,
)
from tachograph.projections.whose import Whose

VERSION: Final = "1.7.0"
_PRODUCT: Final = {"name": "Tachograph", "vendor_name": "Tachograph"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_OTHER: Final = 99
_CREATE: Final = 1
_SUCCESS, _FAILURE = 1, 2
_INFORMATIONAL, _MEDIUM, _HIGH = 1, 3, 4
_UNSUPPORTED: Final = frozenset({"unsupported", "not_searched"})

Object = dict[str, Any]


class _Did(NamedTuple):
    """What an event says was done. `failed`: the code of why it was not."""

    activity: str
    operation: str
    by: str | None = None
    failed: str | None = None
    duration_ms: int | None = None
    unmapped: Mapping[str, Any] = {}


def ocsf_events(entry: Entry, whose: Whose) -> Iterator[Object]:
    """Yield an event as OCSF has it: an activity, and a finding where a person should look."""
    if isinstance(entry, Unreadable):
        yield _finding(
            entry, whose, "unreadable", "An event of the record can't be read", entry.why, _HIGH, 0
        )
        return
    at = (entry.event.recorded_at - _EPOCH) // _MILLISECOND
    yield _activity(entry, whose, _DID[entry.kind](entry.event), at)
    event = entry.event
    if isinstance(event, ToolError) and event.code == "outcome_unknown":
        title = "Whether a call took effect is not known"
        yield _finding(entry, whose, "outcome-unknown", title, f"call {event.call_key}", _HIGH, at)
    if isinstance(event, Terminal) and event.provenance is not None:
        doubtful = sum(verdict in _UNSUPPORTED for verdict in event.provenance.verdicts.values())
        if doubtful:
            title = "Arguments of a decision stand in no evidence"
            yield _finding(entry, whose, "unsupported", title, f"{doubtful} arguments", _MEDIUM, at)


def _activity(entry: Recorded, whose: Whose, did: _Did, at: int) -> Object:
    activity_id = _CREATE if did.activity == "Create" else _OTHER
    found: Object = {
        "activity_id": activity_id,
        "activity_name": did.activity,
        "category_uid": 6,
        "class_uid": 6003,
        "type_uid": 600300 + activity_id,
        "severity_id": _INFORMATIONAL,
        "time": at,
        "status_id": _FAILURE if did.failed else _SUCCESS,
        "metadata": _metadata(entry, whose, f"{entry.run_id}:{entry.version}"),
        "actor": _without_none({"app_name": whose.agent, "user": _user(did.by or whose.actor)})
        or {"app_name": "unknown"},
        "api": {"operation": did.operation, "service": {"name": "tachograph"}},
        "src_endpoint": {"svc_name": whose.agent or "tachograph"},
    }
    if did.failed:
        found["status_code"] = did.failed
    if did.duration_ms is not None:
        found["duration"] = did.duration_ms
    unmapped = _without_none(did.unmapped)
    return found | ({"unmapped": unmapped} if unmapped else {})


def _finding(entry: Entry, whose: Whose, what: str, title: str, desc: str, severity: int, at: int) -> Object:
    uid = f"{entry.run_id}:{entry.version}:{what}"
    return {
        "activity_id": _CREATE,
        "activity_name": "Create",
        "category_uid": 2,
        "class_uid": 2004,
        "type_uid": 200401,
        "severity_id": severity,
        "time": at,
        "metadata": _metadata(entry, whose, uid),
        "finding_info": {"uid": uid, "title": title, "desc": desc},
    }


def _metadata(entry: Entry, whose: Whose, uid: str) -> Object:
    return {
        "version": VERSION,
        "product": _PRODUCT,
        "log_name": "tachograph",
        "uid": uid,
        "event_code": entry.kind,
        "sequence": entry.position,
    } | _without_none({"correlation_uid": whose.trace_id, "tenant_uid": whose.tenant})


def _user(name: str | None) -> Object | None:
    return None if name is None else {"name": name}


def _without_none(values: Mapping[str, Any]) -> Object:
    return {name: value for name, value in values.items() if value is not None}


def _turn(event: ModelTurn) -> _Did:
    usage = {"tokens_in": event.usage.tokens_in, "tokens_out": event.usage.tokens_out}
    said: Object = {
        "step": event.step,
        "model": event.model_answered or event.model_asked,
        "finish_reason": event.finish_reason,
        **usage,
        "cost_usd": None if event.cost_usd is None else str(event.cost_usd),
    }
    failed = "rejected" if event.error is not None else None
    return _Did("Infer", "chat", failed=failed, duration_ms=event.latency_ms, unmapped=said)


def _ended(event: Terminal) -> _Did:
    failed = (event.reason or event.outcome) if event.outcome == "blocked" else None
    said = {"outcome": event.outcome, "tool": event.tool, "call_key": event.call_key}
    return _Did("End", "run", event.actor, failed, unmapped=said)


def _called(event: ToolCall) -> _Did:
    by = event.settled.actor if event.settled else None
    said = {"call_key": event.call_key}
    return _Did("Call", event.name, by, duration_ms=event.duration_ms, unmapped=said)


def _failed(event: ToolError) -> _Did:
    by = event.settled.actor if event.settled else None
    return _Did("Call", event.name, by, event.code, event.duration_ms, {"call_key": event.call_key})


def _asked(event: ApprovalRequested) -> _Did:
    said = {
        "run": str(event.run_id),
        "call_key": event.call_key,
        "tool": event.tool,
        "arguments_digest": event.arguments_digest,
        "policy_version": event.policy_version,
    }
    return _Did("Create", "approval", unmapped=said)


def _executed(event: ApprovalExecuted) -> _Did:
    by = event.settled.actor if event.settled else None
    return _Did("Execute", "approval", by, event.code, event.duration_ms)


def _started(event: RunStarted) -> _Did:
    said = {"agent_version": event.agent_version, "definition_digest": event.definition_digest}
    return _Did("Create", "run", unmapped=said)


_DID: Final[Mapping[str, Callable[[Any], _Did]]] = {
    AgentDefined.kind: lambda event: _Did("Create", "agent", unmapped={"agent": event.agent}),
    RunStarted.kind: _started,
    RunResumed.kind: lambda event: _Did("Resume", "run", event.actor, unmapped={"reason": event.reason}),
    ModelTurn.kind: _turn,
    ToolStarted.kind: lambda event: _Did("Start", event.name, unmapped={"call_key": event.call_key}),
    ToolCall.kind: _called,
    ToolError.kind: _failed,
    Terminal.kind: _ended,
    ApprovalRequested.kind: _asked,
    ApprovalGranted.kind: lambda event: _Did("Grant", "approval", event.by),
    ApprovalDenied.kind: lambda event: _Did("Deny", "approval", event.by),
    ApprovalExpired.kind: lambda event: _Did("Expire", "approval"),
    ApprovalEscalated.kind: lambda event: _Did("Escalate", "approval"),
    ApprovalRefused.kind: lambda event: _Did("Refuse", "approval", event.by, event.code),
    ApprovalStarted.kind: lambda event: _Did("Start", event.tool),
    ApprovalExecuted.kind: _executed,
}
