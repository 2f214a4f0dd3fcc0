"""Text that can be stored: what UTF-8 can't hold is replaced, said so, and can be put together again."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.text import clipped, storable


@pytest.mark.parametrize("text", ["", "plain", "é😀", "\x00\x1b\u2028\ufffd\ufeff\U0010ffff"])
def test_text_that_utf8_can_hold_is_kept_as_it_is(text: str) -> None:
    assert storable("text", text) == (text, [])


@pytest.mark.parametrize(
    ("text", "kept", "notes"),
    [
        ("ok \ud83d", "ok \ufffd", ["text: U+D83D at 3 replaced"]),
        ("\udc00é", "\ufffdé", ["text: U+DC00 at 0 replaced"]),
        ("\udfff\ud800", "\ufffd\ufffd", ["text: U+DFFF at 0 replaced", "text: U+D800 at 1 replaced"]),
        ("\ud83d\ude00", "\ufffd\ufffd", ["text: U+D83D at 0 replaced", "text: U+DE00 at 1 replaced"]),
        ("\ufffd\ud800", "\ufffd\ufffd", ["text: U+D800 at 1 replaced"]),
    ],
    ids=["half at the end", "half at the start", "two halves", "a whole pair unjoined", "beside a U+FFFD"],
)
def test_each_lone_surrogate_is_replaced_and_noted(text: str, kept: str, notes: list[str]) -> None:
    assert storable("text", text) == (kept, notes)


@given(st.text(st.characters()))
def test_the_text_as_it_was_can_be_put_together_from_the_notes(text: str) -> None:
    kept, notes = storable("calls.1.name", text)
    letters = list(kept)
    for note in notes:
        found = re.fullmatch(r"calls\.1\.name: U\+([0-9A-F]{4}) at (\d+) replaced", note)
        assert found
        letters[int(found[2])] = chr(int(found[1], 16))
    assert ("".join(letters), kept.encode().decode()) == (text, kept)


@given(st.text(), st.integers(0, 50))
def test_a_clipped_text_begins_as_the_text_did(text: str, most: int) -> None:
    shown = clipped(text, most)
    assert shown[:most] == text[:most]
    assert (shown == text) == (len(text) <= most)
