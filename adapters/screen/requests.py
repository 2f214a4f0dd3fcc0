"""What `show --requests` prints: what the model was sent, turn by turn."""

import json
from typing import Final
from uuid import UUID

from rich.text import Text

from tachograph.adapters.loading import chain_of, load
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, opened
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.output import Screen, text
from tachograph.domain.definitions import AgentDefined, definition_id, digest_of
from tachograph.domain.errors import StoreError
from tachograph.domain.events import Recorded
from tachograph.domain.messages import History
from tachograph.domain.ports import EventStore
from tachograph.domain.requests import Sent, requests_of

_TEXT_MAX: Final = 2_000


def requests(settings: Settings, run: str) -> int:
    """Print each request. NO if one is not the one whose digest was recorded."""
    screen = Screen()
    whole = True
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        state = load(store, run_id)
        definition = _definition(store, run_id, state.started.definition_digest)
        history = History(chain_of(store, state), json.loads(definition)["shown_max"])
        for sent in requests_of(definition, state, history):
            whole &= sent.matches
            if settings.as_json:
                screen.lines([_line(run_id, sent)])
            else:
                _print(screen, sent)
    if not whole:
        tell("Error: a request is not the one whose digest was recorded: the record has changed since then.")
        return NO
    return FINE


def _definition(store: EventStore, run_id: UUID, digest: str) -> str:
    found = store.read(definition_id(digest), up_to=1)
    event = found[0].event if found and isinstance(found[0], Recorded) else None
    if not isinstance(event, AgentDefined) or digest_of(event.definition) != digest:
        raise StoreError(
            f"the definition that run {run_id} began with is not recorded here, or not as it was"
        )
    return event.definition


def _print(screen: Screen, sent: Sent) -> None:
    request = sent.request
    mark = "as recorded" if sent.matches else "NOT as recorded"
    screen.print("", text(f"turn {request.step} · {request.model} · {mark}", "bold"))
    said = [("instructions", request.instructions), ("tools", ", ".join(tool.name for tool in request.tools))]
    for message in request.messages:
        calls = "; ".join(f"{call.name} {call.arguments or ''}" for call in message.calls)
        said.append((message.role, f"{message.content} {f'→ {calls}' if calls else ''}".strip()))
    for name, value in said:
        head = Text.assemble(text(f"{name:14}", "dim"))
        screen.hanging(head, text(value, block=True, characters_max=_TEXT_MAX))


def _line(run_id: UUID, sent: Sent) -> str:
    request = sent.request
    return machine.line(
        {
            "run_id": run_id,
            "step": request.step,
            "digest": request.digest,
            "matches": sent.matches,
            "model": request.model,
            "instructions": request.instructions,
            "tools": list(request.tools),
            "messages": list(request.messages),
        }
    )
