"""
The index of a trace, filled from its events.

Evidence is what entered a run from outside the model: input messages, trusted context, tool outputs, and
what a tool said when it failed. What the model wrote is indexed too, marked as such: it shows where a
value was first mentioned, and which outputs only echo their own arguments. Messages that the runtime
itself wrote to the model are no evidence for anything.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from tachograph.domain.events import CallRequest, ModelTurn, Recorded, RunStarted, ToolCall, ToolError
from tachograph.domain.origins import Message
from tachograph.domain.why.argument import Trust
from tachograph.domain.why.document import Origin
from tachograph.domain.why.index import TEXT_MAX, Index
from tachograph.domain.why.leaves import Leaf, leaves, opened, parsed

_TRUST: dict[str, Trust] = {"system": "policy", "user": "customer", "tool": "tool"}


@dataclass(slots=True)
class Evidence:
    """
    An indexed trace.

    Args:
        turns: Where the evidence of a turn's calls ends, by run and step.
        requests: Document of a call's arguments, by run and call key.
        steps: The step of a turn's event, by run and version.
        outputs: A call's output as recorded, with the document that it is, in the order of the record.
    """

    index: Index = field(default_factory=Index)
    turns: dict[tuple[UUID, int], int] = field(default_factory=dict)
    requests: dict[tuple[UUID, str], int] = field(default_factory=dict)
    steps: dict[tuple[UUID, int], int] = field(default_factory=dict)
    outputs: list[tuple[ToolCall, int]] = field(default_factory=list)
    events: int = 0
    _leaves: dict[int, list[Leaf]] = field(default_factory=dict)

    def latest_output(self, tool: str, before: int) -> tuple[ToolCall, int] | None:
        """Return the last successful call of a tool before a place, and the document of its output."""
        for call, document in reversed(self.outputs):
            if call.name == tool and self.index.documents[document].start < before:
                return call, document
        return None

    def leaves_of(self, call: ToolCall) -> list[Leaf]:
        """Return the leaves of a call's output, read once."""
        found = self._leaves.get(id(call))
        if found is None:
            found = self._leaves[id(call)] = list(leaves(opened(_read(call.output))))
        return found


def gather(recorded: Iterable[Recorded]) -> Evidence:
    """Index the events of a trace. They come in the order of the record, runs interleaved or not."""
    evidence = Evidence()
    for entry in recorded:
        evidence.events += 1
        match entry.event:
            case RunStarted():
                _add_start(evidence, entry, entry.event)
            case ModelTurn():
                _add_turn(evidence, entry, entry.event)
            case ToolCall() | ToolError():
                _add_result(evidence, entry, entry.event)
    evidence.index.seal()
    return evidence


def _add_start(evidence: Evidence, entry: Recorded, started: RunStarted) -> None:
    context = {
        name: value
        for name, value in started.context.model_dump(mode="json", exclude_none=True).items()
        if name != "trace_id"
    }
    origin = Origin(entry.run_id, entry.version, entry.event.kind, None, None, "context", "/context")
    evidence.index.add(origin, parsed(json.dumps(context)))
    for place, message in enumerate(started.input):
        evidence.index.add(_message_origin(entry, place, message), message.content)


def _message_origin(entry: Recorded, place: int, message: Message) -> Origin:
    trust = _TRUST.get(message.role)
    return Origin(entry.run_id, entry.version, entry.event.kind, None, None, trust, f"/input/{place}/content")


def _add_turn(evidence: Evidence, entry: Recorded, turn: ModelTurn) -> None:
    evidence.turns[entry.run_id, turn.step] = evidence.index.size
    evidence.steps[entry.run_id, entry.version] = turn.step
    for place, text in enumerate((turn.text, turn.refusal)):
        if text:
            pointer = ("/text", "/refusal")[place]
            origin = Origin(entry.run_id, entry.version, turn.kind, None, None, None, pointer)
            evidence.index.add(origin, text)
    for place, call in enumerate(turn.calls):
        _add_request(evidence, entry, place, call)


def _add_request(evidence: Evidence, entry: Recorded, place: int, call: CallRequest) -> None:
    pointer = f"/calls/{place}/arguments"
    origin = Origin(entry.run_id, entry.version, entry.event.kind, call.call_key, call.name, None, pointer)
    evidence.requests[entry.run_id, call.call_key] = evidence.index.add(origin, call.arguments or "")


def _add_result(evidence: Evidence, entry: Recorded, result: ToolCall | ToolError) -> None:
    succeeded = isinstance(result, ToolCall)
    if isinstance(result, ToolError) and result.code != "tool_execution_failed":
        return
    origin = Origin(
        entry.run_id,
        entry.version,
        result.kind,
        result.call_key,
        result.name,
        "tool" if succeeded else "error",
        "/output" if succeeded else "/message",
    )
    value = _read(result.output) if isinstance(result, ToolCall) else result.message
    document = evidence.index.add(origin, value, evidence.requests.get((entry.run_id, result.call_key)))
    if isinstance(result, ToolCall):
        evidence.outputs.append((result, document))


def _read(output: str) -> object:
    """Return an output as its JSON; what is past the cap, or isn't JSON, as text."""
    if len(output) > TEXT_MAX:
        return output
    try:
        return parsed(output)
    except ValueError:
        return output
