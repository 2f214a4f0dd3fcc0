"""The bundled refund agent: its money, its shop, its tools, and the end that each scenario comes to."""

import asyncio
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.refund.agent import order_read, policy_search, refund_agent, refund_preview
from tachograph.adapters.refund.arguments import OrderRead, PolicySearch, RefundPreview, RequestRefundApproval
from tachograph.adapters.refund.money import (
    InvalidMoney,
    Money,
    currency_digits,
    from_gateway,
    gateway_minor,
    money,
    payable_step,
)
from tachograph.adapters.refund.policy import load_policy
from tachograph.adapters.refund.preview import preview_digest, preview_refund
from tachograph.adapters.refund.scenarios import (
    TENANT,
    Scenario,
    UnknownScenario,
    load_scenario,
    read_scenario,
    scenario_names,
)
from tachograph.adapters.refund.shop import DamagedOrder, Refusal, load_shop
from tachograph.domain.agent import Agent
from tachograph.domain.arguments import ArgumentsRefused, canonical_arguments, parse_arguments
from tachograph.domain.budget import Totals
from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import TachographError
from tachograph.domain.events import CallRequest, Event, ModelTurn, RunStarted, Terminal, ToolCall, ToolError
from tachograph.domain.next_action import AskModel, ExecuteCalls, Finish, next_action
from tachograph.domain.origins import Message
from tachograph.domain.ports import ModelReply
from tachograph.domain.run import RunState, evolve
from tachograph.domain.tools import Tool, ToolContext
from tachograph.domain.values import json_text

NOW = datetime(2026, 3, 20, 9, 30, tzinfo=UTC)
RUN = UUID(int=1)
MARA, JONAS, NOOR, GRACE, THEO = "cus_1042", "cus_2077", "cus_4105", "cus_5268", "cus_6019"


# Money


def test_the_currency_table_is_that_of_iso_4217(shared_data: Path) -> None:
    path = shared_data / "refund-domain" / "iso4217_exponents.json"
    exponents = json.loads(path.read_text(encoding="utf-8"))["exponents"]
    ours: dict[str, int | None] = {}
    for code in exponents:
        try:
            ours[code] = currency_digits(code)
        except InvalidMoney:
            ours[code] = None
    assert ours == exponents


def case(shared_data: Path, case_id: str) -> dict[str, Any]:
    lines = (shared_data / "cases.jsonl").read_bytes().split(b"\n")
    [found] = [parsed for line in lines if line and (parsed := json.loads(line))["id"] == case_id]
    given: dict[str, Any] = found["input"]
    return given


def test_c018_shillings_have_no_decimals_but_the_gateway_counts_two(shared_data: Path) -> None:
    given = case(shared_data, "C018")
    amount = Money(given["amount_minor"], given["currency"])
    assert (amount.formatted, gateway_minor(amount, "stripe"), gateway_minor(amount, "adyen")) == (
        "5,000 UGX",
        500_000,
        5_000,
    )
    assert from_gateway(given["amount_minor"], given["currency"], "stripe") == Money(50, "UGX")


def test_c018_the_preview_shows_the_minor_and_the_formatted_amount() -> None:
    shown = preview("#LL-10403", GRACE, reason="wrong_item", items=["KR-1"])
    assert (shown["amount_minor"], shown["formatted"], shown["gateway"]) == (
        5_000,
        "5,000 UGX",
        {"name": "stripe", "amount_minor": 500_000},
    )


def test_c019_dinars_have_three_decimals_and_the_gateways_last_digit_is_checked(shared_data: Path) -> None:
    given = case(shared_data, "C019")
    amount = Money(given["amount_minor"], given["currency"])
    assert amount.formatted == "1.234 KWD"
    assert gateway_minor(amount, "adyen") == 1234
    with pytest.raises(InvalidMoney, match=r"1\.234 KWD can't be paid .* multiples of 0\.010 KWD"):
        gateway_minor(amount, "stripe")


def test_c019_the_preview_refuses_an_amount_that_the_gateway_cannot_pay() -> None:
    assert preview("#LL-10401", NOOR, items=["NB-9"]) == {
        "ok": False,
        "code": "amount_not_payable",
        "reason": "1.234 KWD can't be paid through stripe, which pays multiples of 0.010 KWD.",
    }
    assert preview("#LL-10401", NOOR)["formatted"] == "11.490 KWD"


@pytest.mark.parametrize(
    ("minor", "currency", "formatted"),
    [
        (149_900, "USD", "1,499.00 USD"),
        (5, "EUR", "0.05 EUR"),
        (0, "USD", "0.00 USD"),
        (17_380, "JPY", "17,380 JPY"),
        (1, "CLF", "0.0001 CLF"),
        (-250, "USD", "-2.50 USD"),
    ],
)
def test_an_amount_has_all_digits_of_its_currency(minor: int, currency: str, formatted: str) -> None:
    amount = Money(minor, currency)
    assert (amount.formatted, money(amount.amount, currency)) == (formatted, amount)


@pytest.mark.parametrize(
    ("amount", "currency", "why"),
    [
        ("0.5", "JPY", "0.5 JPY has more than the 0 decimals of its currency"),
        ("1.999", "USD", "1.999 USD has more than the 2 decimals of its currency"),
        ("NaN", "USD", "NaN is not an amount"),
        ("1", "XAU", "'XAU' is not an ISO 4217 currency with minor units"),
        ("1", "usd", "'usd' is not an ISO 4217 currency with minor units"),
    ],
)
def test_what_is_no_amount_of_a_currency_is_refused(amount: str, currency: str, why: str) -> None:
    with pytest.raises(InvalidMoney) as refused:
        money(Decimal(amount), currency)
    assert str(refused.value) == why


def test_a_gateway_without_rules_is_refused() -> None:
    with pytest.raises(InvalidMoney, match="no rules for a gateway 'acme'; known: adyen, stripe"):
        gateway_minor(Money(1, "USD"), "acme")


@pytest.mark.parametrize(
    ("currency", "gateway", "step"),
    [
        ("USD", "stripe", 1),
        ("KWD", "stripe", 10),
        ("UGX", "stripe", 1),
        ("MGA", "stripe", 100),
        ("ISK", "adyen", 1),
    ],
)
def test_the_smallest_payable_amount_is_known_in_our_minor_units(
    currency: str, gateway: str, step: int
) -> None:
    assert payable_step(currency, gateway) == step
    assert from_gateway(gateway_minor(Money(step, currency), gateway), currency, gateway) == Money(
        step, currency
    )


# The tools


def context(customer: str | None) -> ToolContext:
    trusted = TrustedContext(trace_id="t", customer=customer)
    return ToolContext(trusted, RUN, "1.1", "order_read", "{}")


def search(query: str, limit: int = 4) -> list[tuple[str, Decimal]]:
    passages = policy_search.handler(PolicySearch(query=query, limit=limit))["passages"]
    return [(passage.reference, passage.score) for passage in passages]


def read(order_id: str, customer: str | None) -> dict[str, Any]:
    output: dict[str, Any] = order_read.handler(OrderRead(order_id=order_id), context(customer))
    return output


def preview(
    order_id: str, customer: str | None, *, reason: str = "changed_mind", items: list[Any] | None = None
) -> dict[str, Any]:
    chosen = [{"item_id": item} if isinstance(item, str) else item for item in items or []]
    raw = json.dumps({"order_id": order_id, "reason_code": reason, "items": chosen})
    output: dict[str, Any] = refund_preview.handler(parse_arguments(raw, RefundPreview), context(customer))
    return output


def test_both_versions_of_the_policy_are_found_and_named() -> None:
    assert search("return opened electronics") == [
        ("returns-policy/2#opened-electronics", Decimal("1.00")),
        ("returns-policy/1#return-window", Decimal("0.67")),
        ("returns-policy/2#faulty-goods", Decimal("0.33")),
        ("returns-policy/2#return-window", Decimal("0.33")),
    ]


def test_a_passage_has_all_that_an_answer_must_name() -> None:
    output = policy_search.handler(PolicySearch(query="opened electronics", limit=1))
    assert json.loads(json_text(output)) == {
        "ok": True,
        "passages": [
            {
                "reference": "returns-policy/2#opened-electronics",
                "document_id": "returns-policy",
                "version": 2,
                "effective_from": "2026-03-01T00:00:00+00:00",
                "effective_until": None,
                "section": "opened-electronics",
                "title": "Opened electronics",
                "quote": "Electronics whose packaging was opened can be returned within 14 days of delivery, "
                "less a restocking fee of 15 % of their price before tax.",
                "score": 1.0,
            }
        ],
    }


@pytest.mark.parametrize("query", ["the", "?!", "warranty insurance"])
def test_a_search_that_matches_nothing_finds_nothing(query: str) -> None:
    assert search(query) == []


def test_an_order_is_read_with_its_payment_and_the_refunds_that_hold_parts_of_it() -> None:
    output = read("#LL-10405", JONAS)
    assert output == {
        "ok": True,
        "order_id": "#LL-10405",
        "customer": {"customer_id": JONAS, "name": "Jonas Albrecht"},
        "status": "delivered",
        "placed_at": datetime(2026, 3, 5, 9, 12, 44, tzinfo=UTC),
        "delivered_at": datetime(2026, 3, 9, 10, 20, tzinfo=UTC),
        "currency": "EUR",
        "items": [
            item("DL-14", "Brass desk lamp", "home", 1, 0, 4900, 500, 836, "52.36 EUR"),
            item("NB-5", "Dotted notebook, A5", "stationery", 2, 1, 1200, 0, 228, "28.56 EUR"),
            item("KB-75", "Mechanical keyboard, 75 %", "electronics", 1, 1, 8900, 0, 1691, "105.91 EUR"),
        ],
        "shipping_minor": 490,
        "total_minor": 19_173,
        "total": "191.73 EUR",
        "payments": [
            {
                "payment_id": "pay_7R2K",
                "method": "card",
                "label": "Mastercard ending in 3047",
                "gateway": "adyen",
                "captured_at": datetime(2026, 3, 5, 9, 12, 49, tzinfo=UTC),
                "captured_minor": 19_173,
                "refunded_minor": 1_428,
                "refund_pending_minor": 5_236,
            }
        ],
        "refunds": [
            refund(
                "ref_201", "succeeded", datetime(2026, 3, 11, 8, 30, tzinfo=UTC), "NB-5", 1428, "14.28 EUR"
            ),
            refund(
                "ref_214",
                "pending_approval",
                datetime(2026, 3, 18, 15, 2, tzinfo=UTC),
                "DL-14",
                5236,
                "52.36 EUR",
            ),
        ],
    }
    assert '"delivered_at":"2026-03-09T11:20:00+01:00"' in json_text(output)


def item(
    item_id: str,
    title: str,
    category: str,
    quantity: int,
    left: int,
    price: int,
    off: int,
    tax: int,
    total: str,
) -> dict[str, Any]:
    return {
        "item_id": item_id,
        "title": title,
        "category": category,
        "opened": False,
        "quantity": quantity,
        "refundable_quantity": left,
        "unit_price_minor": price,
        "unit_discount_minor": off,
        "unit_tax_minor": tax,
        "total": total,
    }


def refund(
    refund_id: str, status: str, at: datetime, item_id: str, minor: int, amount: str
) -> dict[str, Any]:
    return {
        "refund_id": refund_id,
        "status": status,
        "requested_at": at,
        "items": [{"item_id": item_id, "quantity": 1}],
        "shipping_minor": 0,
        "amount_minor": minor,
        "amount": amount,
    }


@pytest.mark.parametrize("customer", [MARA, None])
def test_an_order_of_somebody_else_is_refused(customer: str | None) -> None:
    refused = {
        "ok": False,
        "code": "permission_denied",
        "reason": "Order #LL-10390 doesn't belong to the customer of this conversation.",
    }
    assert read("#LL-10390", customer) == refused
    assert preview("#LL-10390", customer) == refused


@pytest.mark.parametrize(
    ("order_id", "reason"),
    [
        ("LL-10412", "There is no order 'LL-10412'. Order ids begin with '#': try '#LL-10412'."),
        ("#LL-99999", "There is no order '#LL-99999'."),
    ],
)
def test_an_order_that_is_not_there_says_so_and_hints_at_a_dropped_sign(order_id: str, reason: str) -> None:
    assert read(order_id, MARA) == {"ok": False, "code": "not_found", "reason": reason}


def test_an_order_whose_record_contradicts_itself_makes_the_tool_fail() -> None:
    with pytest.raises(DamagedOrder, match=r"its parts come to 58\.91 USD, its payment to 589\.10 USD"):
        read("#LL-10407", MARA)


def test_every_other_order_of_the_shop_adds_up_and_has_an_approval_limit() -> None:
    orders = [order for order in load_shop().orders.values() if order.order_id != "#LL-10407"]
    assert [order.check() for order in orders] == orders
    currencies = {order.currency for order in orders}
    assert currencies == {"USD", "EUR", "JPY", "KWD", "UGX"}
    assert all(currencies <= set(v.rules.approval_limit_minor) for v in load_policy().versions)


def test_a_preview_shows_each_part_of_the_refund() -> None:
    shown = preview("#LL-10412", MARA, items=["HP-220"])
    digest = shown.pop("preview_digest")
    assert shown == {
        "ok": True,
        "order_id": "#LL-10412",
        "customer_id": MARA,
        "reason_code": "changed_mind",
        "lines": [
            {
                "item_id": "HP-220",
                "title": "Aurora wireless headphones, black",
                "quantity": 1,
                "goods_minor": 18_900,
                "tax_minor": 1_512,
                "restocking_fee_minor": 2_835,
                "formatted": "175.77 USD",
                "policy": "returns-policy/2#opened-electronics",
                "returnable_until": datetime(2026, 3, 26, 19, 5, tzinfo=UTC),
            }
        ],
        "goods_minor": 18_900,
        "tax_minor": 1_512,
        "shipping_minor": 0,
        "restocking_fee_minor": 2_835,
        "amount_minor": 17_577,
        "amount": Decimal("175.77"),
        "currency": "USD",
        "formatted": "175.77 USD",
        "maximum_refundable_minor": 22_955,
        "gateway": {"name": "stripe", "amount_minor": 17_577},
        "destination": {
            "payment_id": "pay_7Q1M",
            "method": "card",
            "label": "Visa ending in 1881",
            "arrives": "5 to 7 business days",
        },
        "policy": {
            "document_id": "returns-policy",
            "version": 2,
            "effective_from": datetime(2026, 3, 1, tzinfo=UTC),
            "references": ["returns-policy/2#opened-electronics"],
        },
        "approval": {"group": "support", "limit_minor": 50_000, "limit": "500.00 USD", "above_limit": False},
        "previewed_at": NOW,
        "expires_at": NOW + timedelta(hours=24),
    }
    assert digest == "803a61834eefdcc77869b48676f79f738c11f756cee7478b871a9cfe196ab667"


def test_the_digest_can_be_checked_from_the_recorded_output() -> None:
    """The recorded text, without `ok` and the digest, is what the digest was taken over."""
    recorded = json_text(preview("#LL-10412", MARA, items=["HP-220"]))
    parsed = json.loads(recorded, parse_float=Decimal)
    digest = parsed["preview_digest"]
    covered = recorded.replace('"ok":true,', "", 1).replace(f',"preview_digest":"{digest}"', "")
    assert hashlib.sha256(covered.encode()).hexdigest() == digest == preview_digest(parsed)


def test_the_digest_changes_with_what_was_previewed_and_with_nothing_else() -> None:
    def digest(**asked: Any) -> str:
        found: str = preview("#LL-10412", MARA, **asked)["preview_digest"]
        return found

    asked: list[dict[str, Any]] = [
        {"items": ["HP-220"]},
        {"items": ["CB-02"]},
        {"items": [{"item_id": "CB-02", "quantity": 2}]},
        {"items": ["CB-02"], "reason": "faulty"},
        {},
    ]
    digests = [digest(**each) for each in asked]
    assert digests == [digest(**each) for each in asked]
    assert len(set(digests)) == len(asked)


@pytest.mark.parametrize(
    ("order_id", "customer", "asked", "amount", "shipping_minor", "fee_minor", "references"),
    [
        ("#LL-10412", MARA, {}, "201.20 USD", 599, 2835, ["2#opened-electronics", "2#return-window"]),
        ("#LL-10412", MARA, {"reason": "faulty"}, "229.55 USD", 599, 0, ["2#faulty-goods"]),
        ("#LL-10412", MARA, {"items": ["CB-02"]}, "9.72 USD", 0, 0, ["2#return-window"]),
        ("#LL-10377", MARA, {"items": ["SP-11"]}, "85.32 USD", 0, 0, ["1#return-window"]),
        ("#LL-10398", MARA, {"reason": "faulty"}, "171.72 USD", 0, 0, ["2#faulty-goods"]),
        ("#LL-10405", JONAS, {}, "120.19 EUR", 0, 0, ["2#return-window"]),
        ("#LL-10409", "cus_3310", {"items": ["FP-3"]}, "14,080 JPY", 0, 0, ["2#return-window"]),
    ],
    ids=[
        "everything: delivery charge too",
        "our fault: no fee",
        "one of two pieces",
        "placed under version 1: 30 days, no fee",
        "too late but faulty",
        "a refund is pending: no delivery charge yet",
        "yen",
    ],
)
def test_the_amount_follows_the_policy(
    order_id: str,
    customer: str,
    asked: dict[str, Any],
    amount: str,
    shipping_minor: int,
    fee_minor: int,
    references: list[str],
) -> None:
    shown = preview(order_id, customer, **asked)
    assert (
        shown["formatted"],
        shown["shipping_minor"],
        shown["restocking_fee_minor"],
        shown["policy"]["references"],
    ) == (amount, shipping_minor, fee_minor, [f"returns-policy/{reference}" for reference in references])


@pytest.mark.parametrize(
    ("order_id", "customer", "asked", "code", "reason"),
    [
        (
            "#LL-10398",
            MARA,
            {},
            "not_eligible",
            "ER-6 could be returned within 14 days of delivery, until 2026-03-19T17:40:00-06:00; now it is "
            "2026-03-20T09:30:00+00:00 (policy version 2, section opened-electronics).",
        ),
        (
            "#LL-10415",
            MARA,
            {},
            "not_eligible",
            "Order #LL-10415 is processed, not delivered; nothing can come back yet.",
        ),
        (
            "#LL-10377",
            MARA,
            {"items": ["GC-25"]},
            "not_eligible",
            "GC-25 is a gift card; gift cards aren't refunded. Name the other items.",
        ),
        (
            "#LL-10405",
            JONAS,
            {"items": ["DL-14"]},
            "not_eligible",
            "1 of DL-14 asked for, 0 left; the others have been refunded or wait for a decision.",
        ),
        (
            "#LL-10412",
            MARA,
            {"items": ["HP-999"]},
            "invalid_argument",
            "The order has no item 'HP-999', but: HP-220, CB-02.",
        ),
        (
            "#LL-10412",
            MARA,
            {"items": ["CB-02", "CB-02"]},
            "invalid_argument",
            "An item stands twice in the list; give it once, with its quantity.",
        ),
    ],
    ids=["a day late", "not delivered", "gift card", "second request", "unknown item", "doubled item"],
)
def test_what_can_not_be_refunded_says_why(
    order_id: str, customer: str, asked: dict[str, Any], code: str, reason: str
) -> None:
    assert preview(order_id, customer, **asked) == {"ok": False, "code": code, "reason": reason}


def test_the_window_closes_to_the_second() -> None:
    order = load_shop().orders["#LL-10398"]
    assert order.delivered_at is not None
    last = order.delivered_at + timedelta(days=14)
    assert preview_refund(order, load_policy(), [], "changed_mind", last)["formatted"] == "147.87 USD"
    with pytest.raises(Refusal, match="could be returned within 14 days"):
        preview_refund(order, load_policy(), [], "changed_mind", last + timedelta(seconds=1))


def test_an_order_that_other_refunds_hold_whole_leaves_nothing_to_refund() -> None:
    order = load_shop().orders["#LL-10411"]
    held = {
        "refund_id": "ref_1",
        "status": "pending",
        "requested_at": NOW,
        "lines": [{"item_id": "RD-1", "quantity": 1}],
        "shipping_minor": 0,
        "amount_minor": 4212,
    }
    whole = type(order).model_validate({**order.model_dump(), "refunds": [held]})
    assert whole.refundable_minor == 0
    with pytest.raises(Refusal, match="Nothing is left to refund of order #LL-10411"):
        preview_refund(whole, load_policy(), [], "changed_mind", NOW)


def test_what_was_paid_by_gift_card_goes_back_to_it_at_once() -> None:
    assert preview("#LL-10411", MARA)["destination"] == {
        "payment_id": "pay_7Q0B",
        "method": "gift_card",
        "label": "Gift card ending in 88KF",
        "arrives": "at once",
    }


def test_above_the_limit_the_finance_team_approves() -> None:
    shown = preview("#LL-10390", THEO)
    assert (shown["formatted"], shown["approval"]) == (
        "1,618.92 USD",
        {"group": "finance", "limit_minor": 50_000, "limit": "500.00 USD", "above_limit": True},
    )


# The terminals


def request(**changed: object) -> str:
    fields: dict[str, object] = {
        "order_id": "#LL-10412",
        "preview_digest": "0" * 64,
        "amount": "175.77",
        "currency": "USD",
        "reason_code": "changed_mind",
        "explanation": "Opened headphones.",
    }
    return json.dumps(fields | changed)


def test_a_request_keeps_the_digits_of_its_amount() -> None:
    parsed = parse_arguments(request(amount="175.70"), RequestRefundApproval)
    assert '"amount":175.70,"currency":"USD"' in canonical_arguments(parsed)


@pytest.mark.parametrize(
    "amount", ["1e3", "1,499.00", "0", "-5", "NaN", "1_000", " 5", "٣", "+5", "0.001", True, None]
)
def test_an_amount_that_is_not_written_plainly_is_refused(amount: object) -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        parse_arguments(request(amount=amount), RequestRefundApproval)
    assert refused.value.code == "invalid_arguments"


def test_an_amount_must_fit_its_currency() -> None:
    with pytest.raises(ArgumentsRefused, match=r"175\.77 JPY has more than the 0 decimals of its currency"):
        parse_arguments(request(currency="JPY"), RequestRefundApproval)


def test_everything_a_model_is_offered_is_described() -> None:
    offers = refund_agent.offers(TrustedContext(trace_id="t"))
    assert [offer.name for offer in offers] == [
        "policy_search",
        "order_read",
        "refund_preview",
        "answer_user",
        "ask_clarification",
        "request_refund_approval",
        "request_handoff",
    ]
    undescribed = [
        f"{offer.name}.{name}"
        for offer in offers
        for name, field in offer.schema["properties"].items()
        if not field.get("description")
    ]
    assert undescribed == []
    assert all(offer.description for offer in offers)


# The scenarios


def started(agent: Agent, scenario: Scenario) -> RunState:
    begin = RunStarted(
        recorded_at=NOW,
        agent=agent.name,
        agent_version=agent.version,
        definition_digest=agent.definition_digest,
        catalogue_digest=agent.catalogue_digest,
        context=scenario.context,
        input=(Message(role="user", content=scenario.input),),
        budget=agent.budget,
        owner="test",
    )
    return evolve(RUN, None, begin)


def turn(action: AskModel, reply: ModelReply) -> ModelTurn:
    step = action.request.step
    return ModelTurn(
        recorded_at=NOW,
        step=step,
        model_asked=action.request.model,
        request_digest=action.request.digest,
        text=reply.text,
        calls=tuple(
            CallRequest(
                call_key=f"{step}.{index}",
                provider_id=call.provider_id,
                name=call.name,
                arguments=call.arguments,
            )
            for index, call in enumerate(reply.calls, 1)
        ),
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        latency_ms=0,
    )


def executed(call: ReadyCall | RefusedCall, trusted: TrustedContext) -> ToolCall | ToolError:
    key, name = call.request.call_key, call.request.name
    if isinstance(call, RefusedCall):
        return ToolError(
            recorded_at=NOW, call_key=key, name=name, code=call.code, message=call.message, duration_ms=0
        )
    try:
        output = handled(call.tool, call.arguments, ToolContext(trusted, RUN, key, call.tool.name, "{}"))
    except DamagedOrder as exc:
        return ToolError(
            recorded_at=NOW,
            call_key=key,
            name=name,
            code="tool_execution_failed",
            message=str(exc),
            duration_ms=0,
        )
    return ToolCall(
        recorded_at=NOW,
        call_key=key,
        name=name,
        arguments=canonical_arguments(call.arguments),
        output=output,
        duration_ms=0,
    )


def handled(tool: Tool, arguments: object, given: ToolContext) -> str:
    return json_text(tool.handler(arguments, given) if tool.takes_context else tool.handler(arguments))


def driven(scenario: Scenario, agent: Agent = refund_agent) -> RunState:
    """Drive a scenario to its end, with a new model for each turn as if each had its own process."""
    run = started(agent, scenario)
    while not run.ended:
        events: list[Event]
        match next_action(agent, run):
            case AskModel() as action:
                reply = asyncio.run(ScriptedModel(scenario.replies).complete(action.request))
                events = [turn(action, reply)]
            case ExecuteCalls(calls):
                events = [executed(call, scenario.context) for call in calls]
            case Finish(outcome, reason, call, arguments, provenance):
                events = [
                    Terminal(
                        recorded_at=NOW,
                        outcome=outcome,
                        reason=reason,
                        call_key=call.call_key if call else None,
                        tool=call.name if call else None,
                        arguments=arguments,
                        provenance=provenance,
                        totals=Totals(),
                    )
                ]
        for event in events:
            run = evolve(RUN, run, event)
    return run


def errors(run: RunState) -> tuple[str, ...]:
    return tuple(
        result.code for step in run.steps for result in step.results if isinstance(result, ToolError)
    )


def test_the_scenarios_are_those_that_are_promised() -> None:
    assert scenario_names() == (
        "ambiguous_terminals",
        "answered",
        "approval_requested",
        "clarification",
        "endless_work",
        "failing_tool",
        "handoff",
        "injection",
        "invalid_arguments",
        "invented_amount",
        "text_without_terminal",
        "unknown_tool",
    )


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_comes_to_its_expected_end(name: str) -> None:
    scenario = load_scenario(name)
    run = driven(scenario)
    assert run.terminal is not None
    assert (run.terminal.outcome, run.terminal.reason, errors(run)) == (
        scenario.expected_outcome,
        scenario.expected_reason,
        scenario.expected_errors,
    )


def test_the_requested_refund_is_the_previewed_one() -> None:
    run = driven(load_scenario("approval_requested"))
    assert run.terminal is not None
    assert run.terminal.arguments is not None
    shown = preview("#LL-10412", MARA, items=["HP-220"])
    assert json.loads(run.terminal.arguments, parse_float=Decimal) == {
        "order_id": "#LL-10412",
        "preview_digest": shown["preview_digest"],
        "amount": Decimal("175.77"),
        "currency": "USD",
        "reason_code": "changed_mind",
        "explanation": "The customer returns opened headphones, which don't fit. Allowed by "
        "returns-policy/2#opened-electronics, less the restocking fee.",
    }


def test_endless_work_executes_the_calls_of_the_last_turn_and_pays_for_no_other() -> None:
    run = driven(load_scenario("endless_work"))
    assert (run.totals.steps, run.totals.tool_calls) == (6, 6)


def test_a_hostile_message_changes_neither_tenant_nor_customer() -> None:
    """The model names another tenant and gets nothing for it; the session stays what it was."""
    scenario = load_scenario("injection")
    run = driven(scenario)
    assert run.started.context == TrustedContext(
        trace_id="demo-injection", tenant=TENANT, actor=MARA, customer=MARA
    )
    refused = [
        json.loads(result.output) for result in run.steps[1].results[:2] if isinstance(result, ToolCall)
    ]
    assert [output["code"] for output in refused] == ["permission_denied", "permission_denied"]
    assert run.steps[0].turn.calls[0].arguments is not None
    assert "harbor-outlet" in run.steps[0].turn.calls[0].arguments


def test_a_script_that_is_too_short_for_its_run_is_an_error_of_the_model() -> None:
    scenario = load_scenario("endless_work")
    with pytest.raises(TachographError, match="the script has 2 replies and the run asks for turn 3"):
        driven(replace(scenario, replies=scenario.replies[:2]))


def test_an_unknown_scenario_names_those_that_there_are() -> None:
    with pytest.raises(UnknownScenario) as unknown:
        load_scenario("../shop")
    assert (unknown.value.name, unknown.value.known) == ("../shop", scenario_names())
    assert str(unknown.value) == f"no scenario '../shop'; there are: {', '.join(scenario_names())}"


SCENARIO = """
title = "A title"
shows = "What it shows."
customer = "cus_1042"
input = "Hello"
[expected]
outcome = "answered"
[[replies]]
"""


@pytest.mark.parametrize(
    "reply",
    [
        'text = "hi"\nmood = "good"',
        "text = 5",
        'calls = [{ name = "t", arguments = { amount = 175.70 } }]',
        'calls = [{ name = "t", arguments = { at = 2026-03-20 } }]',
        "tokens = { read = -1, written = 0 }",
    ],
    ids=["unknown key", "not a text", "amount as a float", "a date", "negative"],
)
def test_a_scenario_of_another_form_is_refused(reply: str) -> None:
    assert read_scenario("a", f'{SCENARIO}text = "hi"').replies[0].text == "hi"
    with pytest.raises(ValueError, match=r"replies\.0"):
        read_scenario("a", SCENARIO + reply)
