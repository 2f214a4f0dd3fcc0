"""The same request is one run, and a run can go on with the conversation of another."""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import RunOutcome, resume, run
from tachograph.domain.errors import (
    InvalidAgent,
    ModelError,
    RunNotFound,
    RunOpen,
)
from tachograph.domain.events import RunStarted
from tachograph.domain.ports import EventStore

from .story import (
    CONTEXT,
    DONE,
    Effects,
    ListeningModel,
    agent,
    ask,
    probe,
    tell,
    turn,
)


class TestRequestIds:
    def test_the_same_request_gives_the_same_run_and_pays_once(self, store: EventStore) -> None:
        effects, request = Effects(), str(uuid4())
        clerk, order = agent(effects.tool("send", "once")), turn(ask("send", order_id="#W1"))
        first = tell(store, clerk, order, DONE, request_id=request)
        again = tell(store, clerk, order, DONE, request_id=request)
        assert first.outcome == again.outcome
        assert (effects.done, len(again.requests)) == (["send #W1"], 0)

    def test_another_tenants_request_of_the_same_id_is_another_run(self, store: EventStore) -> None:
        request = str(uuid4())
        other = CONTEXT.model_copy(update={"tenant": "another"})
        runs = [
            tell(store, agent(), DONE, request_id=request, context=context) for context in (CONTEXT, other)
        ]
        assert runs[0].outcome is not None
        assert runs[1].outcome is not None
        assert runs[0].outcome.run_id != runs[1].outcome.run_id

    def test_tenant_and_id_are_not_glued_together(self, memory: EventStore) -> None:
        """Tenant `a` with `b:c`, and tenant `a:b` with `c`."""
        ids = set()
        for tenant, request in (("a", "b:c"), ("a:b", "c"), ("1:a", "x"), ("1", "a:x")):
            context = CONTEXT.model_copy(update={"tenant": tenant})
            told = tell(memory, agent(), DONE, request_id=request, context=context)
            assert told.outcome is not None
            ids.add(told.outcome.run_id)
        assert len(ids) == 4

    def test_a_request_whose_run_is_under_way_is_refused(self, store: EventStore) -> None:
        request = str(uuid4())
        told = tell(store, agent(), ModelError("down"), request_id=request)
        assert isinstance(told.raised, ModelError)
        again = tell(store, agent(), DONE, request_id=request)
        assert isinstance(again.raised, RunOpen)
        asyncio.run(resume(agent(), again.raised.run_id, model=ScriptedModel([DONE]), store=store))
        assert tell(store, agent(), request_id=request).outcome is not None

    def test_two_at_the_same_moment_are_one_run(self, store: EventStore) -> None:
        effects, request = Effects(), str(uuid4())
        clerk = agent(effects.tool("send", "once"))
        model = ScriptedModel([turn(ask("send", order_id="#W1")), DONE])

        async def both() -> list[Any]:
            runs = [
                run(clerk, "Help.", CONTEXT, model=model, store=store, request_id=request) for _ in range(5)
            ]
            return await asyncio.gather(*runs, return_exceptions=True)

        answers = asyncio.run(both())
        assert effects.done == ["send #W1"]
        assert sum(isinstance(answer, RunOutcome) for answer in answers) >= 1
        assert all(isinstance(answer, (RunOutcome, RunOpen)) for answer in answers)


class TestContinuing:
    def test_the_conversation_so_far_stands_before_the_new_message(self, store: EventStore) -> None:
        first = tell(store, agent(probe(lambda: 7)), turn(ask("probe")), DONE, input="First.")
        second = tell(store, agent(), DONE, input="Second.", continues=first.run_id)
        third = tell(store, agent(), DONE, input="Third.", continues=second.run_id)
        messages = third.requests[0].messages
        assert [(message.role, message.content) for message in messages] == [
            ("user", "First."),
            ("assistant", ""),
            ("tool", "7"),
            ("assistant", ""),
            ("tool", "answered"),
            ("user", "Second."),
            ("assistant", ""),
            ("tool", "answered"),
            ("user", "Third."),
        ]
        started = third.events[0]
        assert isinstance(started, RunStarted)
        assert started.continues == second.run_id

    def test_a_resume_asks_with_the_same_conversation(self, store: EventStore) -> None:
        first = tell(store, agent(), DONE, input="First.")
        second = tell(store, agent(), ModelError("down"), input="Second.", continues=first.run_id)
        model = ListeningModel(ScriptedModel([DONE]))
        asyncio.run(resume(agent(), second.run_id, model=model, store=store))
        assert model.requests == second.requests

    def test_a_run_that_is_not_there_can_not_be_continued(self, store: EventStore) -> None:
        head = store.head()
        told = tell(store, agent(), DONE, continues=uuid4())
        assert isinstance(told.raised, RunNotFound)
        assert store.head() == head

    def test_another_tenants_run_is_not_there(self, store: EventStore) -> None:
        """Or its conversation would be read to the model of whoever guesses an id."""
        other = CONTEXT.model_copy(update={"tenant": "another"})
        theirs = tell(store, agent(), DONE, input="A secret.", context=other)
        told = tell(store, agent(), DONE, continues=theirs.run_id)
        assert isinstance(told.raised, RunNotFound)
        assert told.requests == []


class TestModels:
    def test_an_agent_with_a_model_of_its_own_needs_no_other(self, tmp_path: Path) -> None:
        """`await tachograph.run(agent, input, context)` is all it takes; the store is a file beside."""
        clerk = replace(agent(), model=ScriptedModel([DONE]))
        with contextlib.chdir(tmp_path):
            outcome = asyncio.run(run(clerk, "Hello", CONTEXT))
        assert outcome.outcome == "answered"
        assert (tmp_path / "tachograph.db").exists()

    def test_a_model_given_to_the_run_comes_first(self, store: EventStore) -> None:
        clerk = replace(agent(), model=ScriptedModel([]))
        outcome = asyncio.run(run(clerk, "Hello", CONTEXT, model=ScriptedModel([DONE]), store=store))
        assert outcome.outcome == "answered"

    def test_without_any_model_nothing_is_recorded(self, store: EventStore) -> None:
        before = store.head()
        with pytest.raises(InvalidAgent, match="has no model"):
            asyncio.run(run(agent(), "Hello", CONTEXT, store=store))
        assert store.head() == before
