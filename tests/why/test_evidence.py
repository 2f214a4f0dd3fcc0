"""What is evidence, and what only looks like it."""

import json

import pytest

from tachograph.domain.why.evidence import gather
from tachograph.domain.why.verdicts import Question, verdicts

from .evidence_story import Trace, found, said


def test_what_the_model_wrote_is_none() -> None:
    trace = said("Hello").turn(text="I suggest order #W5866402.")
    [argument] = trace.judged({"order_id": "#W5866402"}).values()
    assert argument.verdict == "unsupported"
    assert argument.first_mentioned is not None
    assert (argument.first_mentioned.step, argument.first_mentioned.call_key) == (1, None)


def test_an_assistants_message_in_the_input_is_none() -> None:
    trace = Trace().start(("assistant", "Is it #W5866402?"), ("user", "Yes"))
    assert trace.verdicts({"order_id": "#W5866402"}) == {"order_id": "unsupported"}


@pytest.mark.parametrize(
    "output",
    [
        {"order_id": "#W5866402", "status": "delivered"},
        {"note": "Order #W5866402 was delivered"},
        ["#W5866402"],
        {"id": "W5866402"},
    ],
)
def test_an_output_that_echoes_its_arguments_is_none(output: object) -> None:
    trace = said("Hello").called("order_read", {"order_id": "#W5866402"}, output)
    [argument] = trace.judged({"order_id": "#W5866402"}).values()
    assert argument.verdict == "unsupported"
    assert argument.why is not None
    assert "echo" in argument.why
    assert argument.first_mentioned is not None
    assert argument.first_mentioned.call_key == "1.1"


def test_an_error_that_echoes_its_arguments_is_none() -> None:
    trace = (
        said("Hello").turn(("pay", {"id": "card_77441"})).error("Error: card_77441 not found, total is 375")
    )
    assert trace.verdicts({"id": "card_77441", "amount": 375}) == {"id": "unsupported", "amount": "in_text"}


def test_an_echo_elsewhere_takes_nothing_from_real_evidence() -> None:
    trace = said("It is #W5866402").called("order_read", {"order_id": "#W5866402"}, {"order_id": "#W5866402"})
    [argument] = trace.judged({"order_id": "#W5866402"}).values()
    assert (argument.verdict, argument.sources[0].trust, argument.matches) == ("in_text", "customer", 1)


def test_a_search_that_was_narrowed_is_weak_where_another_argument_names_what_was_found() -> None:
    flights = [{"flight": "HAT136", "origin": "JFK"}, {"flight": "HAT057", "origin": "JFK"}]
    trace = said("From New York").called("search", {"origin": "JFK"}, flights)
    assert trace.verdicts({"flight": "HAT136", "origin": "JFK"}) == {"flight": "supported", "origin": "weak"}
    assert trace.verdicts({"origin": "JFK"}) == {"origin": "unsupported"}


@pytest.mark.parametrize("code", ["invalid_arguments", "unsupported_argument", "unknown_tool", "timed_out"])
def test_what_the_runtime_told_the_model_is_none(code: str) -> None:
    trace = said("Hello").turn(("pay", {})).error("nearest is 375.25", code)  # type: ignore[arg-type]
    assert trace.verdicts({"amount": 375.25}) == {"amount": "unsupported"}


def test_the_trusted_context_is() -> None:
    trace = Trace().start(("user", "Hello"), customer="cus_1042", actor="mara")
    [argument] = trace.judged({"customer_id": "cus_1042"}).values()
    assert (argument.verdict, argument.sources[0].pointer) == ("supported", "/context/customer")


def test_earlier_runs_of_the_trace_are() -> None:
    trace = said("My order is #W5866402").start(("user", "And?"))
    [argument] = trace.judged({"order_id": "#W5866402"}).values()
    assert argument.verdict == "in_text"
    assert argument.sources[0].run_id != trace.run_id


def test_what_came_later_is_none() -> None:
    trace = (
        said("Hello")
        .turn(("pay", {"amount": 375.25}))
        .output({"total": 1})
        .called("read", {}, {"sum": 375.25})
    )
    evidence = gather(trace.events)
    [first] = verdicts(Question(evidence, evidence.turns[trace.run_id, 1]), '{"amount": 375.25}')
    [second] = verdicts(Question(evidence, evidence.index.size), '{"amount": 375.25}')
    assert (first.verdict, second.verdict) == ("unsupported", "supported")


@pytest.mark.parametrize(
    "output",
    [
        json.dumps(json.dumps({"order": {"id": "ABC123"}})),
        {"content": [{"type": "text", "text": json.dumps({"order": {"id": "ABC123"}})}]},
        '{"a": 1, "a": {"id": "ABC123"}}',
        json.dumps({"deep": json.dumps({"deeper": json.dumps({"id": "ABC123"})})}),
    ],
)
def test_json_in_a_text_of_json_is_read(output: object) -> None:
    assert found(output).verdicts({"id": "ABC123"}) == {"id": "supported"}


def test_a_pointer_leads_through_keys_with_slashes_and_tildes() -> None:
    [argument] = found({"a/b": {"c~d": "ABC123"}}).judged({"id": "ABC123"}).values()
    assert argument.sources[0].pointer == "/output/a~1b/c~0d"


@pytest.mark.slow
def test_an_output_past_the_cap_is_cut_and_never_called_unsupported() -> None:
    row = {"id": "#W5866402", "text": "x" * 900}
    big = json.dumps([row, *[{"id": f"#W{number:07}", "text": "y " * 450} for number in range(22_000)]])
    assert len(big) > 20_000_000
    trace = found(big)
    assert trace.verdicts({"first": "#W5866402", "made_up": "#X99999999", "amount": 12345.67}) == {
        "first": "in_text",
        "made_up": "not_searched",
        "amount": "not_searched",
    }
    [argument] = trace.judged({"id": "#X99999999"}).values()
    assert argument.why is not None
    assert "past the limit" in argument.why


def test_hundreds_of_levels_of_nesting_are_no_error() -> None:
    deep = "[" * 90 + '"ABC123"' + "]" * 90
    assert found(deep).verdicts({"id": "ABC123"}) == {"id": "supported"}
    assert found("[" * 5000 + "]" * 5000).verdicts({"id": "ABC123"}) == {"id": "unsupported"}
