"""Recorded conversations of a file as events, with the reward that each got."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tachograph.adapters.importers import tau2, tau_bench
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.events import CallRequest, ModelTurn, Recorded, RunStarted, ToolCall, ToolError
from tachograph.domain.why.evidence import Evidence, gather
from tachograph.domain.why.trace import in_order

# Tools that look something up, think or hand over; all others change something.
READING = ("get_", "find_", "search_", "list_", "check_", "calculate", "think", "transfer_")


@dataclass(frozen=True)
class Request:
    """A call that changes something, and where in the index its evidence ends."""

    call: CallRequest
    before: int
    version: tuple[Any, int]

    @property
    def arguments(self) -> Any:
        """The arguments, numbers as decimals."""
        return json.loads(self.call.arguments or "{}", parse_int=Decimal, parse_float=Decimal)


@dataclass(frozen=True)
class Conversation:
    """One conversation: its events in order, the index over them, its reward."""

    number: int
    reward: float
    recorded: list[Recorded]
    evidence: Evidence

    def requests(self) -> Iterator[Request]:
        """Yield the calls that change something, of those with arguments in JSON."""
        for entry in self.recorded:
            if isinstance(entry.event, ModelTurn):
                for call in entry.event.calls:
                    if not call.name.startswith(READING) and _is_json(call.arguments):
                        before = self.evidence.turns[entry.run_id, entry.event.step]
                        yield Request(call, before, (entry.run_id, entry.version))

    def texts_before(self, version: tuple[Any, int]) -> str:
        """Return all evidence before an event as one text in lower case."""
        texts: list[str] = []
        for entry in self.recorded:
            if (entry.run_id, entry.version) == version:
                break
            match entry.event:
                case RunStarted():
                    texts += [message.content for message in entry.event.input if message.role != "assistant"]
                case ToolCall():
                    texts.append(_unwrapped(entry.event.output))
                case ToolError():
                    texts.append(entry.event.message)
        return "\n".join(texts).lower()


def load(path: Path) -> tuple[str, list[Conversation]]:
    """Return the SHA-256 of a file of tau-bench or tau2, and its conversations."""
    data = path.read_bytes()
    document = json.loads(data)
    if isinstance(document, list):
        parsed = tau_bench.parse(path.name, data)
        rewards = [conversation["reward"] for conversation in document]
    else:
        parsed = tau2.parse(path.name, data)
        rewards = [simulation["reward_info"]["reward"] for simulation in document["simulations"]]
    conversations = []
    for conversation, reward in zip(parsed, rewards, strict=True):
        runs = {
            run_id: [Recorded(run_id, version, event) for version, event in enumerate(events, 1)]
            for run_id, events in to_events(conversation)
        }
        recorded = in_order(runs)
        conversations.append(Conversation(conversation.index, reward, recorded, gather(recorded)))
    return hashlib.sha256(data).hexdigest(), conversations


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of arguments with their pointers."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from leaves(member, f"{pointer}/{key}")
    elif isinstance(value, list) and value:
        for place, member in enumerate(value):
            yield from leaves(member, f"{pointer}/{place}")
    else:
        yield pointer, value


def with_value(arguments: Any, pointer: str, value: Any) -> str:
    """Return arguments as JSON text with one leaf replaced."""

    def written(node: Any, path: str) -> str:
        if path == pointer:
            node = value
        if isinstance(node, dict):
            members = (
                f"{json.dumps(key)}: {written(member, f'{path}/{key}')}" for key, member in node.items()
            )
            return f"{{{', '.join(members)}}}"
        if isinstance(node, list):
            return f"[{', '.join(written(member, f'{path}/{place}') for place, member in enumerate(node))}]"
        return f"{node:f}" if isinstance(node, Decimal) else json.dumps(node)

    return written(arguments, "")


def _is_json(arguments: str | None) -> bool:
    try:
        return isinstance(json.loads(arguments or "{}"), dict)
    except ValueError:
        return False


def _unwrapped(output: str) -> str:
    value = json.loads(output)
    return value if isinstance(value, str) else output
