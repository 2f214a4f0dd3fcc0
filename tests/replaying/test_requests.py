"""What a model was sent comes out of the record alone, and its digest says whether it is that."""

import asyncio
from dataclasses import replace
from uuid import UUID

from tachograph.adapters.loading import chain_of, load
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import run
from tachograph.domain.context import TrustedContext
from tachograph.domain.definitions import AgentDefined, definition_id, digest_of
from tachograph.domain.events import Recorded
from tachograph.domain.messages import History, ModelRequest
from tachograph.domain.ports import EventStore, ModelReply
from tachograph.domain.requests import requests_of
from tachograph.domain.tools import tool

from .test_drift import CLERK, CONTEXT, SCRIPT, Order


class Listening:
    """A scripted model that keeps what it is sent."""

    def __init__(self) -> None:
        self._model = ScriptedModel(list(SCRIPT))
        self.sent: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.sent.append(request)
        return await self._model.complete(request)


@tool(effect="read", permission="audit")
def audit_read(arguments: Order) -> str:
    """Read the audit."""
    return "nothing"


AGENT = replace(CLERK, tools=(*CLERK.tools, audit_read))


def definition_of(store: EventStore, run_id: UUID) -> str:
    digest = load(store, run_id).started.definition_digest
    [entry] = store.read(definition_id(digest))
    assert isinstance(entry, Recorded)
    assert isinstance(entry.event, AgentDefined)
    assert digest_of(entry.event.definition) == digest
    return entry.event.definition


def test_each_request_comes_back_as_it_was_sent(store: EventStore) -> None:
    for permissions in ((), ("audit",)):
        model = Listening()
        context = CONTEXT.model_copy(update={"permissions": permissions})
        done = asyncio.run(run(AGENT, "Money back for #W1.", context, model=model, store=store))
        again = list(requests_of(definition_of(store, done.run_id), load(store, done.run_id)))
        assert [sent.request for sent in again] == model.sent
        assert all(sent.matches for sent in again)


def test_with_the_runs_that_it_continues(store: EventStore) -> None:
    first = asyncio.run(run(AGENT, "Money back for #W1.", CONTEXT, model=Listening(), store=store))
    model = Listening()
    work = run(AGENT, "And #W1 again.", CONTEXT, model=model, store=store, continues=first.run_id)
    state = load(store, asyncio.run(work).run_id)
    history = History(chain_of(store, state), AGENT.shown_max)
    again = list(requests_of(definition_of(store, state.run_id), state, history))
    assert [sent.request for sent in again] == model.sent


def test_a_definition_is_recorded_once_however_many_runs_begin(store: EventStore) -> None:
    async def many() -> None:
        context = TrustedContext(trace_id="trace-2")
        works = (run(AGENT, "Hello #W1.", context, model=Listening(), store=store) for _ in range(20))
        await asyncio.gather(*works)

    asyncio.run(many())
    kinds = [entry.kind for entry in store.read_log(limit=1000)]
    assert (kinds.count("agent_defined"), kinds.count("run_started")) == (1, 20)


def test_what_was_forged_no_longer_matches(store: EventStore) -> None:
    done = asyncio.run(run(AGENT, "Money back for #W1.", CONTEXT, model=Listening(), store=store))
    state = load(store, done.run_id)
    started = state.started.model_copy(
        update={"input": (state.started.input[0].model_copy(update={"content": "Another thing."}),)}
    )
    forged = replace(state, started=started)
    assert not any(sent.matches for sent in requests_of(definition_of(store, done.run_id), forged))
