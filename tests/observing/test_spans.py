"""Spans from the record: one for each event that ends something, with ids that the record gives."""

import asyncio
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openinference.semconv.trace import SpanAttributes as OpenInferenceNames
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.schemas import Schemas

from tachograph import Agent, Budget, ScriptedModel, TerminalTool, TrustedContext, run
from tachograph.adapters.exporters.conventions import CONVENTIONS
from tachograph.adapters.exporters.otlp_json import line
from tachograph.adapters.exporters.span_log import SpanLog
from tachograph.adapters.forking import fork
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.approvals.approval import ApprovalState
from tachograph.domain.approvals.definition import Approval
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
)
from tachograph.domain.budget import Totals, Usage
from tachograph.domain.errors import AnswerRefused
from tachograph.domain.events import Recorded, RunStarted, Terminal
from tachograph.domain.origins import Attempt
from tachograph.domain.ports import AskedCall, EventStore, ModelReply
from tachograph.domain.recorded_event import Settlement
from tachograph.projections import gen_ai, openinference
from tachograph.projections.approval_spans import approval_span
from tachograph.projections.span import Span, span_id_of, trace_id_of
from tachograph.projections.spans import input_of, origin_of, run_span, step_span
from tachograph.tests.approval_samples import approval_events
from tachograph.tests.approvals.desk import ANN, BOB, Desk, Refund, paying
from tachograph.tests.domain.histories import histories
from tachograph.tests.read_side.stories import (
    NOON,
    append,
    append_foreign,
    begun,
    ended,
    failure,
    refund_run,
    result,
    run_id,
    started,
    turn,
)
from tachograph.tests.read_side.test_projections import SECRET, everything

RUN = run_id(1)


def spans(store: EventStore, **options: Any) -> list[Span]:
    return [span for batch in SpanLog(store, **options).batches() for span in batch.spans]


def operations(store: EventStore) -> list[str]:
    return [span.name for span in spans(store)]


class TestARun:
    def test_is_a_span_over_those_of_its_turns_and_calls(self) -> None:
        store = MemoryEventStore()
        append(store, RUN, refund_run())
        found = spans(store)
        assert [(span.operation, span.name) for span in found] == [
            ("chat", "chat scripted"),
            ("execute_tool", "execute_tool order_read"),
            ("execute_tool", "execute_tool order_read"),
            ("chat", "chat scripted"),
            ("invoke_agent", "invoke_agent refund"),
        ]
        root = found[-1]
        assert root.parent_id is None
        assert {span.parent_id for span in found[:-1]} == {root.span_id}
        assert {span.trace_id for span in found} == {trace_id_of("shop", "trace-1")}
        assert [span.error for span in found] == [None, None, "timed_out", None, None]

    def test_what_it_says_in_the_words_of_the_conventions(self) -> None:
        usage = Usage(tokens_in=900, tokens_out=40, tokens_cached=512, tokens_reasoning=7)
        asked = turn(
            1,
            model_asked="google:gemini-3",
            model_answered="gemini-3-001",
            usage=usage,
            cost_usd=Decimal("0.00125"),
            response_id="r-1",
            latency_ms=250,
            attempts=(Attempt(error="busy", status=503, paused_ms=9),),
            at=NOON + timedelta(seconds=1),
        )
        span = step_span(Recorded(RUN, 2, asked), origin_of(started(), asked), content=False)
        assert span is not None
        assert span.end_ns - span.start_ns == 250_000_000
        assert span.end_ns == 1_796_126_401_000_000_000
        own = {
            "tachograph.run_id": str(RUN),
            "tachograph.tenant": "shop",
            "tachograph.step": 1,
            "tachograph.retries": 1,
            "tachograph.request_digest": "0" * 64,
        }
        assert gen_ai.attributes(span) == own | {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "gcp.gemini",
            "gen_ai.request.model": "gemini-3",
            "gen_ai.response.model": "gemini-3-001",
            "gen_ai.response.id": "r-1",
            "gen_ai.response.finish_reasons": ("tool_call",),
            "gen_ai.conversation.id": "trace-1",
            "gen_ai.usage.input_tokens": 900,
            "gen_ai.usage.output_tokens": 40,
            "gen_ai.usage.cache_read.input_tokens": 512,
            "gen_ai.usage.reasoning.output_tokens": 7,
            "tachograph.cost_usd": 0.00125,
        }
        assert openinference.attributes(span) == own | {
            "openinference.span.kind": "LLM",
            "llm.provider": "google",
            "llm.request.model_name": "gemini-3",
            "llm.response.model_name": "gemini-3-001",
            "llm.model_name": "gemini-3-001",
            "llm.finish_reason": "tool_calls",
            "session.id": "trace-1",
            "llm.token_count.prompt": 900,
            "llm.token_count.completion": 40,
            "llm.token_count.total": 940,
            "llm.token_count.prompt_details.cache_read": 512,
            "llm.token_count.completion_details.reasoning": 7,
            "llm.cost.total": 0.00125,
            "tachograph.response_id": "r-1",
        }

    def test_that_a_limit_has_ended_is_an_error_and_names_the_limit(self) -> None:
        origin = origin_of(started(budget=Budget(max_steps=3, max_cost_usd=Decimal("0.5"))), None)
        end = ended("blocked", reason="max_steps_exceeded")
        span = run_span(Recorded(RUN, 9, end), origin)
        said = gen_ai.attributes(span)
        assert span.error == "max_steps_exceeded"
        assert (said["error.type"], said["tachograph.reason"]) == ("max_steps_exceeded", "max_steps_exceeded")
        assert (said["tachograph.budget.max_steps"], said["tachograph.budget.max_cost_usd"]) == (3, 0.5)
        assert said["gen_ai.provider.name"] == "_OTHER"

    def test_that_is_open_has_no_span_yet_and_gets_it_with_its_end(self) -> None:
        store = MemoryEventStore()
        story = refund_run()
        append(store, RUN, story[:-1])
        log = SpanLog(store)
        *_, reached = log.batches()
        append(store, RUN, story[-1:], 5)
        assert operations(store)[:4] == [span.name for span in reached.spans]
        [later] = SpanLog(store).batches(reached.position)
        assert [span.name for span in later.spans] == ["invoke_agent refund"]
        assert later.spans[0].span_id == reached.spans[0].parent_id

    def test_that_goes_on_with_another_one_is_linked_to_it(self) -> None:
        store = MemoryEventStore()
        append(store, RUN, refund_run())
        append(store, run_id(2), [started("trace-2", continues=RUN), ended()])
        [link] = spans(store)[-1].links
        assert link == (trace_id_of("shop", "trace-1"), span_id_of(RUN, 1), "continues")

    def test_whose_clock_was_set_back_ends_no_sooner_than_it_began(self) -> None:
        origin = origin_of(started(), None)
        span = run_span(Recorded(RUN, 2, ended(at=NOON - timedelta(hours=1))), origin)
        assert span.start_ns == span.end_ns


class TestACall:
    def test_without_a_result_has_no_span(self) -> None:
        store = MemoryEventStore()
        append(store, RUN, [started(), turn(1), begun("1.1")])
        assert operations(store) == ["chat scripted"]

    def test_that_a_person_settled_has_one_for_each_finding(self) -> None:
        store = MemoryEventStore()
        settled = Settlement(actor="ann", reason="the bank says so")
        unknown = failure("1.1", code="outcome_unknown")
        append(store, RUN, [started(), turn(1), begun("1.1"), unknown, result("1.1", settled=settled)])
        _, lost, found = spans(store)
        assert (lost.error, found.error) == ("outcome_unknown", None)
        assert (lost.facts["settled"], found.facts["settled"]) == (False, True)
        assert lost.span_id != found.span_id

    def test_of_a_tool_that_the_model_made_up_does_not_name_the_span(self) -> None:
        made_up = failure("1.1", code="unknown_tool", name="rm\x1b[31m -rf" * 100)
        span = step_span(Recorded(RUN, 3, made_up), origin_of(started(), None), content=True)
        assert span is not None
        assert span.name == "execute_tool"
        assert len(str(span.facts["tool"])) == 200
        assert str(span.facts["tool"]).isprintable()


class TestAFork:
    def test_has_no_span_for_what_it_shares_and_is_linked_to_its_original(self) -> None:
        store = MemoryEventStore()
        answer = ModelReply(calls=(AskedCall("answer", '{"order_id": "#1", "amount": 1}'),))
        work = ModelReply(calls=(AskedCall("nothing", "{}"),))
        agent = Agent(
            name="a",
            version="1",
            instructions="x",
            terminals=(TerminalTool("answer", "Answer.", Refund, "answered"),),
        )
        context = TrustedContext(trace_id="original")
        model = ScriptedModel([work, answer])
        original = asyncio.run(run(agent, "Hello.", context, model=model, store=store))
        before = spans(store)
        forked = asyncio.run(
            fork(agent, original.run_id, 1, store=store, model=ScriptedModel([work, answer]))
        )
        turns_and_run = spans(store)[len(before) :]
        assert [span.name for span in turns_and_run] == ["chat scripted", "invoke_agent a"]
        assert turns_and_run[-1].facts["run_id"] == str(forked.run_id)
        assert "tokens_in" not in turns_and_run[-1].facts
        [link] = turns_and_run[-1].links
        assert link == (trace_id_of("default", "original"), span_id_of(original.run_id, 1), "forked_from")


class TestAnApproval:
    def test_is_the_wait_for_people_and_its_effect_below_the_run_that_asked(self) -> None:
        store = MemoryEventStore()
        done: list[str] = []
        asks = Approval(effect=paying(done), needed=2)
        desk = Desk(store, asks, done)
        approval_id = desk.asks()
        desk.clock.pass_(hours=2)
        desk.answers(approval_id, ANN)
        with pytest.raises(AnswerRefused):
            desk.answers(approval_id, ANN)
        desk.clock.pass_(hours=1)
        desk.answers(approval_id, BOB)
        assert len(done) == 1
        _, asking, waited, paid = spans(store)
        assert [span.operation for span in (asking, waited, paid)] == [
            "invoke_agent",
            "approval",
            "execute_tool",
        ]
        assert (waited.parent_id, paid.parent_id) == (asking.span_id, waited.span_id)
        assert waited.trace_id == asking.trace_id == paid.trace_id
        assert waited.end_ns - waited.start_ns == 3 * 3600 * 10**9
        assert (waited.facts["decision"], waited.facts["votes"]) == ("granted", 2)
        assert [moment.name for moment in waited.happened] == ["vote", "refused", "vote"]
        assert paid.facts["tool"] == "refund_execute"

    def test_has_no_span_before_it_is_decided(self) -> None:
        store = MemoryEventStore()
        desk = Desk(store, Approval(needed=2))
        desk.answers(desk.asks())
        assert [span.operation for span in spans(store)] == ["chat", "invoke_agent"]


class TestIds:
    def test_a_trace_id_of_w3c_stays_and_any_other_is_the_tenant_s_own(self) -> None:
        theirs = "4bf92f3577b34da6a3ce929d0e0e4736"
        assert trace_id_of("shop", theirs) == theirs
        assert len({trace_id_of("shop", "t"), trace_id_of("bank", "t"), trace_id_of("shop", "T")}) == 3
        assert trace_id_of("a:b", "c") != trace_id_of("a", "b:c")
        assert trace_id_of("shop", theirs.upper()) != theirs

    def test_they_are_these_for_ever(self) -> None:
        """Spans that were exported once must not come a second time under other ids."""
        assert trace_id_of("shop", "trace-1") == "cdfb8200638c0bd1c168605b5724fa18"
        assert span_id_of(RUN, 2) == "3ee0b7a0498ce468"

    @given(histories())
    def test_every_legal_history_gives_spans_with_ids_of_their_own(self, history: Any) -> None:
        store = MemoryEventStore()
        append(store, RUN, history)
        once, twice = spans(store, content=True), spans(store, content=True)
        assert once == twice
        assert len({span.span_id for span in once}) == len(once)
        for convention in CONVENTIONS.values():
            written = line(once, convention)
            assert written.isascii()
            assert written.isprintable()
            assert json.loads(written)

    def test_every_store_gives_the_same_spans(self, store: EventStore) -> None:
        in_memory = MemoryEventStore()
        for kept in (store, in_memory):
            append(kept, RUN, refund_run())
            append(kept, run_id(2), [started("trace-2", continues=RUN), turn(1), result("1.1"), ended()])
        assert spans(store, content=True) == spans(in_memory, content=True)


class TestTables:
    def test_every_name_is_one_of_the_conventions(self) -> None:
        published = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
        written = {
            "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.tool.type",
            "gen_ai.response.finish_reasons", "gen_ai.input.messages", "gen_ai.output.messages",
            "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
        }  # fmt: skip
        assert {*gen_ai.NAMES.values(), *written} <= published
        assert gen_ai.SCHEMA_URL in {schema.value for schema in Schemas}
        known = {value for name, value in vars(OpenInferenceNames).items() if name.isupper()}
        assert set(openinference.NAMES.values()) <= known

    def test_everything_that_is_said_stands_in_those_names_or_in_ours(self) -> None:
        for span in spans_of_everything(content=True):
            for name in gen_ai.attributes(span):
                assert name.startswith(("gen_ai.", "tachograph.")) or name == "error.type"


class TestContent:
    def test_nothing_personal_is_exported_unless_content_is_asked_for(self) -> None:
        """Goes by the marks on the fields of events, so that a new field can't be forgotten."""
        for convention in CONVENTIONS.values():
            assert SECRET not in line(spans_of_everything(content=False), convention)
            assert SECRET in line(spans_of_everything(content=True), convention)

    def test_messages_have_the_form_of_the_conventions(self) -> None:
        said = turn(1, text="Let me see.")
        origin = origin_of(started(), said)
        span = step_span(Recorded(RUN, 2, said), origin, content=True)
        assert span is not None
        call = {"type": "tool_call", "id": "1.1", "name": "order_read", "arguments": "{}"}
        assert json.loads(str(gen_ai.attributes(span)["gen_ai.output.messages"])) == [
            {
                "role": "assistant",
                "parts": [{"type": "text", "content": "Let me see."}, call],
                "finish_reason": "tool_call",
            }
        ]
        asked = run_span(Recorded(RUN, 3, ended()), origin, input=input_of(started()))
        assert json.loads(str(gen_ai.attributes(asked)["gen_ai.input.messages"])) == [
            {"role": "user", "parts": [{"type": "text", "content": "Refund order #W1, please."}]}
        ]

    def test_a_text_of_megabytes_is_cut(self) -> None:
        span = step_span(
            Recorded(RUN, 3, result("1.1", output="x" * 9_000_000)), origin_of(started(), None), content=True
        )
        assert span is not None
        assert len(span.output or "") < 66_000
        assert "9000000 characters" in (span.output or "")


class TestWhatCannotBeRead:
    def test_is_counted_and_left_out(self) -> None:
        store = MemoryEventStore()
        append(store, RUN, refund_run()[:2])
        append_foreign(store, "memory:", RUN, 3, "from_the_future", b"{}")
        append_foreign(store, "memory:", run_id(2), 1, "run_started", b"{")
        append(store, run_id(2), [ended()], 1)
        [batch] = SpanLog(store).batches()
        assert (batch.position, batch.unreadable) == (5, 3)
        assert [span.name for span in batch.spans] == ["chat scripted"]

    @pytest.mark.parametrize(
        "totals", [Totals(tokens_in=10**30), Totals(cost_usd=Decimal("1E+5000")), Totals(tokens_out=2**63)]
    )
    def test_numbers_past_what_a_span_can_hold_are_the_largest_that_it_can(self, totals: Totals) -> None:
        end = Terminal(recorded_at=NOON, outcome="answered", totals=totals)
        [written] = [line([run_span(Recorded(RUN, 2, end), origin_of(started(), None))], CONVENTIONS["otel"])]
        assert json.loads(written, parse_constant=pytest.fail)
        assert all(int(value) < 2**63 for value in find(json.loads(written), "intValue"))


@given(st.integers(0, 10**40))
def test_a_call_of_any_length_begins_in_1970_at_the_earliest(duration_ms: int) -> None:
    span = step_span(
        Recorded(RUN, 3, result("1.1", duration_ms=duration_ms)), origin_of(started(), None), content=False
    )
    assert span is not None
    assert 0 <= span.start_ns <= span.end_ns


def spans_of_everything(*, content: bool) -> list[Span]:
    """A span for each kind of event, with a secret in each field that can hold personal data."""
    start, *events = everything(SECRET)
    assert isinstance(start, RunStarted)
    origin = origin_of(start, None)
    found = [
        step_span(Recorded(RUN, version, event), origin, content=content)
        for version, event in enumerate(events, start=2)
    ]
    [end] = [event for event in events if isinstance(event, Terminal)]
    found.append(run_span(Recorded(RUN, 99, end), origin, input=input_of(start) if content else ()))
    answers = {type(event): event for event in approval_events(SECRET)}
    granted, denied, expired, executed = (
        answers[kind] for kind in (ApprovalGranted, ApprovalDenied, ApprovalExpired, ApprovalExecuted)
    )
    asked: Any = answers[ApprovalRequested].model_copy(update={"needed": 1})
    refused: Any = (answers[ApprovalRefused],)
    states: Any = [(granted, {"votes": (granted,)}), (denied, {"denied": denied})]
    states += [(expired, {"expired": expired}), (executed, {"executed": executed})]
    for event, fields in states:
        state = ApprovalState(UUID(int=7), 2, asked, refused=refused, **fields)
        found.append(approval_span(Recorded(UUID(int=7), 2, event), state))
    given = [span for span in found if span]
    assert len(given) == 9
    return given


def find(value: Any, key: str) -> list[Any]:
    """Every value of a key, however deep."""
    if isinstance(value, dict):
        here = [value[key]] if key in value else []
        return here + [found for member in value.values() for found in find(member, key)]
    return [found for member in value for found in find(member, key)] if isinstance(value, list) else []
