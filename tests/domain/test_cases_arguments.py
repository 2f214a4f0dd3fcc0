"""Failure cases of the category arguments."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tachograph.domain.arguments import ArgumentsRefused, parse_arguments
from tachograph.domain.budget import Budget, Totals
from tachograph.domain.codec import decode, encode
from tachograph.domain.events import ModelTurn
from tachograph.domain.ports import AskedCall

from .story import READ, ask, failure, folded, given, refused, result, started, turn

Case = Callable[[str], dict[str, Any]]


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    payment_id: str
    amount: int


class Booking(BaseModel):
    model_config = ConfigDict(extra="forbid")

    payment_methods: list[Item]


class Refund(BaseModel):
    model_config = ConfigDict(extra="forbid")

    order_id: str
    qty: int = 1
    notify: bool = False
    share: float = 0.0


Money = Annotated[Decimal, Field(max_digits=12, decimal_places=2, gt=0)]


class Amount(BaseModel):
    amount: Money


class Optional(BaseModel):
    note: str = "none"


def refusal(raw: str | None, model: type[BaseModel]) -> tuple[str, str]:
    with pytest.raises(ArgumentsRefused) as caught:
        parse_arguments(raw, model)
    return caught.value.code, str(caught.value)


def kept(raw: str | None) -> str | None:
    """The raw text of a call, after its turn went through the store's bytes."""
    recorded = turn(1, AskedCall("order_read", raw))
    again = decode(recorded.kind, encode(recorded))
    assert isinstance(again, ModelTurn)
    return again.calls[0].arguments


@pytest.mark.case("C035")
def test_C035_a_missing_arguments_key_is_no_arguments_and_is_recorded_as_missing(case: Case) -> None:
    raw = case("C035")["tool_call"]["function"].get("arguments")
    assert (raw, kept(raw)) == (None, None)
    assert parse_arguments(raw, Optional) == Optional()
    given(turn(1, AskedCall("order_read", raw))).executes(refused("1.1", "invalid_arguments"))


@pytest.mark.case("C036")
@pytest.mark.parametrize("variant", ["", " ", "\n", "\t \r\n"])
def test_C036_an_empty_text_is_no_arguments_and_is_kept_as_it_was(case: Case, variant: str) -> None:
    raw = case("C036")["arguments_raw"] + variant
    assert (parse_arguments(raw, Optional), kept(raw)) == (Optional(), raw)
    given(turn(1, AskedCall("order_read", raw))).executes(refused("1.1", "invalid_arguments"))


@pytest.mark.case("C037")
def test_C037_null_is_no_arguments_but_the_text_null_is_no_object(case: Case) -> None:
    assert parse_arguments(case("C037")["arguments_raw"], Optional) == Optional()
    assert refusal("null", Optional)[0] == "arguments_not_object"


@pytest.mark.case("C038")
def test_C038_doubly_encoded_arguments_are_refused_and_not_unwrapped(case: Case) -> None:
    once = case("C038")["arguments_raw"]
    assert json.loads(json.loads(once)) == {"order_id": "#W2611340"}
    for raw in (once, json.dumps(once), json.dumps(""), json.dumps("{}"), json.dumps("[]")):
        assert (refusal(raw, Optional)[0], kept(raw)) == ("arguments_not_object", raw)
    given(turn(1, AskedCall("order_read", once))).executes(refused("1.1", "arguments_not_object"))


@pytest.mark.case("C040")
@pytest.mark.parametrize("variant", [None, "[]", "[{}]", "1", "1.5", '"#W2611340"', "true", "false", "null"])
def test_C040_json_that_is_no_object_is_refused(case: Case, variant: str | None) -> None:
    raw = variant or case("C040")["arguments_raw"]
    given(turn(1, AskedCall("order_read", raw))).executes(refused("1.1", "arguments_not_object"))
    assert refusal(raw, Optional)[0] == "arguments_not_object"


@pytest.mark.case("C041")
@pytest.mark.parametrize(
    "variant",
    [
        None,
        "{'order_id': \"it's\"}",
        "{'order_id': None}",
        "dict(order_id='#W1')",
        "{'order_id': __import__('os').system('true')}",
        "{order_id: '#W1'}",
        '{"order_id": True}',
    ],
)
def test_C041_python_literals_are_refused_kept_and_never_evaluated(case: Case, variant: str | None) -> None:
    raw = variant or case("C041")["arguments_raw"]
    assert (refusal(raw, Optional)[0], kept(raw)) == ("invalid_json", raw)
    given(turn(1, AskedCall("order_read", raw))).executes(refused("1.1", "invalid_json"))


@pytest.mark.case("C044")
def test_C044_a_cut_call_is_found_by_its_json_and_not_by_the_finish_reason(case: Case) -> None:
    cut = case("C044")
    whole = '{"order_id": "#W1", "reason": "late"}'
    assert whole.startswith(cut["arguments_raw"])
    for end in range(1, len(whole)):
        asked = AskedCall("order_read", whole[:end])
        given(turn(1, asked, finish=cut["finish_reason"])).executes(refused("1.1", "invalid_json"))
    given(turn(1, AskedCall("answer_user", '{"text": "Don'))).executes(refused("1.1", "invalid_json"))


@pytest.mark.case("C045")
def test_C045_calls_of_a_turn_cut_by_its_length_are_not_executed_though_their_json_is_whole(
    case: Case,
) -> None:
    call = AskedCall("order_read", case("C045")["arguments_raw"])
    given(turn(1, call, finish="tool_calls")).executes("1.1")
    given(turn(1, call, finish="length")).executes(refused("1.1", "truncated_turn"))
    given(turn(1, call, READ, finish="length")).executes(
        refused("1.1", "truncated_turn"), refused("1.2", "truncated_turn")
    )
    approval = ask("request_refund_approval", order_id="#W1")
    given(turn(1, approval, finish="length")).executes(refused("1.1", "truncated_turn"))
    given(turn(1, approval, finish="length"), failure("1.1", "truncated_turn")).asks_the_model()


@pytest.mark.case("C046")
@pytest.mark.parametrize(
    "variant",
    [
        None,
        '{"order_id":"#W1","order_id":"#W1"}',
        '{"order_id":"#W1","\\u006frder_id":"#W2"}',
        '{"order_id":"#W1","lines":[{"n":1},{"n":1,"n":2}]}',
        '{"order_id":{"a":{"b":1,"c":2,"b":1}}}',
        '{"x":1,"order_id":"#W1","x":null}',
    ],
)
def test_C046_a_doubled_key_is_refused_and_the_raw_text_is_kept(case: Case, variant: str | None) -> None:
    """Readers differ on which of the two counts: the approver may see one and the handler the other."""
    raw = variant or case("C046")["arguments_raw"]
    assert kept(raw) == raw
    given(turn(1, AskedCall("order_read", raw))).executes(refused("1.1", "duplicate_key"))
    given(turn(1, AskedCall("request_refund_approval", raw))).executes(refused("1.1", "duplicate_key"))


@pytest.mark.case("C048")
@pytest.mark.parametrize("variant", [None, "{", "<xml/>", "null null", "\x00", "\ufeff{}", "{}" * 10_000])
def test_C048_raw_arguments_are_kept_whatever_they_are(case: Case, variant: str | None) -> None:
    raw = variant or case("C048")["arguments_raw"]
    assert kept(raw) == raw
    given(turn(1, AskedCall("order_read", raw))).executes(refused("1.1", "invalid_json"))


@pytest.mark.case("C049")
def test_C049_true_is_not_one_and_nothing_else_is_coerced(case: Case) -> None:
    arguments = case("C049")["arguments"]
    wrong: list[dict[str, Any]] = [
        arguments,
        {"order_id": "#W1", "qty": "1_000"},
        {"order_id": "#W1", "qty": "1"},
        {"order_id": "#W1", "qty": 3.0},
        {"order_id": "#W1", "notify": "y"},
        {"order_id": "#W1", "notify": 1},
        {"order_id": "#W1", "share": "0.5"},
        {"order_id": "#W1", "share": True},
        {"order_id": True},
    ]
    assert [refusal(json.dumps(each), Refund)[0] for each in wrong] == ["invalid_arguments"] * len(wrong)


@pytest.mark.case("C051")
@pytest.mark.parametrize("variant", [None, 0, -1, 2662.5, True, ["#W1"]])
def test_C051_a_number_is_no_text_and_the_message_says_so(case: Case, variant: Any) -> None:
    arguments = case("C051")["arguments"] if variant is None else {"order_id": variant}
    assert refusal(json.dumps(arguments), Refund) == (
        "invalid_arguments",
        "Invalid arguments. order_id: Input should be a valid string",
    )


@pytest.mark.case("C052")
@pytest.mark.parametrize(
    "variant", [None, "1E+12", "1e-400", "0.001", "12345678901.00", "-5.00", "0", "0E-10", "99999999999999"]
)
def test_C052_the_schema_limits_an_amounts_digits_and_its_exponent(case: Case, variant: str | None) -> None:
    arguments = case("C052")["arguments"] if variant is None else {"amount": variant}
    assert refusal(json.dumps(arguments), Amount)[0] == "invalid_arguments"
    assert parse_arguments('{"amount": "1234567890.12"}', Amount).amount == Decimal("1234567890.12")


@pytest.mark.case("C053")
def test_C053_a_wrong_field_name_is_told_by_its_place_and_the_model_may_retry(case: Case) -> None:
    raw = json.dumps(case("C053")["arguments"])
    assert refusal(raw, Booking) == (
        "invalid_arguments",
        "Invalid arguments. payment_methods.0.payment_id: Field required; "
        "payment_methods.0.id: Extra inputs are not permitted",
    )
    second = '{"payment_methods": [{"payment_id": "a", "amount": 1}, {"amount": 1, "payment_id": 5}]}'
    assert refusal(second, Booking)[1] == (
        "Invalid arguments. payment_methods.1.payment_id: Input should be a valid string"
    )
    given(turn(1, ask("order_read", id="#W1"))).executes(refused("1.1", "invalid_arguments"))
    given(turn(1, ask("order_read", id="#W1")), failure("1.1", "invalid_arguments")).asks_the_model()


@pytest.mark.case("C055")
def test_C055_a_call_that_the_provider_itself_rejected_is_told_counted_and_never_executed(case: Case) -> None:
    error = case("C055")["error"]
    rejected = turn(1, finish="rejected", error=f"{error['code']}: {error['failed_generation']}")
    given(rejected).asks_the_model()
    assert folded(rejected).totals == Totals(steps=1)
    again = decode(rejected.kind, encode(rejected))
    assert isinstance(again, ModelTurn)
    assert error["failed_generation"] in (again.error or "")
    given(started(Budget(max_steps=1)), rejected).finishes("blocked", "max_steps_exceeded")


@pytest.mark.case("C055")
def test_C055_after_it_a_good_call_is_executed() -> None:
    rejected = turn(1, finish="rejected", error="tool_use_failed")
    given(rejected, turn(2, READ)).executes("2.1")
    given(rejected, turn(2, READ), result("2.1")).asks_the_model()
