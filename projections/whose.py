"""Whose an event is, as the beginning of its run or approval tells."""

from typing import Final, NamedTuple

from tachograph.domain.approvals.events import ApprovalRequested
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.events import Event, RunStarted


class Whose(NamedTuple):
    """Whose an event is; None where that can't be told. `actor`: whom its run acts for."""

    tenant: str | None = None
    trace_id: str | None = None
    agent: str | None = None
    actor: str | None = None


NOBODYS: Final = Whose()


def whose(first: Event) -> Whose:
    """Return whose the events are that begin with this one."""
    if isinstance(first, RunStarted):
        return Whose(first.context.tenant, first.context.trace_id, first.agent, first.context.actor)
    if isinstance(first, ApprovalRequested):
        return Whose(first.tenant, first.trace_id, first.agent)
    return Whose(agent=first.agent) if isinstance(first, AgentDefined) else NOBODYS
