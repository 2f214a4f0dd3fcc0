"""The vocabulary of the import's rules: what was said, called and answered, and the runs it becomes."""

from typing import Any

from tachograph.adapters.importers.conversation import (
    Conversation,
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
    says_error,
)
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.events import Event, RunStarted, Terminal, ToolCall, ToolError


def user(text: str | None = "Hello") -> Utterance:
    return Utterance("user", text)


def assistant(text: str | None = None, *calls: ForeignCall) -> Utterance:
    return Utterance("assistant", text, calls)


def call(name: str = "read", provider_id: str | None = "c1", arguments: str | None = "{}") -> ForeignCall:
    return ForeignCall(provider_id, name, arguments)


def result(text: str | None = "done", provider_id: str | None = "c1", name: str | None = None) -> ToolResult:
    return ToolResult(provider_id, name, text, says_error(text))


def runs_of(*messages: ForeignMessage, **fields: Any) -> list[list[Event]]:
    conversation = Conversation("tau2", "ab" * 32, 3, "task 7", messages, **fields)
    return [events for _, events in to_events(conversation)]


def started(run: list[Event]) -> RunStarted:
    assert isinstance(run[0], RunStarted)
    return run[0]


def said(run: list[Event]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in started(run).input]


def terminal(run: list[Event]) -> Terminal:
    assert isinstance(run[-1], Terminal)
    return run[-1]


def outcome(run: list[Event]) -> tuple[str, str | None, str | None]:
    return terminal(run).outcome, terminal(run).reason, terminal(run).call_key


def shown(run: list[Event]) -> list[tuple[str, str]]:
    """What the model was shown for each call, by call key."""
    return [
        (event.call_key, event.output if isinstance(event, ToolCall) else event.message)
        for event in run
        if isinstance(event, (ToolCall, ToolError))
    ]
