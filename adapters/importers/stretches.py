"""
Cut a conversation into stretches: what came in, then the assistant's turns until more comes in.

A stretch becomes one run. What comes in is a message of the customer, a message of the system, or a
tool's result that belongs to no call.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tachograph.adapters.importers.conversation import (
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the assistant and the result of each of its calls, None where the file has none."""

    said: Utterance
    results: tuple[ToolResult | None, ...] = ()


@dataclass(slots=True)
class Stretch:
    """Messages `first` to `last` of a conversation, counted from 0; `last < first` when it has none."""

    incoming: list[ForeignMessage]
    first: int
    last: int
    turns: list[Turn] = field(default_factory=list)


def stretches(messages: Sequence[ForeignMessage]) -> tuple[list[Stretch], list[ForeignMessage]]:
    """
    Cut a conversation.

    Returns:
        The stretches, at least one, and what came in after the last turn. Only the stretch of a
        conversation in which the assistant never spoke has no turn.
    """
    found: list[Stretch] = []
    incoming: list[int] = []
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if not isinstance(message, Utterance) or message.role != "assistant":
            incoming.append(index - 1)
            continue
        if incoming or not found:
            first = incoming[0] if incoming else index - 1
            found.append(Stretch([messages[place] for place in incoming], first, first))
        results = _results_from(messages, index)
        matched, strays = match_results(message.calls, results)
        found[-1].turns.append(Turn(message, matched))
        found[-1].last = index - 1 + len(results)
        incoming = [index + place for place in strays]
        index += len(results)
    left = [messages[place] for place in incoming]
    return (found, left) if found else ([Stretch(left, 0, len(messages) - 1)], [])


def match_results(
    calls: Sequence[ForeignCall], results: Sequence[ToolResult]
) -> tuple[tuple[ToolResult | None, ...], list[int]]:
    """
    Find the result of each call of one turn, whatever order they stand in.

    The provider's id decides, with the tool's name where an id repeats. Where one of the two has no
    id, the name decides; where a result has neither, its position. A result whose id or name
    contradicts every call is nobody's.

    Returns:
        One result a call, None where there is none, and the places of the results left over.
    """
    matched: list[ToolResult | None] = [None] * len(calls)
    left_calls, left_results = list(range(len(calls))), list(range(len(results)))
    for call_key, result_key in _ROUNDS:
        if not left_calls or not left_results:
            break
        free: dict[Hashable, deque[int]] = defaultdict(deque)
        for place in left_calls:
            free[call_key(calls[place])].append(place)
        strays: list[int] = []
        for place in left_results:
            key = result_key(results[place])
            if key is not None and free.get(key):
                matched[free[key].popleft()] = results[place]
            else:
                strays.append(place)
        left_calls = [place for place in left_calls if matched[place] is None]
        left_results = strays
    return tuple(matched), left_results


def _results_from(messages: Sequence[ForeignMessage], start: int) -> list[ToolResult]:
    found: list[ToolResult] = []
    for place in range(start, len(messages)):
        message = messages[place]
        if not isinstance(message, ToolResult):
            break
        found.append(message)
    return found


def _id_and_name(item: ForeignCall | ToolResult) -> Hashable:
    return (item.provider_id, item.name) if item.provider_id and item.name else None


def _id(item: ForeignCall | ToolResult) -> Hashable:
    return item.provider_id or None


def _name(item: ForeignCall | ToolResult) -> Hashable:
    return item.name or None


def _name_without_id(item: ForeignCall | ToolResult) -> Hashable:
    return None if item.provider_id else item.name or None


def _any_without_id(call: ForeignCall) -> Hashable:
    return None if call.provider_id else "any"


def _any(call: ForeignCall) -> Hashable:
    return "any"


def _any_without_name(result: ToolResult) -> Hashable:
    return None if result.name else "any"


def _any_without_id_or_name(result: ToolResult) -> Hashable:
    return None if result.provider_id or result.name else "any"


_CallKey = Callable[[ForeignCall], Hashable]
_ResultKey = Callable[[ToolResult], Hashable]

# In order: equal keys belong together; None takes part in no round.
_ROUNDS: Final[tuple[tuple[_CallKey, _ResultKey], ...]] = (
    (_id_and_name, _id_and_name),
    (_id, _id),
    (_name_without_id, _name),
    (_name, _name_without_id),
    (_any_without_id, _any_without_name),
    (_any, _any_without_id_or_name),
)
