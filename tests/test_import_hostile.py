"""Files that should not be imported, and how each is refused; files that only look bad."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tachograph.adapters.importers import document, tau2, tau_bench
from tachograph.adapters.importers.importing import FORMATS, import_file
from tachograph.adapters.importers.to_events import to_events
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.errors import ImportRejected
from tachograph.domain.events import ModelTurn
from tachograph.tests.spans.writing import chat, file_of, span, text

USER = {"role": "user", "content": "Hello"}
ANSWER = {"role": "assistant", "content": "Hi"}


def tau_bench_file(*messages: Any) -> str:
    return json.dumps([{"traj": [USER]}, {"traj": [USER, *messages]}])


def tau2_file(*messages: Any, **members: Any) -> str:
    first = {"id": "s", "messages": [USER, ANSWER]}
    return json.dumps({"simulations": [first, {"messages": [USER, *messages], **members}]})


def asks(**members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [members]}


AT = r"f\.json: conversation 1, message 1"
TAU_BENCH = [
    ("", "the file is empty"),
    (" \n", "the file is empty"),
    ("[]", "holds no conversations"),
    ("{}", "a tau-bench file is a list of conversations"),
    ('{"simulations": []}', "a tau-bench file is a list of conversations"),
    ("not json", "not JSON: Expecting value: line 1 column 1"),
    ('{"a": 1}\n{"a": 2}\n', "not JSON: Extra data: line 2 column 1"),
    (tau_bench_file()[:-3], "not JSON"),
    ("[" * 100_000, "nested too deep"),
    ('[{"traj": ' + '{"a":' * 5_000, "nested too deep|not JSON"),
    ("[1]", r"f\.json: conversation 0: must be an object, not a number"),
    ('[{"task_id": 1}]', "conversation 0: traj is missing"),
    ('[{"traj": {}}]', "conversation 0: traj must be a list, not an object"),
    ('[{"traj": [], "trial": [1]}]', "conversation 0: trial must be text, not a list"),
    ('[{"traj": [], "task_id": 1' + "0" * 300 + "}]", "task_id has 301 characters"),
    (tau_bench_file("text"), f"{AT}: must be an object, not text"),
    (tau_bench_file({"content": "x"}), f"{AT}: role is missing"),
    (tau_bench_file({"role": "developer\x1b[2J"}), rf"{AT}: the role must be .*not 'developer\\x1b\[2J'"),
    (tau_bench_file({"role": "user", "content": ["x"]}), f"{AT}: content must be text, not a list"),
    (tau_bench_file({"role": "user", "content": 5}), f"{AT}: content must be text, not a number"),
    (tau_bench_file({"role": "user", "content": True}), f"{AT}: content must be text, not true or false"),
    (tau_bench_file({"role": "user", "tool_calls": [{"function": {"name": "f"}}]}), "only the assistant"),
    (tau_bench_file({"role": "assistant", "function_call": {}}), f"{AT}: function_call can't be imported"),
    (tau_bench_file({"role": "assistant", "refusal": "No."}), f"{AT}: refusal can't be imported"),
    (tau_bench_file({"role": "assistant", "tool_calls": {}}), f"{AT}: tool_calls must be a list"),
    (tau_bench_file(asks(id="1")), f"{AT}: 'tool_calls/0': function is missing"),
    (tau_bench_file(asks(function={"arguments": "{}"})), f"{AT}: 'tool_calls/0/function': name is missing"),
    (tau_bench_file(asks(function={"name": "f", "arguments": {}})), "arguments must be text, not an object"),
    (tau_bench_file(asks(function={"name": "f"}, id=1)), f"{AT}: 'tool_calls/0': id must be text"),
    (tau_bench_file(asks(function={"name": "f"}, type="custom")), f"{AT}: 'tool_calls/0': type must be"),
    (tau_bench_file({"role": "tool", "content": float("nan")}), f"{AT}: 'content': NaN is not a JSON number"),
    (tau_bench_file({"role": "tool", "extra": [float("-inf")]}), f"{AT}: 'extra/0': -Infinity is not"),
    (
        '[{"traj": [{"role": "user", "role": "tool"}]}]',
        "conversation 0, message 0: the key 'role' stands twice",
    ),
    ('[{"traj": [], "info": {"a": 1, "a": 1}}]', "conversation 0: 'info': the key 'a' stands twice"),
    (json.dumps([{"traj": [ANSWER] * 10_001}]), "traj has 10001 entries; at most 10000"),
    (tau_bench_file({"role": "user", "content": "\ud800" * 1_001}), f"{AT}: content has more than 1000 lone"),
]
TAU2 = [
    ("[]", "a tau2 file is an object with a list of `simulations`"),
    (tau_bench_file(), "a tau2 file is an object with a list of `simulations`"),
    ('{"simulations": {}}', "a tau2 file is an object with a list of `simulations`"),
    ('{"simulations": []}', "holds no conversations"),
    ('{"simulations": [null]}', "conversation 0: must be an object, not null"),
    ('{"simulations": [{"messages": []}], "info": []}', "'info': must be an object, not a list"),
    (
        '{"simulations": [{"messages": []}], "info": {"environment_info": {"policy": 1}}}',
        "policy must be text",
    ),
    (tau2_file(start_time=5), "conversation 1: start_time must be text, not a number"),
    (tau2_file(start_time="yesterday"), "conversation 1: start_time must be an ISO 8601 time"),
    (tau2_file(start_time="0001-01-01T00:00:00+14:00"), "start_time must be an ISO 8601 time"),
    (tau2_file({**ANSWER, "timestamp": "noon"}), f"{AT}: timestamp must be an ISO 8601 time"),
    (
        tau2_file(asks(name="f", arguments="{}")),
        f"{AT}: 'tool_calls/0/arguments': must be an object, not text",
    ),
    (tau2_file(asks(arguments={})), f"{AT}: 'tool_calls/0': name is missing"),
    (tau2_file({"role": "user", "tool_calls": [{"name": "f"}]}), f"{AT}: the customer's own tool calls"),
    (tau2_file({"role": "tool", "requestor": "user"}), f"{AT}: the customer's own tool calls"),
    (tau2_file({"role": "tool", "error": "yes"}), f"{AT}: error must be true or false, not text"),
    (tau2_file({**ANSWER, "usage": {"prompt_tokens": -1}}), f"{AT}: 'usage': prompt_tokens must be a count"),
    (
        tau2_file({**ANSWER, "usage": {"prompt_tokens": "1"}}),
        f"{AT}: 'usage': prompt_tokens must be a number",
    ),
    (tau2_file({**ANSWER, "cost": -0.5}), f"{AT}: cost must be an amount, not -0.5"),
    (tau2_file(ANSWER).replace('"Hi"', '"Hi", "cost": 1e999999999'), "cost must be an amount"),
]


@pytest.mark.parametrize(("text", "why"), TAU_BENCH)
def test_a_bad_tau_bench_file_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(ImportRejected, match=why):
        tau_bench.parse("f.json", text.encode())


@pytest.mark.parametrize(("text", "why"), TAU2)
def test_a_bad_tau2_file_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(ImportRejected, match=why):
        tau2.parse("f.json", text.encode())


def test_arguments_nested_too_deep_are_refused() -> None:
    nested: dict[str, Any] = {}
    for _ in range(120):
        nested = {"a": nested}
    with pytest.raises(ImportRejected, match=f"{AT}: 'tool_calls/0': arguments: more than 100 levels"):
        tau2.parse("f.json", tau2_file(asks(name="f", arguments=nested)).encode())


def test_a_policy_too_long_to_be_repeated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tau2, "POLICIES_MAX", 15)
    info = {"environment_info": {"policy": "12345678"}}
    text = json.dumps({"info": info, "simulations": [{"messages": []}] * 2})
    with pytest.raises(ImportRejected, match="'info/environment_info': the policy is too long"):
        tau2.parse("f.json", text.encode())


@pytest.mark.parametrize("text", [b"\xff\xfe[\x00]\x00", b'["\xc3"]', b'["\xed\xa0\xbd"]'])
def test_bytes_that_are_not_utf8_are_refused(text: bytes) -> None:
    with pytest.raises(ImportRejected, match="not UTF-8 text: a wrong byte at"):
        tau_bench.parse("f.json", text)


def test_a_byte_order_mark_and_windows_line_ends_are_no_harm() -> None:
    text = b"\xef\xbb\xbf" + json.dumps([{"traj": [USER, ANSWER]}], indent=1).replace("\n", "\r\n").encode()
    [conversation] = tau_bench.parse("f.json", text)
    assert len(conversation.messages) == 2


def test_numbers_in_arguments_keep_their_digits_and_keys_their_order() -> None:
    raw = '{"b": 19.90, "a": [1e2, -0, 123456789012345678901234567890.10], "\\u00e9": "\\ud83d"}'
    text = tau2_file(asks(name="f", arguments=0)).replace(": 0}", f": {raw}}}")
    [run] = [events for _, events in to_events(tau2.parse("f.json", text.encode())[1])]
    [turn] = [event for event in run if isinstance(event, ModelTurn)]
    assert turn.calls[0].arguments == (
        '{"b":19.90,"a":[1e2,-0,123456789012345678901234567890.10],"é":"\\ud83d"}'
    )


def test_integers_of_any_length_are_text() -> None:
    digits = "9" * 100_000
    assert document.load("f.json", digits.encode()) == document.Lexeme(digits)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.json", "can't be read: No such file or directory"),
        (".", "can't be read: Is a directory"),
        ("nul\0.json", "can't be read: embedded null byte"),
        ("n" * 300, "can't be read: File name too long"),
    ],
)
def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(ImportRejected, match=why):
        asyncio.run(import_file(MemoryEventStore(), "tau2", os.path.join(tmp_path, name)))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tachograph.adapters.importers.importing.FILE_SIZE_MAX", 10)
    path = tmp_path / "large.json"
    path.write_bytes(b"[" + b" " * 10)
    with pytest.raises(ImportRejected, match="more than 10 bytes; import it in parts"):
        asyncio.run(import_file(MemoryEventStore(), "tau2", path))


def test_a_format_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="no format 'tau3'; formats: tau-bench, tau2"):
        asyncio.run(import_file(MemoryEventStore(), "tau3", tmp_path))


def otel_file(*messages: Any) -> str:
    given = json.dumps([{"parts": [], **message} for message in messages])
    good = chat([text("user", "Hello")], text("assistant", "Hi"))
    return file_of(span(1, said=good), span(2, said=good | {"gen_ai.input.messages": given})).decode()


def openinference_file(*messages: Any) -> str:
    said = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "Hi"}
    given = {f"llm.input_messages.{at}.message.role": each["role"] for at, each in enumerate(messages)}
    return file_of(span(1, said=said), span(2, said=said | given)).decode()


MAKERS: dict[str, tuple[Callable[..., str], str]] = {
    "tau-bench": (tau_bench_file, "conversation 1, message 2"),
    "tau2": (tau2_file, "conversation 1, message 2"),
    "otel": (otel_file, "'span 0000000000000002/gen_ai.input.messages/1'"),
    "openinference": (openinference_file, "'span 0000000000000002/llm.input_messages/1'"),
}


@pytest.mark.parametrize("format_name", FORMATS)
def test_nothing_of_a_refused_file_is_stored(tmp_path: Path, format_name: str) -> None:
    path = tmp_path / "file.json"
    make, place = MAKERS[format_name]
    path.write_text(make(ANSWER, {"role": "nobody"}))
    store = MemoryEventStore()
    with pytest.raises(ImportRejected, match=f"{place}: the role must be"):
        asyncio.run(import_file(store, format_name, path))
    assert store.head() == 0
