"""What a model was sent, put together again from the record of a run and of its agent's definition."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tachograph.domain.messages import NO_HISTORY, History, ModelRequest, conversation
from tachograph.domain.run import RunState
from tachograph.domain.tools import ToolOffer


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, and whether it is the one whose digest the turn has."""

    request: ModelRequest
    matches: bool


def requests_of(definition: str, run: RunState, history: History = NO_HISTORY) -> Iterator[Sent]:
    """
    Yield the request of each turn of a run.

    Args:
        definition: The agent's, as it was recorded.
        history: The runs that it continues.
    """
    defined: dict[str, Any] = json.loads(definition)
    shown_max = defined["shown_max"]
    for place, step in enumerate(run.steps):
        before = replace(run, steps=run.steps[:place], terminal=None)
        request = ModelRequest(
            step=place + 1,
            model=defined["model"],
            instructions=defined["instructions"],
            tools=tuple(_offered(defined, run.started.context.permissions)),
            messages=history.messages + conversation(before, shown_max),
            catalogue_digest=run.started.catalogue_digest,
        )
        yield Sent(request, request.digest == step.turn.request_digest)


def _offered(defined: dict[str, Any], permissions: tuple[str, ...]) -> Iterator[ToolOffer]:
    allowed = set(defined["allowed"])
    for tool in defined["catalogue"]:
        is_work = "effect" in tool
        permitted = tool.get("permission") is None or tool["permission"] in permissions
        if not is_work or (tool["name"] in allowed and permitted):
            yield ToolOffer(tool["name"], tool["description"], tool["schema"])
