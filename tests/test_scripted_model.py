"""The scripted model: which reply it gives, and how a reply refers to what tools returned."""

import asyncio

import pytest

from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.domain.errors import ModelError
from tachograph.domain.events import CallRequest
from tachograph.domain.messages import ModelRequest, RequestMessage
from tachograph.domain.ports import AskedCall, ModelReply


def asked(step: int, *messages: RequestMessage) -> ModelRequest:
    return ModelRequest(
        step=step, model="scripted", instructions="", tools=(), messages=messages, catalogue_digest="c"
    )


def result(key: str, tool: str, output: str, *, is_error: bool = False) -> tuple[RequestMessage, ...]:
    call = CallRequest(call_key=key, name=tool)
    return (
        RequestMessage("assistant", "", calls=(call,)),
        RequestMessage("tool", output, call_key=key, is_error=is_error),
    )


def answer(script: list[ModelReply | ModelError], request: ModelRequest) -> ModelReply:
    return asyncio.run(ScriptedModel(script).complete(request))


def filled(arguments: str, *messages: RequestMessage) -> str | None:
    """What a call's arguments become when the request shows these messages."""
    reply = answer([ModelReply(calls=(AskedCall("t", arguments),))], asked(1, *messages))
    return reply.calls[0].arguments


SCRIPT: list[ModelReply | ModelError] = [ModelReply(text="one"), ModelReply(text="two")]


@pytest.mark.parametrize(("step", "text"), [(1, "one"), (2, "two")])
def test_the_step_chooses_the_reply(step: int, text: str) -> None:
    assert answer(SCRIPT, asked(step)) == ModelReply(text=text)


def test_another_process_goes_on_at_the_same_place() -> None:
    """Nothing is kept between calls, so a model that is asked for step 2 first gives reply 2."""
    first = ScriptedModel(SCRIPT)
    asyncio.run(first.complete(asked(1)))
    assert asyncio.run(first.complete(asked(2))) == answer(SCRIPT, asked(2))


def test_empty_turns_that_the_request_leaves_out_still_count() -> None:
    """Step 2 after an empty first turn: the request shows no assistant message at all."""
    assert answer(SCRIPT, asked(2, RequestMessage("user", "hello"))) == ModelReply(text="two")


def test_past_its_end_the_script_says_so() -> None:
    with pytest.raises(ModelError, match="the script has 2 replies and the run asks for turn 3"):
        answer(SCRIPT, asked(3))


def test_an_error_in_the_script_is_raised_every_time() -> None:
    model = ScriptedModel([ModelError("overloaded"), ModelReply(text="two")])
    for _ in range(2):
        with pytest.raises(ModelError, match="overloaded"):
            asyncio.run(model.complete(asked(1)))
    assert asyncio.run(model.complete(asked(2))) == ModelReply(text="two")


def test_a_placeholder_stands_for_a_value_of_a_tools_output() -> None:
    messages = result("1.1", "refund_preview", '{"preview_digest": "ab12", "lines": [{"a/b": 1}]}')
    arguments = '{"d": "{{refund_preview/preview_digest}}", "n": {{refund_preview/lines/0/a~1b}}}'
    assert filled(arguments, *messages) == '{"d": "ab12", "n": 1}'


def test_a_number_keeps_the_digits_it_was_written_with() -> None:
    messages = result("1.1", "preview", '{"amount": 175.70, "minor": 17570}')
    assert filled('["{{preview/amount}}", {{preview/minor}}]', *messages) == '["175.70", 17570]'


def test_the_latest_output_counts() -> None:
    messages = result("1.1", "read", '{"at": 1}') + result("2.1", "read", '{"at": 2}')
    assert filled('{"at": {{read/at}}}', *messages) == '{"at": 2}'


def test_call_keys_of_an_earlier_run_in_the_history_are_not_mixed_up() -> None:
    messages = result("1.1", "read", '{"at": 1}') + result("1.1", "search", '{"at": 2}')
    assert filled("[{{read/at}}, {{search/at}}]", *messages) == "[1, 2]"


def test_a_value_stays_inside_its_quotes() -> None:
    messages = result("1.1", "read", '{"note": "say \\"hi\\", {{read/note}}\\n"}')
    assert filled('{"note": "{{read/note}}"}', *messages) == '{"note": "say \\"hi\\", {{read/note}}\\n"}'


def test_text_is_filled_without_escapes() -> None:
    messages = result("1.1", "read", '{"note": "say \\"hi\\""}')
    reply = answer([ModelReply(text="It says: {{read/note}}")], asked(1, *messages))
    assert reply == ModelReply(text='It says: say "hi"')


@pytest.mark.parametrize(
    "messages",
    [
        (),
        result("1.1", "other", '{"at": 1}'),
        result("1.1", "read", "it failed", is_error=True),
        result("1.1", "read", '{"elsewhere": 1}'),
        result("1.1", "read", '{"at": 1\n[cut: 9 characters, the first 8 shown]'),
        result("1.1", "read", '"a text"'),
    ],
    ids=["no output", "another tool", "an error", "no such member", "cut off", "no object"],
)
def test_a_placeholder_without_a_value_is_an_error(messages: tuple[RequestMessage, ...]) -> None:
    with pytest.raises(ModelError, match="scripted reply 1 refers to read/at, which the request doesn't"):
        filled('{"at": "{{read/at}}"}', *messages)


def test_arguments_that_look_like_nested_braces_are_left_alone() -> None:
    assert filled('{"a":{"b":{}}}') == '{"a":{"b":{}}}'
