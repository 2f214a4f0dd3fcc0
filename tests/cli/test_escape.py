"""What a terminal gets to see: nothing that it would obey, nothing that an eye would miss."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.adapters.exporters.visible import visible
from tachograph.adapters.screen.json_layout import laid_out
from tachograph.adapters.screen.machine import ascii_json, line
from tachograph.adapters.screen.summaries import gist, refusal, result_gist

ANY_TEXT = st.text(st.characters(), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


def is_plain(text: str) -> bool:
    return all(
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        for character in text
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 日本語, 1 499,00 €", "plain, naïve, 日本語, 1 499,00 €"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]52;c;ZXZpbA==\x07", "\\x1b]52;c;ZXZpbA==\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066a\u2069 \u200e\u200f\u061c", "\\u2066a\\u2069 \\u200e\\u200f\\u061c"),
        ("a\u200bb\u200c\u200d\u2060\u00ad", "a\\u200bb\\u200c\\u200d\\u2060\\xad"),
        ("\u2028forged\u2029", "\\u2028forged\\u2029"),
        ("\ufeffbom", "\\ufeffbom"),
        ("\U000e0041\U000e007f", "\\U000e0041\\U000e007f"),
        ("\ue000\U0010ffff", "\\ue000\\U0010ffff"),
        ("\ud83d", "\\ud83d"),
        ("a\rb\tc\x00\x7f\x85", "a\\x0db\\x09c\\x00\\x7f\\x85"),
        ("hangul\u3164filler\u115f", "hangul\\u3164filler\\u115f"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("❤\ufe0f\ufe0f\ufe01 a\ufe0f \U000e0100", "❤\ufe0f\\ufe0f\\ufe01 a\\ufe0f \\U000e0100"),
        ("non\u00a0breaking\u3000wide", "non\u00a0breaking\u3000wide"),
    ],
)
def test_hidden_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_are_kept_only_where_a_block_is_meant() -> None:
    assert visible("a\nb\r\nc\rd") == "a\\x0ab\\x0d\\x0ac\\x0dd"
    assert visible("a\nb\r\nc\rd", block=True) == "a\nb\nc\\x0dd"


@given(ANY_TEXT)
def test_no_text_at_all_gets_through_unseen(text: str) -> None:
    assert is_plain(visible(text))
    assert is_plain(visible(text, block=True).replace("\n", ""))


@given(JSON)
def test_machine_lines_are_ascii_and_exact(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert ascii_json(text).isascii()
    assert ascii_json(text).isprintable()
    assert json.loads(ascii_json(text)) == value
    assert "\n" not in line([value])


@pytest.mark.parametrize(
    "separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x7f"]
)
def test_c006_nothing_but_a_line_feed_ends_a_machine_line(separator: str) -> None:
    """C006: a tool output with U+2028 in it still makes one record a line."""
    printed = line({"policy": f"line one{separator}two"})
    assert printed.splitlines() == [printed]
    assert json.loads(printed) == {"policy": f"line one{separator}two"}


@given(JSON, st.integers(1, 80))
def test_laying_json_out_changes_nothing_in_it(value: object, width: int) -> None:
    assert json.loads(laid_out(json.dumps(value), width)) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1.10, "a": 9007199254740993, "b": 1e999}',
        "[1.0, -0.0, 12345678901234567890.123]",
        "NaN",
        "{not json",
    ],
)
def test_laying_json_out_keeps_digits_and_doubled_keys(text: str) -> None:
    assert laid_out(text, 1000) == text


@pytest.mark.parametrize("text", ["[" * 10_000 + "]" * 10_000, "x" * 1_000_000, "", "[]", "{}"])
def test_no_text_is_too_deep_or_too_long(text: str) -> None:
    assert laid_out(text, 80) == text
    assert gist(text) == text


@given(JSON, st.sampled_from(["policy_search", "order_read", "refund_preview", "other"]))
def test_a_summary_can_be_made_of_anything(value: object, tool: str) -> None:
    text = json.dumps(value)
    for summary in (gist(text), result_gist("refund", tool, text), refusal(text) or ""):
        assert isinstance(summary, str)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ('{"ok": true, "order_id": "#7", "paid": 19.90}', "order_id #7 · paid 19.90"),
        ('{"items": [{"title": "Lamp"}, {"title": "Pen"}]}', "2 items (Lamp; Pen)"),
        (
            '{"digest": "803a61834eefdcc77869b48676f79f738c11f756cee7478b871a9cfe196ab667"}',
            "digest 803a61834eef…",
        ),
        ('{"a": {"b": 1, "c": [1, 2, 3, 4]}, "d": null}', "a {b 1, c [1, 2, 3, … 4 in all]} · d null"),
        ('"a text"', "a text"),
        ('{"ok":true}', '{"ok":true}'),
    ],
)
def test_a_summary_says_what_it_is_about(output: str, said: str) -> None:
    assert gist(output) == said
