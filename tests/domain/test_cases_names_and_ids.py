"""Failure cases of the categories names, ids and trace_id, as far as the domain decides them."""

import json
import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from tachograph.domain.context import TRACE_ID_RULE, TrustedContext, check_trace_id
from tachograph.domain.errors import InvalidAgent, InvalidId
from tachograph.domain.ports import AskedCall
from tachograph.domain.tools import TerminalTool, idempotency_key, tool

from .shop import AGENT, Order
from .story import MAIL, READ, RUN_ID, ask, failure, folded, given, refused, result, turn

Case = Callable[[str], dict[str, Any]]


@pytest.mark.case("C056")
@pytest.mark.parametrize(
    "variant",
    [None, "default_api:order_read", "tools.order_read", "order_read()", "mcp__order_read", "ORDER_READ"],
)
def test_C056_an_invented_prefix_makes_an_unknown_tool_and_the_known_ones_are_told(
    case: Case, variant: str | None
) -> None:
    name = variant or case("C056")["tool_name"]
    recorded = turn(1, AskedCall(name, READ.arguments))
    given(recorded).executes(refused("1.1", "unknown_tool"))
    assert folded(recorded).steps[0].turn.calls[0].name == name


@pytest.mark.case("C057")
def test_C057_after_an_unknown_tool_the_run_continues(case: Case) -> None:
    asked = AskedCall(case("C057")["tool_name"], READ.arguments)
    given(turn(1, asked, READ)).executes(refused("1.1", "unknown_tool"), "1.2")
    given(turn(1, asked), failure("1.1", "unknown_tool")).asks_the_model()
    given(turn(1, asked), failure("1.1", "unknown_tool"), turn(2, READ)).executes("2.1")


@pytest.mark.case("C058")
@pytest.mark.parametrize("variant", ["", " ", "\t", "\n", "\u00a0"])
def test_C058_a_nameless_call_is_an_error_and_never_a_good_end(case: Case, variant: str) -> None:
    call = AskedCall(case("C058")["tool_name"] + variant, case("C058")["arguments_raw"])
    given(turn(1, call)).executes(refused("1.1", "empty_tool_name"))
    given(turn(1, call, text="Done.")).executes(refused("1.1", "empty_tool_name"))
    given(turn(1, call, READ, finish="stop")).executes(refused("1.1", "empty_tool_name"), "1.2")
    given(turn(1, call), failure("1.1", "empty_tool_name")).asks_the_model()


@pytest.mark.case("C061")
@pytest.mark.parametrize("variant", [None, "", "\t", "\u200b", "order read", "x" * 65, "a.b", "a\n"])
def test_C061_a_blank_or_malformed_name_can_not_be_registered(case: Case, variant: str | None) -> None:
    name = case("C061")["register_tool_name"] if variant is None else variant

    def handler(arguments: Order) -> None: ...

    with pytest.raises(InvalidAgent, match="a tool can't be named"):
        tool(effect="read", name=name)(handler)
    with pytest.raises(InvalidAgent, match="a tool can't be named"):
        TerminalTool(name, "", Order, "answered")


@pytest.mark.case("C064")
def test_C064_provider_ids_may_repeat_within_a_turn_and_over_the_turns(case: Case) -> None:
    calls = [AskedCall("order_read", READ.arguments, provider_id) for provider_id in case("C064")["calls"]]
    first, second = turn(1, *calls), turn(2, *calls)
    given(first).executes("1.1", "1.2")
    given(first, result("1.2")).executes("1.1")
    given(first, result("1.2"), result("1.1"), second).executes("2.1", "2.2")
    state = folded(first, result("1.2", "b"), result("1.1", "a"), second, result("2.1", "c"))
    assert [[r.call_key for r in step.results] for step in state.steps] == [["1.2", "1.1"], ["2.1"]]


@pytest.mark.case("C067")
def test_C067_several_calls_of_one_tool_in_a_turn_are_several_calls(case: Case) -> None:
    calls = [AskedCall(call["name"], json.dumps(call["arguments"])) for call in case("C067")["parallel"]]
    given(turn(1, *calls)).executes("1.1", "1.2")
    given(turn(1, *calls * 3)).executes("1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
    given(turn(1, *calls), result("1.1"), result("1.2")).asks_the_model()
    assert folded(turn(1, *calls), result("1.1"), result("1.2")).totals.tool_calls == 2


@pytest.mark.case("C068")
def test_C068_identical_approval_requests_in_a_turn_create_none(case: Case) -> None:
    """A request for approval ends the run, so two of them are ambiguous: neither is carried out."""
    [twin, _] = case("C068")["parallel_identical_side_effect"]
    call = AskedCall(twin["name"], json.dumps({"order_id": twin["arguments"]["order_id"]}))
    given(turn(1, call)).finishes(
        "approval_requested", by="1.1", arguments='{"order_id":"#W1","amount_minor":null}'
    )
    for count in (2, 3, 70):
        given(turn(1, *[call] * count)).finishes("blocked", "ambiguous_terminal_calls")


@pytest.mark.case("C068")
def test_C068_identical_work_calls_share_their_idempotency_key() -> None:
    """The handler's provider takes the second for the first; both stay in the record."""
    given(turn(1, MAIL, MAIL)).executes("1.1", "1.2")
    arguments = '{"order_id":"#W1"}'
    assert idempotency_key(RUN_ID, "mail_send", arguments) == idempotency_key(RUN_ID, "mail_send", arguments)


@pytest.mark.case("C096")
def test_C096_the_idempotency_key_comes_from_content_and_not_from_the_position(case: Case) -> None:
    name, order, amount = case("C096")["retry"].split()
    arguments = json.dumps({"order_id": order, "amount": amount})
    other = json.dumps({"order_id": order, "amount": "10.01"})
    key = idempotency_key(RUN_ID, name, arguments)
    assert (
        idempotency_key(UUID(str(RUN_ID)), name, arguments) == key,
        idempotency_key(RUN_ID, name, other) == key,
        idempotency_key(UUID(int=9), name, arguments) == key,
        idempotency_key(RUN_ID, "refund_preview", arguments) == key,
    ) == (True, False, False, False)


@pytest.mark.case("C069")
@pytest.mark.parametrize(
    "glued", ['{"a":1}{"b":2}', '{"order_id":"#W1"}{"order_id":"#W2"}', "{}{}", "{} {}", "{},{}"]
)
def test_C069_arguments_of_two_calls_glued_together_are_refused(case: Case, glued: str) -> None:
    assert '{"a":1}{"b":2}' in case("C069")["stream"]
    given(turn(1, AskedCall("order_read", glued))).executes(refused("1.1", "invalid_json"))
    given(turn(1, AskedCall("order_readorder_read", glued))).executes(refused("1.1", "unknown_tool"))


def assert_refused(trace_id: str) -> None:
    with pytest.raises(InvalidId) as caught:
        check_trace_id(trace_id)
    assert str(caught.value) == f"trace id is not acceptable: it must be {TRACE_ID_RULE}"
    with pytest.raises(ValidationError):
        TrustedContext(trace_id=trace_id)


@pytest.mark.case("C070")
@pytest.mark.parametrize(
    "variant",
    [None, "..", "../x", "a/../b", "/etc/passwd", "C:\\x", "..\\x", "~", "a\x00b", ".env", "%2e%2e/x"],
)
def test_C070_a_trace_id_can_not_be_a_path(case: Case, variant: str | None) -> None:
    assert_refused(case("C070")["trace_id"] if variant is None else variant)


@pytest.mark.case("C071")
@pytest.mark.parametrize(
    "variant", [None, 'x"; DROP', "x' OR '1'='1", "x--\n", "x;", "x/*", "`x`", "x$1", "x%s"]
)
def test_C071_a_trace_id_can_not_carry_sql(case: Case, variant: str | None) -> None:
    assert_refused(case("C071")["trace_id"] if variant is None else variant)


@pytest.mark.case("C073")
@pytest.mark.parametrize(
    "variant",
    [None, "0af7651916cd43dd8448eb211c80319c", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "T:1.2_3", "7"],
)
def test_C073_an_id_that_is_no_hex_is_used_as_it_is_and_never_replaced(
    case: Case, variant: str | None
) -> None:
    trace_id = case("C073")["trace_id"] if variant is None else variant
    assert TrustedContext(trace_id=trace_id).trace_id == trace_id


@pytest.mark.case("C074")
@pytest.mark.parametrize(
    "variant", [None, "", "0", "0000000000000000", "00000000-0000-0000-0000-000000000000"]
)
def test_C074_an_empty_or_all_zero_id_is_refused(case: Case, variant: str | None) -> None:
    assert_refused(case("C074")["trace_id"] if variant is None else variant)


@pytest.mark.case("C076")
def test_C076_an_id_longer_than_the_limit_is_refused(case: Case) -> None:
    assert case("C076")["trace_id"] == "<20,000 random hex characters>"
    hexadecimal = random.Random(76).randbytes(10_000).hex()
    assert_refused(hexadecimal)
    assert_refused(hexadecimal[:129])
    assert check_trace_id(hexadecimal[:128]) == hexadecimal[:128]


@pytest.mark.case("C056")
def test_C056_the_message_lists_what_is_offered() -> None:
    offered = ", ".join(offer.name for offer in AGENT.offers(folded().started.context))
    asked = ask("functions.order_read", order_id="#W1")
    message = f"There is no tool 'functions.order_read'. Tools: {offered}."
    given(turn(1, asked)).refuses_with("1.1", "unknown_tool", message)
