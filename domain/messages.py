"""The request to the model, put together from the recorded run."""

import hashlib
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from pydantic import TypeAdapter

from tachograph.domain.agent import Agent
from tachograph.domain.events import CallRequest, ToolCall
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


def request(agent: Agent, run: RunState, history: tuple[RequestMessage, ...] = ()) -> ModelRequest:
    """Return the next request of a run. `history`: what runs that it continues have said."""
    return ModelRequest(
        step=len(run.steps) + 1,
        model=agent.model_name,
        instructions=agent.instructions,
        tools=agent.offers(run.started.context),
        messages=history + conversation(run, agent.shown_max),
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
        messages += _of_step(step, _outputs(run, step), shown_max)
    return tuple(messages)


def _outputs(run: RunState, step: Step) -> dict[str, tuple[str, bool]]:
    """Map call keys to what the model is told and whether that is an error."""
    outputs = {
        result.call_key: (result.output, False) if isinstance(result, ToolCall) else (result.message, True)
        for result in step.results
    }
    if run.terminal and run.terminal.call_key in {call.call_key for call in step.turn.calls}:
        outputs.setdefault(run.terminal.call_key, (run.terminal.outcome, False))
    return outputs


def _of_step(step: Step, outputs: dict[str, tuple[str, bool]], shown_max: int) -> list[RequestMessage]:
    turn = step.turn
    calls = tuple(call for call in turn.calls if call.call_key in outputs)
    text = turn.text or turn.refusal or ""
    if not text.strip():
        text = ""  # Providers refuse a message of spaces as they do an empty one.
    messages: list[RequestMessage] = []
    if text or calls:
        state = turn.provider_state
        messages.append(RequestMessage("assistant", text, calls, provider_state=state))
    for call in calls:
        content, is_error = outputs[call.call_key]
        messages.append(
            RequestMessage(
                "tool",
                clipped(content, shown_max),
                call_key=call.call_key,
                provider_id=call.provider_id,
                is_error=is_error,
            )
        )
    if turn.error:
        messages.append(RequestMessage("user", f"{NUDGE_REJECTED}{clipped(turn.error, 2_000)}"))
    return messages
