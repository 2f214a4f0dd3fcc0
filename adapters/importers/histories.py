"""
Put what model calls were given and answered together into histories, each message once.

A call's input repeats what was said before. Where it begins with all that a history holds, it goes on
with that history; where it doesn't, a history of its own begins, since nothing tells how the two belong
together. A call without input goes on where the one before it ended. What is compared is role, text,
calls and ids, not layout of JSON.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from tachograph.adapters.importers.comparing import NOTHING, next_end, plain
from tachograph.adapters.importers.conversation import (
    MESSAGES_MAX,
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
    says_error,
)
from tachograph.adapters.importers.observed import Observed
from tachograph.adapters.importers.otlp import moment
from tachograph.adapters.importers.stretches import match_results

_ENDINGS: Final[Mapping[str, Literal["answered", "handed_off"]]] = {
    "answered": "answered",
    "handed_off": "handed_off",
}


@dataclass(slots=True)
class History:
    """
    Messages in order.

    Args:
        end: Digest of all messages.
        traces: Ids of the traces that it comes from, in order.
        tools: Executed since the last answer.
        bare: Whether the content of the last answer is not in the file, its calls neither.
        notes: What could not be taken over, and how often.
    """

    messages: list[ForeignMessage] = field(default_factory=list)
    end: bytes = NOTHING
    traces: dict[str, None] = field(default_factory=dict)
    tools: list[Observed] = field(default_factory=list)
    bare: bool = False
    policy: str | None = None
    agent: str | None = None
    model: str | None = None
    notes: Counter[str] = field(default_factory=Counter)


class Histories:
    """The histories of one conversation id, or of one agent's run."""

    def __init__(self) -> None:
        self.found: list[History] = []
        self._last: History | None = None
        self._ends: dict[bytes, History] = {}
        self._seen: set[bytes] = set()
        self._waiting: dict[str, History] = {}

    def given(self, place: Observed, said: Sequence[ForeignMessage]) -> None:
        """Take what was said to an agent whose model calls don't say what they were given."""
        if self._last is None:
            self._begin()
        else:
            self._execute(self._last)
        self._extend(place, said)

    def chat(self, chat: Observed) -> None:
        """Take a model call."""
        if chat.said_in is not None:
            self._continue(chat, chat.said_in)
        elif self._last is None:
            self._begin()
        else:
            self._execute(self._last)
        history = self._current
        if len(history.messages) > MESSAGES_MAX:
            chat.span.attributes.reject(f"a conversation of more than {MESSAGES_MAX} messages")
        history.traces[chat.span.trace_id] = None
        history.model = history.model or chat.model
        history.agent = history.agent or chat.agent
        history.notes.update(chat.notes)
        if chat.policy is not None and history.policy not in (None, chat.policy):
            history.notes["an answer was given under other instructions"] += 1
        history.policy = history.policy or chat.policy
        if chat.said_out is None and chat.span.failed:
            history.notes["a model call failed without an answer"] += 1
            return
        self._answer(chat, history)

    def tool(self, tool: Observed) -> None:
        """Take the execution of a tool."""
        history = self._waiting.get(tool.call.provider_id or "", self._last)
        if history is None:
            history = self._begin()
        history.tools.append(tool)

    def ended(self, agent: Observed, outcome: str) -> None:
        """Take how a run ended: by the call of its last answer that its agent names as its own answer."""
        history = self._last
        if history is None:
            return
        self._execute(history)
        last, answer = history.messages[-1] if history.messages else None, agent.said_out
        known = _ENDINGS.get(outcome)
        if isinstance(last, Utterance) and answer is not None and known is not None:
            for place, call in enumerate(last.calls):
                if _is_answer(call, answer):
                    history.messages[-1] = replace(last, ended=(known, place))
                    return
        history.notes[f"the run ended {outcome}"] += 1

    def another_trace(self) -> None:
        """Let no call without input go on with what was said in the trace before."""
        self._last = None
        self._waiting.clear()

    def note(self, text: str) -> None:
        """Note what could not be taken over."""
        if self._last is not None:
            self._last.notes[text] += 1

    def finish(self) -> list[History]:
        """Return what has messages, the results of the last calls with it."""
        for history in self.found:
            self._execute(history)
        return [history for history in self.found if history.messages]

    @property
    def _current(self) -> History:
        assert self._last is not None, "asked for once there is one"
        return self._last

    def _continue(self, chat: Observed, said: Sequence[ForeignMessage]) -> None:
        ends, end = [NOTHING], NOTHING
        for message in said:
            end = next_end(end, message)
            ends.append(end)
        for count in range(len(said), 0, -1):
            if ends[count] in self._ends:
                self._last = self._ends[ends[count]]
                self._extend(chat, said[count:])
                return
        self._begin()
        shared = max(count for count in range(len(said) + 1) if count == 0 or ends[count] in self._seen)
        if shared:
            self._current.notes[f"the first {shared} messages stand in another conversation too"] += 1
        self._extend(chat, said)

    def _begin(self) -> History:
        self._last = History()
        self.found.append(self._last)
        return self._last

    def _extend(self, place: Observed, said: Sequence[ForeignMessage]) -> None:
        history, at = self._current, moment(place.span.start_ns)
        known = _known_results(history, said)
        history.bare = False
        for message in said:
            found = known.pop(0) if isinstance(message, ToolResult) else None
            if found is not None and isinstance(message, ToolResult):
                failed = found.is_error or message.is_error
                took, arguments = found.duration_ms, found.arguments
                of = replace(message, at=found.at, is_error=failed, duration_ms=took, arguments=arguments)
                self._add(history, of)
            else:
                self._add(history, replace(message, at=at))
        history.tools = []

    def _answer(self, chat: Observed, history: History) -> None:
        said = chat.said_out or Utterance("assistant", None)
        answer = replace(
            said,
            at=chat.span.ended_at,
            usage=chat.usage,
            cost_usd=chat.cost_usd,
            model=chat.model,
            model_answered=chat.model_answered,
            response_id=chat.response_id,
            latency_ms=chat.span.took_ms,
        )
        history.bare = chat.said_out is None
        if history.bare:
            history.notes["an answer's content is not in the file"] += 1
        self._add(history, answer)
        self._waiting |= {call.provider_id: history for call in answer.calls if call.provider_id}

    def _execute(self, history: History) -> None:
        """Take the results of the last answer's calls from the spans of their execution."""
        tools, history.tools = history.tools, []
        last = history.messages[-1] if history.messages else None
        if isinstance(last, Utterance) and history.bare and tools:
            last = replace(last, calls=tuple(tool.call for tool in tools))
            history.messages[-1] = last
        history.bare = False
        calls = last.calls if isinstance(last, Utterance) else ()
        results, strays = match_results(calls, [_result(tool) for tool in tools])
        if strays:
            history.notes["a tool was executed that no answer asked for"] += len(strays)
        for found in filter(None, results):
            self._add(history, found)

    def _add(self, history: History, message: ForeignMessage) -> None:
        history.messages.append(message)
        if self._ends.get(history.end) is history:
            del self._ends[history.end]
        history.end = next_end(history.end, message)
        self._ends[history.end] = history
        self._seen.add(history.end)


def _known_results(history: History, said: Sequence[ForeignMessage]) -> list[ToolResult | None]:
    """Return what the spans of executed tools tell of each result in some messages."""
    names: dict[str | None, str] = {}
    wanted: list[ForeignCall] = []
    for message in (*history.messages[-1:], *said):
        if isinstance(message, Utterance):
            names |= {call.provider_id: call.name for call in message.calls}
    for message in said:
        if isinstance(message, ToolResult):
            name = message.name or names.get(message.provider_id) or ""
            wanted.append(ForeignCall(message.provider_id, name, None))
    return list(match_results(wanted, [_result(tool) for tool in history.tools])[0])


def _result(tool: Observed) -> ToolResult:
    span, call = tool.span, tool.call
    text = tool.error if tool.output is None and span.failed else tool.output
    failed = span.failed or says_error(text)
    ended, took = span.ended_at, span.took_ms
    return ToolResult(call.provider_id, call.name or None, text, failed, ended, took, call.arguments)


def _is_answer(call: ForeignCall, answer: Utterance) -> bool:
    if answer.calls:
        return call.name == answer.calls[0].name
    return plain(call.arguments) == plain(answer.text)
