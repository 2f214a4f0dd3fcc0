"""The whole answer: the decision, its chain back to the customer, what stood in the way."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest

from tachograph import ScriptedModel, TrustedContext, open_store, run
from tachograph.adapters.explaining import explain_absence, explain_run, index_trace
from tachograph.adapters.importers.importing import import_file
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import load_scenario
from tachograph.domain.errors import CallNotFound, RunNotFound
from tachograph.domain.events import Recorded
from tachograph.domain.ports import EventStore
from tachograph.domain.why.explaining import EXPLAINERS, LATEST, explain
from tachograph.domain.why.explanation import Explanation
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.domain.why.judging import JUDGED_BY
from tachograph.domain.why.trace import in_order
from tachograph.domain.why.writing import absence_json, explanation_json, with_digest

AIRLINE = "trajectories/tau-bench/gpt-4o-airline.trials-0-1.json"


def played(store: EventStore, scenario: str) -> UUID:
    loaded = load_scenario(scenario)
    model = ScriptedModel(loaded.replies)
    outcome = asyncio.run(run(refund_agent, loaded.input, loaded.context, model=model, store=store))
    return outcome.run_id


def verdicts(explanation: Explanation) -> dict[str, str]:
    return {argument.pointer[1:]: argument.verdict for argument in explanation.arguments}


@pytest.fixture
def memory() -> EventStore:
    return open_store("memory:")


def test_a_refund_request_leads_back_to_the_customer_and_the_policy(memory: EventStore) -> None:
    explanation = explain_run(memory, played(memory, "approval_requested"))
    assert verdicts(explanation) == {
        "order_id": "supported",
        "preview_digest": "supported",
        "amount": "supported",
        "currency": "supported",
        "reason_code": "supported",
        "explanation": "free_text",
    }
    assert [(node.kind, node.title) for node in explanation.chain.nodes] == [
        ("message", "customer"),
        ("call", "policy_search"),
        ("call", "order_read"),
        ("call", "refund_preview"),
        ("decision", "request_refund_approval"),
    ]
    titles = {node.id: node.title for node in explanation.chain.nodes}
    assert [(titles[edge.source], titles[edge.target]) for edge in explanation.chain.edges] == [
        ("customer", "order_read"),
        ("customer", "refund_preview"),
        ("policy_search", "request_refund_approval"),
        ("order_read", "refund_preview"),
        ("refund_preview", "request_refund_approval"),
    ]
    [cited] = explanation.chain.nodes[1].citations
    assert (cited.document, cited.version, cited.section) == ("returns-policy", "2", "opened-electronics")
    limits = {limit.name: (limit.limit, limit.asked, limit.margin) for limit in explanation.why_not.limits}
    assert limits["limit_minor"] == ("500.00 USD", "175.77", "324.23")
    assert limits["maximum_refundable_minor"] == ("229.55 USD", "175.77", "53.78")
    assert limits["max_steps"] == ("6", "4", "2")
    assert explanation.recorded is not None
    assert explanation.recorded.agrees


def test_a_refused_attempt_stays_in_the_answer(memory: EventStore) -> None:
    explanation = explain_run(memory, played(memory, "invented_amount"))
    [attempt] = explanation.why_not.attempts
    assert (attempt.call_key, attempt.code) == ("3.1", "unsupported_argument")
    assert verdicts(explanation)["amount"] == "supported"
    refused = explain_run(memory, explanation.run_id, "3.1")
    assert [part.value for part in refused.arguments[-1].parts if part.verdict == "unsupported"] == ["180.00"]


@pytest.mark.parametrize(
    ("scenario", "outcome", "tool"),
    [
        ("answered", "answered", "answer_user"),
        ("clarification", "needs_clarification", "ask_clarification"),
        ("ambiguous_terminals", "blocked", None),
        ("endless_work", "blocked", None),
    ],
)
def test_every_ending_has_an_answer(
    memory: EventStore, scenario: str, outcome: str, tool: str | None
) -> None:
    explanation = explain_run(memory, played(memory, scenario))
    assert (explanation.outcome, explanation.tool) == (outcome, tool)
    assert explanation == with_digest(explanation)


def test_a_tool_that_was_never_executed_is_explained(memory: EventStore) -> None:
    run_id = played(memory, "ambiguous_terminals")
    absence = explain_absence(memory, run_id, "request_refund_approval")
    assert (absence.executed, absence.times_asked) == (False, 1)
    assert absence.ended == "the run ended as blocked: ambiguous_terminal_calls"
    assert json.loads(absence_json(absence))["sentence"] == (
        "request_refund_approval was asked for once and never executed."
    )
    assert explain_absence(memory, run_id, "refund_preview").executed


def test_an_unknown_run_and_an_unknown_call_are_named(memory: EventStore) -> None:
    with pytest.raises(RunNotFound):
        explain_run(memory, UUID(int=9))
    run_id = played(memory, "clarification")
    with pytest.raises(CallNotFound, match=r"has no call '9\.9'; its calls: 1\.1"):
        explain_run(memory, run_id, "9.9")


def test_runs_of_another_tenant_are_no_evidence(memory: EventStore) -> None:
    reply = load_scenario("clarification").replies
    said = asyncio.run(
        run(
            refund_agent,
            "It is order #LL-99999.",
            TrustedContext(trace_id="t", tenant="one"),
            model=ScriptedModel(reply),
            store=memory,
        )
    )
    other = asyncio.run(
        run(
            refund_agent,
            "Hello",
            TrustedContext(trace_id="t", tenant="two"),
            model=ScriptedModel(reply),
            store=memory,
        )
    )
    assert said.trace_id == other.trace_id
    assert explain_run(memory, other.run_id).searched.runs == 1


def test_the_latest_rules_are_those_that_runs_are_judged_by() -> None:
    assert {JUDGED_BY} == {LATEST} == set(EXPLAINERS)


@pytest.fixture(scope="module")
def imported_url(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('why') / 'store.db'}"
    store = open_store(url)
    asyncio.run(import_file(store, "tau-bench", shared_data / AIRLINE))
    store.close()
    return url


def runs_of(store: EventStore, conversation: int) -> list[UUID]:
    side = open_read_side(store)
    side.catch_up()
    rows = [row for row in side.runs() if row["source_conversation"] == conversation]
    side.close()
    return [UUID(row["run_id"]) for row in sorted(rows, key=lambda row: row["source_stretch"])]


_PRINTS = """
import sys
from uuid import UUID
from tachograph import open_store
from tachograph.adapters.explaining import explain_run
from tachograph.domain.why.writing import explanation_json
store = open_store(sys.argv[1])
for run_id in sys.argv[2:]:
    print(explanation_json(explain_run(store, UUID(run_id))))
"""


@pytest.mark.slow
def test_the_answer_is_the_same_on_both_stores_in_two_processes_and_after_a_rebuild(
    imported_url: str, postgres_schema_url: str, shared_data: Path
) -> None:
    store, other = open_store(imported_url), open_store(postgres_schema_url)
    asyncio.run(import_file(other, "tau-bench", shared_data / AIRLINE))
    chosen = [run_id for number in (7, 11, 26, 50) for run_id in runs_of(store, number)]
    here = [explanation_json(explain_run(store, run_id)) for run_id in chosen]
    assert [explanation_json(explain_run(other, run_id)) for run_id in chosen] == here
    side = open_read_side(store)
    side.rebuild()
    side.close()
    assert [explanation_json(explain_run(store, run_id)) for run_id in chosen] == here
    store.close()
    other.close()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", _PRINTS, imported_url, *map(str, chosen)],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            timeout=60,
        )
        assert done.stdout.decode().splitlines() == here


def test_the_order_of_a_trace_does_not_depend_on_how_it_was_read(imported_url: str) -> None:
    store = open_store(imported_url)
    runs = {run_id: cast("list[Recorded]", store.read(run_id)) for run_id in runs_of(store, 11)}
    store.close()
    backwards = dict(reversed(runs.items()))
    assert in_order(runs) == in_order(backwards)
    assert [entry.run_id for entry in in_order(runs)] == sorted(
        (run_id for run_id, entries in runs.items() for _ in entries), key=list(runs).index
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("tau-bench", AIRLINE),
        ("tau2", "trajectories/tau2-toolorchestra/airline.json"),
        ("tau2", "trajectories/tau2-toolorchestra/retail.even-tasks.json"),
    ],
)
def test_every_run_of_the_real_conversations_is_explained(shared_data: Path, name: str, file: str) -> None:
    store = open_store("memory:")
    asyncio.run(import_file(store, name, shared_data / file))
    side = open_read_side(store)
    side.catch_up()
    rows = list(side.runs())
    side.close()
    traces: dict[str, IndexedTrace] = {}
    for row in rows:
        trace = traces.get(row["trace_id"])
        if trace is None:
            trace = traces[row["trace_id"]] = index_trace(store, UUID(row["run_id"]))
        explanation = explain(trace, UUID(row["run_id"]))
        assert explanation == with_digest(explanation)
        for call in explanation.calls:
            leaves = {argument.pointer for argument in call.arguments}
            assert len(leaves) == len(call.arguments)


def test_what_comes_later_in_the_trace_changes_no_answer(imported_url: str) -> None:
    store = open_store(imported_url)
    chosen = runs_of(store, 26)
    runs = {run_id: cast("list[Recorded]", store.read(run_id)) for run_id in chosen}
    store.close()
    for count, run_id in enumerate(chosen, start=1):
        so_far = in_order({known: runs[known] for known in chosen[:count]})
        assert explain(IndexedTrace(so_far), run_id) == explain(IndexedTrace(in_order(runs)), run_id)
