"""Who a run acts for: the one rule for trace ids, and the rule for tenants, actors and customers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tachograph.domain.context import PARTY_RULE, TRACE_ID_RULE, TrustedContext, check_trace_id
from tachograph.domain.errors import InvalidId, TachographError


@pytest.mark.parametrize(
    "trace_id",
    [
        "my-trace-123",
        "a",
        "0a",
        "00000000000000000000000000000001",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
        "ticket:4711",
        "A.b_c:d-e",
        "x" * 128,
    ],
)
def test_a_trace_id_that_follows_the_rule_is_used_unchanged(trace_id: str) -> None:
    assert (check_trace_id(trace_id), TrustedContext(trace_id=trace_id).trace_id) == (trace_id, trace_id)


BAD_TRACE_IDS = [
    "",
    " ",
    "0",
    "00000000000000000000000000000000",
    "00000000-0000-0000-0000-000000000000",
    "x" * 129,
    "../../../../home/user/.bashrc",
    "..",
    ".hidden",
    "-option",
    "_a",
    ":a",
    "a/b",
    "a\\b",
    "a b",
    " a",
    "a ",
    "a\n",
    "a\x00",
    "x'; DROP TABLE events;--",
    "%2e%2e%2f",
    "a%00",
    "é",
    "\u0663",
    "\u1d00",
    "\ud800",
    "a\u202eb",
    "{{7*7}}",
    "<script>",
    "=1+1",
    "$(id)",
    "a?b#c",
]


@pytest.mark.parametrize("trace_id", BAD_TRACE_IDS, ids=repr)
def test_any_other_trace_id_is_refused_with_the_rule(trace_id: str) -> None:
    with pytest.raises(InvalidId) as caught:
        check_trace_id(trace_id)
    assert (caught.value.field, caught.value.rule, str(caught.value)) == (
        "trace id",
        TRACE_ID_RULE,
        f"trace id is not acceptable: it must be {TRACE_ID_RULE}",
    )
    with pytest.raises(ValidationError, match="1 to 128 letters, digits"):
        TrustedContext(trace_id=trace_id)


def test_an_invalid_id_is_an_error_of_this_package_and_a_value_error() -> None:
    assert (issubclass(InvalidId, TachographError), issubclass(InvalidId, ValueError)) == (True, True)


@given(st.text(st.characters(), max_size=200))
def test_an_accepted_trace_id_is_safe_in_a_path_a_url_and_a_log(text: str) -> None:
    try:
        check_trace_id(text)
    except InvalidId:
        return
    assert (text.isascii(), text.isprintable(), len(text) <= 128, text[0].isalnum()) == (True,) * 4
    assert set(text) & set("/\\ %?#&=<>'\"`$;|*(){}[]~@!,+^") == set()


PARTIES = ["t", "shop-eu", "agent@shop.example", "Zoë Müller", "李雷", "a b", "x" * 200, "#4711", "O'Brien"]
BAD_PARTIES = [
    "",
    "x" * 201,
    "a\nb",
    "a\tb",
    "\x1b[2J",
    "a\x00",
    "a\u202eb",
    "\u200b",
    "\ud800",
    "\u2028",
    "\x9b31m",
]


@pytest.mark.parametrize("field", ["tenant", "actor", "customer"])
@pytest.mark.parametrize("party", PARTIES)
def test_a_printable_party_is_used_unchanged(field: str, party: str) -> None:
    fields: dict[str, Any] = {"trace_id": "t", field: party}
    assert TrustedContext(**fields).model_dump()[field] == party


@pytest.mark.parametrize("field", ["tenant", "actor", "customer", "permissions"])
@pytest.mark.parametrize("party", BAD_PARTIES, ids=repr)
def test_a_party_that_is_not_printable_is_refused_with_the_rule(field: str, party: str) -> None:
    fields: dict[str, Any] = {"trace_id": "t", field: (party,) if field == "permissions" else party}
    with pytest.raises(ValidationError, match=PARTY_RULE):
        TrustedContext(**fields)


def test_a_context_has_defaults_for_all_but_the_trace_id() -> None:
    assert TrustedContext(trace_id="t") == TrustedContext(
        trace_id="t", tenant="default", actor="anonymous", customer=None, permissions=()
    )
    with pytest.raises(ValidationError, match="trace_id"):
        TrustedContext()  # type: ignore[call-arg]  # that it fails is the point


def test_a_context_can_not_be_changed_or_extended() -> None:
    context = TrustedContext(trace_id="t")
    with pytest.raises(ValidationError, match="frozen"):
        context.tenant = "other"
    with pytest.raises(ValidationError, match="extra"):
        TrustedContext(trace_id="t", role="admin")  # type: ignore[call-arg]  # that it fails is the point
