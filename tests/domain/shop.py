"""The agent of the specifications: one tool of each effect, one that is not allowed, four terminals."""

from pydantic import BaseModel, ConfigDict

from tachograph.domain.agent import Agent
from tachograph.domain.tools import TerminalTool, tool


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str


class Preview(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str
    amount_minor: int | None = None


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


@tool(effect="read")
def order_read(arguments: Order) -> None:
    """Read an order."""
    raise AssertionError("the domain runs no handler")


@tool(effect="idempotent")
def refund_preview(arguments: Preview) -> None:
    """Preview a refund."""
    raise AssertionError("the domain runs no handler")


@tool(effect="once")
def mail_send(arguments: Order) -> None:
    """Mail the customer."""
    raise AssertionError("the domain runs no handler")


@tool(effect="read", permission="audit")
def audit_read(arguments: Order) -> None:
    """Read the audit trail of an order."""
    raise AssertionError("the domain runs no handler")


@tool(effect="once")
def order_delete(arguments: Order) -> None:
    """Delete an order."""
    raise AssertionError("the domain runs no handler")


AGENT = Agent(
    name="refund",
    version="1",
    instructions="Refund by the policy.",
    tools=(order_read, refund_preview, mail_send, audit_read, order_delete),
    allowed=frozenset({"order_read", "refund_preview", "mail_send", "audit_read"}),
    terminals=(
        TerminalTool("answer_user", "Answer.", Answer, "answered"),
        TerminalTool("ask_clarification", "Ask.", Answer, "needs_clarification"),
        TerminalTool("request_refund_approval", "Ask for approval.", Preview, "approval_requested"),
        TerminalTool("request_handoff", "Hand off.", Answer, "handed_off"),
    ),
)
