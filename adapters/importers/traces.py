"""
Traces to conversations.

A trace is one conversation, or one for each agent that another one called, for each root and for each
conversation id that its spans name; roots that name the same id are one, those of another trace too if
they repeat what was said before. A history that doesn't go on with another one becomes a conversation
besides (`histories`). Times are those of the spans:
an answer's is the end of its call, that of what was said to a model the start of the first call with it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tachograph.adapters.importers.conversation import Clock, Conversation
from tachograph.adapters.importers.histories import Histories, History
from tachograph.adapters.importers.observed import Observed
from tachograph.domain.errors import ImportRejected

_UNKNOWN: Final = "unknown"

_TRACES_SHOWN: Final = 3

_SpanKey = tuple[str, str]
_GroupKey = tuple[_SpanKey | None, str | None]


@dataclass(slots=True)
class _Unit:
    """What one agent did, or what was done below one root. `nested`: another agent stands above it."""

    key: _SpanKey
    nested: bool
    agent: Observed | None
    steps: list[Observed]


@dataclass(frozen=True, slots=True)
class _Above:
    """What stands above a span: its unit, and whether the next that says something is a model call."""

    unit: _SpanKey
    nested: bool
    in_chat: bool


def conversations(
    file: str, format_name: str, digest: str, observed: Sequence[Observed]
) -> list[Conversation]:
    """
    Return the conversations of a file's spans, in the order in which they began.

    Raises:
        ImportRejected: There are none, or one is too long.
    """
    found: list[Conversation] = []
    for (_, name), units in _grouped(_units(observed)).items():
        for history in _histories(units):
            found.append(_conversation(format_name, digest, len(found), _label(name, history), history))
    if not found:
        raise ImportRejected(f"{file}: the file holds no conversations in the conventions of {format_name}")
    return found


def _conversation(format_name: str, digest: str, index: int, label: str, history: History) -> Conversation:
    timed = [message.at for message in history.messages]
    clock: Clock = "message" if all(timed) else "none"
    return Conversation(
        format=format_name,
        digest=digest,
        index=index,
        label=label,
        messages=tuple(history.messages),
        agent=history.agent or _UNKNOWN,
        model=history.model or _UNKNOWN,
        policy=history.policy,
        started_at=timed[0] if clock == "message" else None,
        clock=clock,
    )


def _label(name: str | None, history: History) -> str:
    return "; ".join(_label_parts(name, history))


def _label_parts(name: str | None, history: History) -> Iterator[str]:
    for trace_id in list(history.traces)[:_TRACES_SHOWN]:
        yield f"trace {trace_id}"
    if len(history.traces) > _TRACES_SHOWN:
        yield f"{len(history.traces) - _TRACES_SHOWN} more traces"
    if name is not None:
        yield f"conversation {name}"
    for note, count in sorted(history.notes.items()):
        yield f"{note} ({count} times)" if count > 1 else note


def _units(observed: Sequence[Observed]) -> list[_Unit]:
    above = _above(observed)
    units: dict[_SpanKey, _Unit] = {}
    for each in sorted(observed, key=_order):
        key = (each.span.trace_id, each.span.span_id)
        place = above[key]
        if each.kind == "agent":
            unit = units.setdefault(key, _Unit(key, place.nested, each, []))
            unit.agent = each
        elif each.kind != "other":
            unit = units.setdefault(place.unit, _Unit(place.unit, place.nested, None, []))
            if place.in_chat and each.kind == "chat":
                each = replace(each, kind="other")
            unit.steps.append(each)
    return list(units.values())


def _order(each: Observed) -> tuple[int, int]:
    return each.span.start_ns, each.span.place


def _above(observed: Sequence[Observed]) -> dict[_SpanKey, _Above]:
    """
    Say what stands above each span. A parent that isn't in the file still holds its spans together; one in a
    circle is none.
    """
    spans = {(each.span.trace_id, each.span.span_id): each for each in observed}
    found: dict[_SpanKey, _Above] = {}
    for start in spans:
        way: dict[_SpanKey, None] = {}
        key: _SpanKey | None = start
        while key is not None and key not in found and key not in way:
            way[key] = None
            parent = spans[key].span.parent_id
            key = (key[0], parent) if parent is not None and (key[0], parent) in spans else None
        for below in reversed(way):
            parent = spans[below].span.parent_id
            up = None if parent is None else (below[0], parent)
            over = found.get(up) if up is not None else None
            if up is None or over is None:
                found[below] = _Above(up if up is not None and up not in spans else below, False, False)
            elif spans[up].kind == "agent":
                found[below] = _Above(up, over.unit != up, False)
            else:
                in_chat = over.in_chat if spans[up].kind == "other" else spans[up].kind == "chat"
                found[below] = _Above(over.unit, over.nested, in_chat)
    return found


def _grouped(units: list[_Unit]) -> dict[_GroupKey, list[_Unit]]:
    groups: dict[_GroupKey, list[_Unit]] = defaultdict(list)
    for unit in units:
        members = (*unit.steps, *([unit.agent] if unit.agent else []))
        names = {each.conversation for each in members if each.conversation}
        only = next(iter(names)) if len(names) == 1 else None
        parts: dict[str | None, list[Observed]] = defaultdict(list)
        for each in unit.steps:
            parts[each.conversation or only].append(each)
        for name, steps in (parts or {only: []}).items():
            alone = unit.nested or name is None
            part = _Unit(unit.key, unit.nested, unit.agent, steps)
            groups[unit.key if alone else None, name].append(part)
    return groups


def _histories(units: list[_Unit]) -> list[History]:
    histories = Histories()
    trace_id = ""
    for unit in units:
        agent, steps = unit.agent, unit.steps
        if unit.key[0] != trace_id:
            trace_id = unit.key[0]
            histories.another_trace()
        if not any(each.kind == "chat" for each in steps):
            if agent is not None and (agent.said_in is not None or agent.said_out is not None):
                steps = [replace(agent, kind="chat"), *steps]
        elif agent and agent.said_in and all(each.said_in is None for each in steps):
            histories.given(agent, agent.said_in)
        for each in steps:
            if each.kind == "chat":
                histories.chat(_completed(each, agent))
            elif each.kind == "tool":
                histories.tool(each)
            elif each.kind == "other":
                histories.note("a model call within a model call was taken for the same one")
        if agent is not None and agent.outcome is not None:
            histories.ended(agent, agent.outcome)
    return histories.finish()


def _completed(chat: Observed, agent: Observed | None) -> Observed:
    """Add to a model call what its agent alone says."""
    if agent is None:
        return chat
    policy = agent.policy if chat.policy is None else chat.policy
    return replace(chat, agent=(chat.agent or agent.agent), policy=policy)
