"""The idempotency key of a call: from its content alone, the same in every release."""

import json
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.tools import ToolContext, idempotency_key

from .story import RUN_ID, started


def test_an_idempotency_key_is_the_same_for_ever() -> None:
    """Providers of payments keep these keys; a new release must send the old ones."""
    assert (
        idempotency_key(RUN_ID, "refund", '{"order_id":"#W1"}')
        == "tg1-55af98bfed668e6193796045c3bce55a0e21610f"
    )


def test_an_idempotency_key_depends_on_the_run_the_tool_and_the_arguments() -> None:
    keys = {
        idempotency_key(RUN_ID, "refund", '{"order_id":"#W1"}'),
        idempotency_key(UUID(int=2), "refund", '{"order_id":"#W1"}'),
        idempotency_key(RUN_ID, "refunds", '{"order_id":"#W1"}'),
        idempotency_key(RUN_ID, "refund", '{"order_id":"#W2"}'),
        idempotency_key(RUN_ID, 'refund", "', '{"order_id":"#W1"}'),
    }
    assert len(keys) == 5


def test_a_handler_can_read_its_idempotency_key_from_its_context() -> None:
    arguments = '{"order_id":"#W1"}'
    context = ToolContext(started().context, RUN_ID, "3.1", "refund", arguments)
    assert context.idempotency_key == idempotency_key(RUN_ID, "refund", arguments)


@given(st.text(st.characters()), st.text(st.characters()))
def test_an_idempotency_key_can_be_made_of_any_texts_and_sent_in_a_header(name: str, arguments: str) -> None:
    key = idempotency_key(RUN_ID, name, json.dumps(arguments))
    assert (key, len(key), key.isascii(), key.isprintable()) == (
        idempotency_key(RUN_ID, name, json.dumps(arguments)),
        44,
        True,
        True,
    )
