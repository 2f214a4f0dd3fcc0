"""What a granted approval runs: exactly the recorded arguments, under the key of the run that asked."""

from datetime import datetime

from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.definition import Approval
from tachograph.domain.approvals.events import ApprovalStarted
from tachograph.domain.arguments import ArgumentsRefused, reread_arguments
from tachograph.domain.calls import ReadyCall
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.events import CallRequest
from tachograph.domain.run import RunState
from tachograph.domain.tools import ToolContext


def ready(definition: Approval, state: ApprovalState) -> ReadyCall:
    """
    Return the effect as a call that passed every check.

    Raises:
        InvalidAgent: The agent's tool doesn't read the recorded arguments as what they are.
    """
    asked, effect = state.requested, definition.effect
    assert effect is not None, "only an approval with an effect is carried out"
    try:
        arguments = reread_arguments(asked.arguments, effect.arguments)
    except ArgumentsRefused as exc:
        raise InvalidAgent(f"{effect.name} refuses what approval {state.approval_id} is for: {exc}") from exc
    request = CallRequest(call_key=asked.call_key, name=effect.name, arguments=asked.arguments)
    return ReadyCall(request, effect, arguments, asked.arguments, {})


def context_of_effect(call: ReadyCall, run: RunState) -> ToolContext:
    """Return what the effect's handler may know besides its arguments: as for a call of the run."""
    key = call.request.call_key
    return ToolContext(run.started.context, run.run_id, key, call.tool.name, call.canonical)


def start_of_effect(
    definition: Approval, state: ApprovalState, run: RunState, at: datetime, owner: str
) -> ApprovalStarted:
    """Return what is recorded before the effect runs."""
    call = ready(definition, state)
    return ApprovalStarted(
        recorded_at=at,
        tool=call.tool.name,
        effect=call.tool.effect,
        idempotency_key=context_of_effect(call, run).idempotency_key,
        owner=owner,
    )
