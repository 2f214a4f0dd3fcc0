"""Failure cases of the category encoding, as far as the domain decides them."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from tachograph.domain.codec import decode, encode
from tachograph.domain.events import Event, ModelTurn
from tachograph.domain.origins import Message
from tachograph.domain.ports import AskedCall
from tachograph.domain.text import storable
from tachograph.domain.tools import tool
from tachograph.domain.values import json_text

from .shop import AGENT
from .story import READ, failure, given, refused, result, resumed, started, turn

Case = Callable[[str], dict[str, Any]]


class Note(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str = "none"


@tool(effect="once")
def note_add(arguments: Note) -> None:
    """Add a note."""


FORGIVING = replace(AGENT, tools=(note_add,), allowed=None)


def read_back(event: Event) -> Event:
    return decode(event.kind, encode(event))


def everywhere(text: str) -> list[Event]:
    """The text in every place of a run where a text from outside can stand."""
    return [
        started(messages=(Message(role="user", content=text),)),
        turn(1, AskedCall(text, text, text), text=text, refusal=text, error=text, state=text),
        result("1.1", text),
        failure("1.1", message=text),
        resumed().model_copy(update={"reason": text}),
    ]


@pytest.mark.case("C002")
def test_C002_text_full_of_nuls_is_kept_whole(case: Case) -> None:
    utf_16 = bytes.fromhex(case("C002")["tool_output_bytes_utf16le"])
    texts = [utf_16.decode("latin-1"), utf_16.decode("utf-16-le"), "\ufeffR\x00", "\x00" * 1_000, "a\x00"]
    for text in texts:
        assert json.loads(json_text(text)) == text
        assert [read_back(event) for event in everywhere(text)] == everywhere(text)
        assert storable("text", text) == (text, [])


@pytest.mark.case("C003")
def test_C003_a_nul_and_the_letters_of_its_escape_stay_different(case: Case) -> None:
    output = case("C003")["tool_output"]
    texts = [output["literal"], output["real"], "\\u0000", "\x00", "\\\\u0000", "\\\x00", "\\\\\x00", "\\x00"]
    written = [json_text(text) for text in texts]
    assert json.loads(json_text(output)) == output
    assert [json.loads(text) for text in written] == texts
    assert len({encode(result("1.1", text)) for text in written}) == len(set(texts))
    for text in texts:
        assert [read_back(event) for event in everywhere(text)] == everywhere(text)
        assert json.loads(json_text({text: text})) == {text: text}


@pytest.mark.case("C004")
def test_C004_half_an_emoji_is_replaced_and_flagged_and_the_turn_is_recorded(case: Case) -> None:
    said = case("C004")["assistant_text"]
    kept, notes = storable("text", said)
    recorded = turn(1, READ, text=kept).model_copy(update={"altered": tuple(notes)})
    again = read_back(recorded)
    assert isinstance(again, ModelTurn)
    assert (again.text, again.altered) == ("ok \ufffd", ("text: U+D83D at 3 replaced",))
    given(again).executes("1.1")


@pytest.mark.case("C004")
@pytest.mark.parametrize(
    ("half", "notes"),
    [
        ("a\ud800", 1),
        ("\udbffb", 1),
        ("c\udc00", 1),
        ("\udfffd", 1),
        ("e\ude00\ud83df", 2),
        ("\ud83d" * 50, 50),
    ],
    ids=ascii,
)
def test_C004_halves_of_any_kind_become_storable_everywhere(half: str, notes: int) -> None:
    kept, found = storable("text", half)
    assert (len(found), len(kept), kept.count("\ufffd")) == (notes, len(half), notes)
    assert [read_back(event) for event in everywhere(kept)] == everywhere(kept)
    assert json.loads(json_text({"output": half})) == {"output": half}


@pytest.mark.case("C006")
def test_C006_an_event_is_one_line_whatever_line_ends_its_texts_hold(case: Case) -> None:
    policy = case("C006")["tool_output"]["policy"]
    breaks = ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\n", "\r", "\r\n"]
    events = [event for text in [policy, *breaks, "".join(breaks)] for event in everywhere(text)]
    exported = b"".join(encode(event) + b"\n" for event in events)
    lines = exported.split(b"\n")
    assert (len(lines), lines.pop()) == (len(events) + 1, b"")
    assert [decode(event.kind, line) for event, line in zip(events, lines, strict=True)] == events
    assert b"\r" not in exported


@pytest.mark.case("C008")
def test_C008_raw_control_characters_in_arguments_are_refused_and_kept(case: Case) -> None:
    raw = case("C008")["arguments_raw"]
    texts = [raw, *(f'{{"order_id": "a{chr(code)}b"}}' for code in range(0x20))]
    for text in texts:
        recorded = turn(1, AskedCall("order_read", text))
        given(recorded).executes(refused("1.1", "invalid_json"))
        again = read_back(recorded)
        assert isinstance(again, ModelTurn)
        assert again.calls[0].arguments == text


@pytest.mark.case("C008")
def test_C008_a_tool_without_required_arguments_never_runs_with_none_in_their_place(case: Case) -> None:
    """An empty object in the place of what can't be read would pass this schema."""
    given(turn(1, AskedCall("note_add", case("C008")["arguments_raw"])), agent=FORGIVING).executes(
        refused("1.1", "invalid_json")
    )
    given(turn(1, AskedCall("note_add", None)), agent=FORGIVING).executes("1.1")
