"""
A foreign conversation as recorded runs: one a stretch, all in one trace.

What the file doesn't say is "unknown" or zero, never guessed. Text is kept as it was: a result's
text becomes a JSON string, so that text which is JSON itself keeps its bytes. A call without a result
is an error `outcome_unknown`. A stretch ends `handed_off` when a hand-off tool of HANDOFF_TOOLS was
called in it and did not fail, `answered` when its last message is text to the customer, and otherwise
`blocked` with the reason `source_ended`. The same file gives the same runs and the same bytes.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NoReturn
from uuid import UUID, uuid5

from tachograph.adapters.importers.conversation import (
    Conversation,
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
)
from tachograph.adapters.importers.stretches import Stretch, Turn, stretches
from tachograph.adapters.importers.texts import Texts
from tachograph.domain.budget import Budget
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import (
    CallRequest,
    Event,
    ModelTurn,
    Recorded,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
)
from tachograph.domain.origins import Source
from tachograph.domain.run import RunState, evolve, fold
from tachograph.domain.text import storable
from tachograph.domain.values import json_text

HANDOFF_TOOLS: Final = frozenset({"transfer_to_human_agents"})
NO_RESULT: Final = "The imported file has no result for this call; whether it took effect is not known."
SOURCE_ENDED: Final = "source_ended"

# Never changed: another namespace would import every known file a second time.
_RUN_IDS: Final = UUID("b9c70f4e-62a1-5d0e-9a0c-3f5f6f0a7d11")
_UNKNOWN: Final = "unknown"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_events(conversation: Conversation) -> list[tuple[UUID, list[Event]]]:
    """
    Return a conversation's runs in order, each with its events.

    Raises:
        CorruptRun: A run doesn't fold. Never for what the parsers of this package return.
    """
    found, unanswered = stretches(conversation.messages)
    runs: list[tuple[UUID, list[Event]]] = []
    for index, stretch in enumerate(found):
        run_id = run_id_of(conversation, index)
        last = index == len(found) - 1
        started = _started(conversation, stretch, index, unanswered if last else [])
        events: list[Event] = [started, *_turns(conversation, stretch)]
        state = fold(run_id, [Recorded(run_id, version, event) for version, event in enumerate(events, 1)])
        terminal = _terminal(state, stretch)
        evolve(run_id, state, terminal)
        runs.append((run_id, [*events, terminal]))
    return runs


def run_id_of(conversation: Conversation, stretch: int) -> UUID:
    """Return the id of the run that a stretch becomes."""
    name = f"{conversation.format}:{conversation.digest}:{conversation.index}:{stretch}"
    return uuid5(_RUN_IDS, name)


def _started(
    conversation: Conversation, stretch: Stretch, index: int, unanswered: list[ForeignMessage]
) -> RunStarted:
    texts = Texts()
    messages: list[ForeignMessage] = list(stretch.incoming)
    if index == 0 and conversation.policy is not None:
        messages.insert(0, Utterance("system", conversation.policy))
    first = stretch.incoming[0] if stretch.incoming else stretch.turns[0].said if stretch.turns else None
    return RunStarted(
        recorded_at=_time(conversation, first),
        agent=texts.keep("agent", conversation.agent),
        agent_version=texts.keep("agent_version", conversation.model),
        definition_digest=_UNKNOWN,
        catalogue_digest=_UNKNOWN,
        context=TrustedContext(trace_id=conversation.trace_id, tenant="import", actor="customer"),
        input=tuple(texts.message(f"input.{place}", message) for place, message in enumerate(messages)),
        budget=Budget(max_steps=max(1, len(stretch.turns))),
        owner="import",
        continues=run_id_of(conversation, index - 1) if index else None,
        source=Source(
            format=conversation.format,
            digest=conversation.digest,
            conversation=conversation.index,
            stretch=index,
            first_message=stretch.first,
            last_message=stretch.last,
            label=texts.keep("source.label", conversation.label) or None,
            clock=conversation.clock,
            unanswered=tuple(
                texts.message(f"source.unanswered.{place}", message)
                for place, message in enumerate(unanswered)
            ),
        ),
        altered=texts.altered,
    )


def _turns(conversation: Conversation, stretch: Stretch) -> Iterator[Event]:
    for step, turn in enumerate(stretch.turns, start=1):
        recorded = _model_turn(conversation, turn, step)
        yield recorded
        for place, (request, result) in enumerate(zip(recorded.calls, turn.results, strict=True)):
            if result is None and turn.said.ended and turn.said.ended[1] == place:
                continue
            yield _result(_time(conversation, result or turn.said), request, result)


def _model_turn(conversation: Conversation, turn: Turn, step: int) -> ModelTurn:
    said, texts = turn.said, Texts()
    return ModelTurn(
        recorded_at=_time(conversation, said),
        step=step,
        model_asked=texts.keep("model_asked", said.model or conversation.model),
        model_answered=texts.keep_if_any("model_answered", said.model_answered),
        request_digest=_UNKNOWN,
        text=texts.keep_if_any("text", said.text),
        calls=tuple(
            _request(f"{step}.{place + 1}", f"calls.{place}", call, texts)
            for place, call in enumerate(said.calls)
        ),
        finish_reason="tool_calls" if said.calls else "stop",
        usage=said.usage,
        cost_usd=said.cost_usd,
        latency_ms=said.latency_ms,
        response_id=texts.keep_if_any("response_id", said.response_id),
        altered=texts.altered,
    )


def _request(key: str, field: str, call: ForeignCall, texts: Texts) -> CallRequest:
    return CallRequest(
        call_key=key,
        provider_id=texts.keep_if_any(f"{field}.provider_id", call.provider_id),
        name=texts.keep(f"{field}.name", call.name),
        arguments=texts.keep_if_any(f"{field}.arguments", call.arguments),
    )


def _result(at: datetime, call: CallRequest, result: ToolResult | None) -> ToolCall | ToolError:
    if result is not None and not result.is_error:
        return ToolCall(
            recorded_at=at,
            call_key=call.call_key,
            name=call.name,
            arguments=_arguments(result.arguments or call.arguments),
            output=json_text(result.text),
            duration_ms=result.duration_ms,
        )
    exact = (result.text or "") if result else NO_RESULT
    message, notes = storable("message", exact)
    return ToolError(
        recorded_at=at,
        call_key=call.call_key,
        name=call.name,
        code="tool_execution_failed" if result else "outcome_unknown",
        message=message,
        detail=f"{'; '.join(notes)}: {json_text(exact)}" if notes else None,
        duration_ms=result.duration_ms if result else 0,
    )


def _terminal(state: RunState, stretch: Stretch) -> Terminal:
    at, totals = state.last_recorded_at, state.totals
    call = _handoff(state)
    if call is not None:
        return Terminal(
            recorded_at=at,
            outcome="handed_off",
            call_key=call.call_key,
            tool=call.name,
            arguments=_arguments(call.arguments),
            totals=totals,
        )
    last = stretch.turns[-1].said if stretch.turns else None
    if last is not None and last.ended:
        outcome, place = last.ended
        call = state.steps[-1].turn.calls[place]
        return Terminal(
            recorded_at=at,
            outcome=outcome,
            call_key=call.call_key,
            tool=call.name,
            arguments=_arguments(call.arguments),
            totals=totals,
        )
    if last is None or last.calls or not (last.text and last.text.strip()):
        return Terminal(recorded_at=at, outcome="blocked", reason=SOURCE_ENDED, totals=totals)
    answer = json_text({"message": last.text})
    return Terminal(recorded_at=at, outcome="answered", tool="answer_user", arguments=answer, totals=totals)


def _handoff(state: RunState) -> CallRequest | None:
    """Return the first call of a hand-off tool that did not fail."""
    for step in state.steps:
        failed = {
            result.call_key
            for result in step.results
            if isinstance(result, ToolError) and result.code != "outcome_unknown"
        }
        for call in step.turn.calls:
            if call.name in HANDOFF_TOOLS and call.call_key not in failed:
                return call
    return None


def _arguments(text: str | None) -> str:
    """Return a call's arguments as JSON text: as produced if that is JSON, else as a JSON string."""
    if not (text and text.strip()):
        return "{}"
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return json_text(text)
    return text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _time(conversation: Conversation, message: ForeignMessage | None) -> datetime:
    own = message.at if message is not None and conversation.clock == "message" else None
    return own or conversation.started_at or _EPOCH
