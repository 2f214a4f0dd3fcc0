"""One run as its record tells it: every event, in order, with what it holds."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from tachograph.adapters.screen.json_layout import laid_out
from tachograph.adapters.screen.output import Screen, text
from tachograph.adapters.screen.status import open_status
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.events import (
    Entry,
    Event,
    ModelTurn,
    Recorded,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)

_TEXT_MAX: Final = 4_000
_LABEL_MAX: Final = 200
_KIND: Final = 12
_FIELD: Final = 11
_INDENT: Final = 6
_STYLES: Final = {
    "model_turn": "bold blue",
    "tool_error": "bold red",
    "terminal": "bold green",
    "run_resumed": "bold yellow",
}

Field = tuple[str, Text]


def print_timeline(screen: Screen, entries: Sequence[Entry], *, at: int | None = None) -> None:
    """Print a run's events. `at`: the version that was asked for, if not the last."""
    first = entries[0].event if isinstance(entries[0], Recorded) else None
    screen.print(*_preface(entries, first, at))
    began = first.recorded_at if first is not None else None
    for entry in entries:
        screen.print("")
        _print_event(screen, entry, began)


def _preface(entries: Sequence[Entry], first: Event | None, at: int | None) -> Iterator[RenderableType]:
    what = "approval" if entries[0].kind == "approval_requested" else "run"
    yield text(f"{what} {entries[0].run_id}", "bold")
    if not isinstance(first, RunStarted):
        return
    context = first.context
    parties = [
        f"agent {first.agent} {first.agent_version}",
        f"tenant {context.tenant}",
        f"actor {context.actor}",
        *([f"customer {context.customer}"] if context.customer else []),
        *([f"may {', '.join(context.permissions)}"] if context.permissions else []),
    ]
    yield text(f"{_status(entries)}{f', as it stood at version {at}' if at is not None else ''}", "bold")
    yield text(f"trace {context.trace_id}", characters_max=_LABEL_MAX)
    yield text(" · ".join(parties), characters_max=600)
    yield text(f"began {first.recorded_at.isoformat(sep=' ', timespec='milliseconds')}")


def _status(entries: Sequence[Entry]) -> str:
    events = [entry.event for entry in entries if isinstance(entry, Recorded)]
    if isinstance(events[-1], Terminal):
        return f"{events[-1].outcome}{f': {events[-1].reason}' if events[-1].reason else ''}"
    owners = [event.owner for event in events if isinstance(event, RunStarted | RunResumed)]
    return open_status(owners[-1], events[-1].recorded_at)


def _print_event(screen: Screen, entry: Entry, began: datetime | None) -> None:
    if not isinstance(entry, Recorded):
        kind = text(f"{entry.kind:{_KIND}}", "bold red", characters_max=_LABEL_MAX)
        screen.hanging(_head(entry.version, kind, ""), text(f"unreadable: {entry.why}", "red"))
        return
    event = entry.event
    style = _STYLES.get(event.kind, "bold")
    kind = Text(f"{event.kind:{_KIND}}", style)
    screen.hanging(_head(entry.version, kind, _since(event.recorded_at, began)), _title(event))
    for name, said in _fields(event, screen.width - _INDENT - _FIELD - 1):
        label = text(f"{name:{_FIELD}}", "dim", characters_max=_LABEL_MAX)
        screen.hanging(Text.assemble(" " * _INDENT, label, " "), said)


def _head(version: int, kind: Text, when: str) -> Text:
    return Text.assemble((f"{version:>4}  ", "bold"), kind, (f"{when:>11}  ", "dim"))


def _since(at: datetime, began: datetime | None) -> str:
    """Return the time since the run began; a clock that was set back shows as a minus."""
    if began is None:
        return ""
    seconds = (at - began).total_seconds()
    sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
    if seconds < 100:
        return f"{sign}{seconds:.3f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}:{minutes:02}:{rest:02}"


def _title(event: Event) -> Text:
    match event:
        case RunStarted():
            limits = event.budget.model_dump(mode="json", exclude_none=True)
            return text(", ".join(f"{name} {limit}" for name, limit in limits.items()))
        case ModelTurn():
            usage = f"{event.usage.tokens_in:,} tokens read, {event.usage.tokens_out:,} written"
            cost = f", {event.cost_usd} USD" if event.cost_usd is not None else ""
            model = event.model_answered or event.model_asked
            said = (
                f"turn {event.step} · {model} · {event.finish_reason} · {usage}{cost} · {event.latency_ms} ms"
            )
            return text(said, characters_max=_LABEL_MAX + 100)
        case ToolStarted():
            return _call(event.call_key, event.name, f"{event.effect}, key {event.idempotency_key}")
        case ToolCall():
            return _call(event.call_key, event.name, f"{event.duration_ms} ms")
        case ToolError():
            return _call(event.call_key, event.name, f"{event.code}, {event.duration_ms} ms", "red")
        case RunResumed():
            return text(f"by {event.actor}: {event.reason}", "yellow")
        case Terminal():
            reason = f": {event.reason}" if event.reason else ""
            actor = f", by {event.actor}" if event.actor else ""
            tool = f"  {event.call_key} {event.tool}" if event.tool else ""
            return text(f"{event.outcome}{reason}{actor}{tool}", "bold")
        case ApprovalRequested():
            return _call(event.call_key, event.tool, f"asked for by run {event.run_id}")
        case ApprovalGranted() | ApprovalDenied():
            return text(f"by {event.by}: {event.reason}", "bold")
        case ApprovalRefused():
            return text(f"{event.answer} by {event.by}: {event.code}", "red")
        case ApprovalStarted():
            return text(f"{event.tool} ({event.effect}, key {event.idempotency_key})")
        case ApprovalExecuted():
            settled = f", settled by {event.settled.actor}" if event.settled else ""
            return text(f"{event.code or 'done'}, {event.duration_ms} ms{settled}")
        case ApprovalExpired() | ApprovalEscalated():
            return Text()
        case AgentDefined():
            return text(event.agent)


def _call(key: str, name: str, more: str, style: str = "") -> Text:
    called = text(name or "(no name)", f"bold {style}", characters_max=100)
    return Text.assemble(text(key, characters_max=20), "  ", called, "  ", text(more, "dim"))


def _fields(event: Event, width: int) -> Iterator[Field]:
    match event:
        case RunStarted():
            for message in event.input:
                yield message.role, _block(message.content)
            if event.request_id:
                yield "request", _block(event.request_id)
            if event.continues:
                yield "continues", text(str(event.continues))
            if event.source:
                source = event.source
                label = f" ({source.label})" if source.label else ""
                place = f"{source.format}, conversation {source.conversation}{label}"
                yield "imported", text(place, characters_max=_LABEL_MAX)
        case ModelTurn():
            for name, said in (("text", event.text), ("refusal", event.refusal), ("error", event.error)):
                if said:
                    yield name, _block(said)
            for call in event.calls:
                called = text(call.name or "(no name)", "bold", characters_max=100)
                yield (
                    f"call {call.call_key}",
                    Text.assemble(called, "  ", _json(call.arguments or "", width - len(call.name) - 2)),
                )
        case ToolStarted() | RunResumed():
            return
        case ToolCall():
            yield "arguments", _json(event.arguments, width)
            yield "output", _json(event.output, width)
        case ToolError():
            yield "message", _block(event.message)
            if event.detail:
                yield "detail", _block(event.detail)
        case Terminal():
            if event.arguments is not None:
                yield "arguments", _json(event.arguments, width)
            yield "totals", text(", ".join(f"{name} {value}" for name, value in _totals(event)))
        case ApprovalRequested():
            yield "arguments", _json(event.arguments, width)
        case ApprovalRefused():
            yield "message", _block(event.message)
        case AgentDefined():
            yield "definition", _json(event.definition, width)
        case ApprovalExecuted():
            for name, said in (("output", event.output), ("message", event.message)):
                if said:
                    yield name, _json(said, width)
    settled = getattr(event, "settled", None)
    if settled is not None:
        yield "settled", _block(f"by {settled.actor}: {settled.reason}")
    for note in getattr(event, "altered", None) or ():
        yield "altered", _block(note)


def _totals(event: Terminal) -> Iterator[tuple[str, object]]:
    for name, value in event.totals:
        if value is not None:
            yield name, value


def _block(data: str) -> Text:
    return text(data.rstrip("\n"), block=True, characters_max=_TEXT_MAX)


def _json(data: str, width: int) -> Text:
    return _block(laid_out(data, max(width, 40)))
