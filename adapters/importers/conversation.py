"""A recorded conversation, whatever format it came in: what was said, called and answered."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

from tachograph.domain.budget import Usage

# Far above any real conversation: they keep the work in proportion to the size of the file.
MESSAGES_MAX: Final = 10_000
CALLS_MAX: Final = 500

NO_USAGE: Final = Usage()

Clock = Literal["none", "conversation", "message"]


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A call that the assistant asked for; `arguments` is its text as produced, None if it had none."""

    provider_id: str | None
    name: str
    arguments: str | None


@dataclass(frozen=True, slots=True)
class Utterance:
    """
    What one party said. Only the assistant has calls, usage, cost and what follows them.

    Args:
        model: That was asked, where the file says it of each answer; None: that of the conversation.
        ended: That one of its calls ended the run, where the file says so, and which one, from 0.
    """

    role: Literal["system", "user", "assistant"]
    text: str | None
    calls: tuple[ForeignCall, ...] = ()
    at: datetime | None = None
    usage: Usage = NO_USAGE
    cost_usd: Decimal | None = None
    model: str | None = None
    model_answered: str | None = None
    response_id: str | None = None
    latency_ms: int = 0
    ended: tuple[Literal["answered", "handed_off"], int] | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """
    What a tool answered.

    Args:
        is_error: The file marks it so, or its text says so.
        arguments: With which it was executed, where the file says it apart from what the call asked for.
    """

    provider_id: str | None
    name: str | None
    text: str | None
    is_error: bool
    at: datetime | None = None
    duration_ms: int = 0
    arguments: str | None = None


ForeignMessage = Utterance | ToolResult


@dataclass(frozen=True, slots=True)
class Conversation:
    """
    One conversation of a file.

    Args:
        format: Name of the file's format.
        digest: SHA-256 of the file, in hexadecimal.
        index: Place in the file, counted from 0.
        label: What the file calls it: task, trial, simulation.
        policy: Instructions that the agent had and that are not among the messages.
        started_at: Aware UTC; None when the file doesn't say.
        clock: `message` when every message has its own time.
    """

    format: str
    digest: str
    index: int
    label: str
    messages: tuple[ForeignMessage, ...]
    agent: str = "unknown"
    model: str = "unknown"
    policy: str | None = None
    started_at: datetime | None = None
    clock: Clock = "none"

    @property
    def trace_id(self) -> str:
        """The trace that the conversation becomes: the same for the same file."""
        return f"{self.format}-{self.digest[:12]}-{self.index}"


def says_error(text: str | None) -> bool:
    """Tell whether a result is an error by its text: the tools of both formats begin it with `Error`."""
    return text is not None and text.startswith("Error")
