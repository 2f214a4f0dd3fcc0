"""The request to the model, put together from the recorded run."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

from pydantic import TypeAdapter

from tachograph.domain.agent import Agent
from tachograph.domain.events import CallRequest, Terminal, ToolCall
from tachograph.domain.run import RunState, Step
from tachograph.domain.text import clipped
from tachograph.domain.tools import ToolOffer

NUDGE_REJECTED: Final = "The last answer was rejected by the provider: "


class RequestMessage(NamedTuple):
    """One message as sent. A tool message answers the call with its `call_key`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[CallRequest, ...] = ()
    call_key: str | None = None
    provider_id: str | None = None
    is_error: bool = False
    provider_state: str | None = None


@dataclass(frozen=True)
class History:
    """
    The runs that a run goes on from, oldest first.

    Args:
        shown_max: Characters of one output that the model sees.
    """

    runs: tuple[RunState, ...] = ()
    shown_max: int = 100_000

    @cached_property
    def messages(self) -> tuple[RequestMessage, ...]:
        """What was said in all of them."""
        return tuple(message for run in self.runs for message in conversation(run, self.shown_max))


NO_HISTORY: Final = History()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """
    Everything that a model port needs for one turn.

    `step` is the turn asked for, counted from 1 within the run. It can't be told from the messages,
    where empty turns are left out; it is not sent, so the digest leaves it out too.
    """

    step: int
    model: str
    instructions: str
    tools: tuple[ToolOffer, ...]
    messages: tuple[RequestMessage, ...]
    catalogue_digest: str

    @property
    def digest(self) -> str:
        """SHA-256 of the request as sent: model, instructions, catalogue digest, messages."""
        messages = _MESSAGES.dump_json(self.messages, exclude_none=True)
        digest = hashlib.sha256(f"{self.model}\n{self.catalogue_digest}\n{len(self.instructions)}\n".encode())
        digest.update(self.instructions.encode())
        digest.update(messages)
        return digest.hexdigest()


_MESSAGES: Final = TypeAdapter(tuple[RequestMessage, ...])


def request(agent: Agent, run: RunState, history: History = NO_HISTORY) -> ModelRequest:
    """Return the next request of a run."""
    return ModelRequest(
        step=len(run.steps) + 1,
        model=agent.model_name,
        instructions=agent.instructions,
        tools=agent.offers(run.started.context),
        messages=history.messages + conversation(run, agent.shown_max),
        catalogue_digest=agent.catalogue_digest,
    )


def conversation(run: RunState, shown_max: int) -> tuple[RequestMessage, ...]:
    """
    Return a run's messages, legal for every provider.

    Each call has exactly one result, and the results follow their turn at once. A blank turn is left
    out (it stays in the record), and so are calls that a run ended without executing. A tool result
    that came in without its call is sent as the user's.

    Args:
        shown_max: Characters of one output that the model sees; the record keeps all of them.
    """
    messages = [
        RequestMessage("user" if message.role == "tool" else message.role, message.content)
        for message in run.started.input
        if message.role != "assistant" or message.content.strip()
    ]
    for step in run.steps:
        messages += _of_step(step, run.terminal, shown_max)
    return tuple(messages)


def _of_step(step: Step, terminal: Terminal | None, shown_max: int) -> list[RequestMessage]:
    turn = step.turn
    told = {result.call_key: result for result in step.results}
    ended_by = terminal.call_key if terminal is not None else None
    answers: list[RequestMessage] = []
    for call in turn.calls:
        result = told.get(call.call_key)
        if result is not None:
            succeeded = isinstance(result, ToolCall)
            content = clipped(result.output if isinstance(result, ToolCall) else result.message, shown_max)
        elif terminal is not None and call.call_key == ended_by:
            succeeded, content = True, terminal.outcome
        else:
            continue
        answers.append(
            RequestMessage("tool", content, (), call.call_key, call.provider_id, is_error=not succeeded)
        )
    calls = turn.calls
    if len(answers) != len(calls):
        answered = {answer.call_key for answer in answers}
        calls = tuple(call for call in calls if call.call_key in answered)
    text = turn.text or turn.refusal or ""
    if not text or text.isspace():
        text = ""  # Providers refuse a message of spaces as they do an empty one.
    messages: list[RequestMessage] = []
    if text or calls:
        messages.append(RequestMessage("assistant", text, calls, provider_state=turn.provider_state))
    messages += answers
    if turn.error:
        messages.append(RequestMessage("user", f"{NUDGE_REJECTED}{clipped(turn.error, 2_000)}"))
    return messages
