"""The request for an approval: made from the run that asks, bound to all that it rests on."""

from typing import Final

from tachograph.domain.agent import Agent
from tachograph.domain.approvals.definition import Approval, digest_of
from tachograph.domain.approvals.events import ApprovalRequested
from tachograph.domain.arguments import reread_arguments
from tachograph.domain.events import Terminal, ToolCall
from tachograph.domain.run import RunState
from tachograph.domain.why.annotations import From
from tachograph.domain.why.explanation import Explanation
from tachograph.domain.why.leaves import leaves, opened, parsed

_NOBODY: Final = "nobody: the record has no group"


def approval_asked(agent: Agent, run: RunState, terminal: Terminal) -> Approval | None:
    """Return what a run's end asks people for; None for nothing. A fork that isn't live asks nobody."""
    tool = agent.terminals_by_name.get(terminal.tool or "")
    return None if tool is None or run.is_rehearsal or terminal.arguments is None else tool.approval


def request_of(
    agent: Agent, approval: Approval, run: RunState, terminal: Terminal, shown: Explanation
) -> ApprovalRequested:
    """
    Return the request for an approval.

    Args:
        terminal: The event that follows the run's state, and ends it.
        shown: What approvers are shown.
    """
    trusted, tool, arguments = run.started.context, terminal.tool, terminal.arguments
    assert tool, "only a terminal call asks for an approval"
    assert arguments, "its arguments were validated"
    assert terminal.call_key, "it stands in a turn"
    at = terminal.recorded_at
    model = agent.terminals_by_name[tool].arguments
    group = approval.group
    if isinstance(group, From):
        group = recorded_value(run, group) or _NOBODY
    return ApprovalRequested(
        recorded_at=at,
        run_id=run.run_id,
        run_version=run.version + 1,
        trace_id=trusted.trace_id,
        tenant=trusted.tenant,
        agent=agent.name,
        agent_version=agent.version,
        call_key=terminal.call_key,
        tool=tool,
        arguments=arguments,
        arguments_digest=digest_of(tool, arguments),
        shown_digest=shown.digest,
        shown_version=shown.version,
        policy_version=recorded_value(run, approval.policy) if approval.policy else None,
        requested_for=tuple(sorted({trusted.actor, trusted.customer or trusted.actor})),
        group=group,
        needed=approval.needed,
        subject=approval.subject(reread_arguments(arguments, model)) if approval.subject else None,
        expires_at=at + approval.expires_after if approval.expires_after else None,
        escalates_at=at + approval.escalates_after if approval.escalates_after else None,
        then=approval.then,
    )


def recorded_value(run: RunState, source: From) -> str | None:
    """Return the value at a pointer of a tool's latest output in a run, as text; None if it isn't there."""
    outputs = [
        result.output
        for step in run.steps
        for result in step.results
        if isinstance(result, ToolCall) and result.name == source.tool
    ]
    if not outputs:
        return None
    found = (leaf.value for leaf in leaves(opened(parsed(outputs[-1]))) if leaf.pointer == source.pointer)
    value = next(found, None)
    return str(value) if isinstance(value, str) else None
