"""A tool's return value as JSON text: each row of the table in `values.py`, and what is refused."""

import enum
import json
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from pathlib import PurePosixPath, PureWindowsPath
from uuid import UUID

import pytest

from tachograph.domain.values import json_text


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Kind(enum.StrEnum):
    VIP = "vip"


class Text(str):
    def __str__(self) -> str:
        return "not what it holds"


class Number(int):
    pass


class Ratio(float):
    pass


PARIS = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (2**63, "9223372036854775808"),
        (10**4000, "1" + "0" * 4000),
        ("", '""'),
        ('a"b\\c/', '"a\\"b\\\\c/"'),
        ("tab\tnew\nline", '"tab\\tnew\\nline"'),
        ([], "[]"),
        ([1, [2, []]], "[1,[2,[]]]"),
        ((1, "a"), '[1,"a"]'),
        ({}, "{}"),
        ({"b": 1, "a": 2}, '{"b":1,"a":2}'),
        ({"": {"": []}}, '{"":{"":[]}}'),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_json_has_is_written_as_json(value: object, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e16, "1e+16"),
        (0.1 + 0.2, "0.30000000000000004"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (Ratio(0.5), "0.5"),
        (math.nan, '{"$float":"NaN"}'),
        (-math.nan, '{"$float":"NaN"}'),
        (math.inf, '{"$float":"Infinity"}'),
        (-math.inf, '{"$float":"-Infinity"}'),
        (Ratio("inf"), '{"$float":"Infinity"}'),
        (Decimal("19.90"), "19.90"),
        (Decimal("-0.00"), "-0.00"),
        (Decimal("1E+400"), "1E+400"),
        (Decimal("0.1234567890123456789012345678901234567890"), "0.1234567890123456789012345678901234567890"),
        (Decimal("NaN"), '{"$float":"NaN"}'),
        (Decimal("sNaN"), '{"$float":"NaN"}'),
        (Decimal("-NaN123"), '{"$float":"NaN"}'),
        (Decimal("Infinity"), '{"$float":"Infinity"}'),
        (Decimal("-Infinity"), '{"$float":"-Infinity"}'),
    ],
    ids=str,
)
def test_numbers_keep_their_digits_and_those_json_lacks_are_tagged(value: object, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 3, 31, 10, 0, tzinfo=UTC), '"2026-03-31T10:00:00+00:00"'),
        (datetime(2026, 3, 31, 10, 0, 0, 5, tzinfo=PARIS), '"2026-03-31T10:00:00.000005+02:00"'),
        (datetime(2026, 3, 31, 10, 0), '"2026-03-31T10:00:00"'),
        (date(2026, 3, 31), '"2026-03-31"'),
        (time(10, 0), '"10:00:00"'),
        (time(10, 0, tzinfo=PARIS), '"10:00:00+02:00"'),
        (timedelta(seconds=90), "90.000000"),
        (timedelta(0), "0.000000"),
        (timedelta(microseconds=1), "0.000001"),
        (-timedelta(microseconds=1), "-0.000001"),
        (timedelta.max, "86399999999999.999999"),
        (timedelta.min, "-86399999913600.000000"),
    ],
    ids=str,
)
def test_times_are_iso_8601_with_the_offset_they_had_and_durations_are_exact_seconds(
    value: object, text: str
) -> None:
    assert json_text(value) == text


def test_no_ambient_precision_rounds_a_number() -> None:
    with localcontext(prec=3):
        texts = [json_text(value) for value in (timedelta(days=1, microseconds=7), Decimal("1234.5678"))]
    assert texts == ["86400.000007", "1234.5678"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", '{"$bytes":""}'),
        (b"\x00\xff", '{"$bytes":"AP8="}'),
        (bytearray(b"abc"), '{"$bytes":"YWJj"}'),
        (memoryview(b"abc"), '{"$bytes":"YWJj"}'),
        (memoryview(b"abcdef")[::2], '{"$bytes":"YWNl"}'),
    ],
    ids=["empty", "binary", "bytearray", "memoryview", "strided memoryview"],
)
def test_bytes_are_tagged_base64(value: object, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (set(), "[]"),
        ({"vip", "gold", "silver"}, '["gold","silver","vip"]'),
        ({10, 9, "9", 1.5, None, True}, '["9",1.5,10,9,null,true]'),
        (frozenset({frozenset({2, 1}), frozenset()}), "[[1,2],[]]"),
        ({(1, 2), (1,)}, "[[1,2],[1]]"),
        ({b"b", b"a"}, '[{"$bytes":"YQ=="},{"$bytes":"Yg=="}]'),
    ],
    ids=["empty", "texts", "mixed", "of sets", "of tuples", "of bytes"],
)
def test_sets_are_lists_sorted_by_the_text_of_their_members(value: object, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (PurePosixPath("/a/b"), '"/a/b"'),
        (PureWindowsPath("C:/a"), '"C:\\\\a"'),
        (Colour.RED, '"red"'),
        (Colour.PAIR, "[1,2]"),
        (Level.HIGH, "3"),
        (Kind.VIP, '"vip"'),
        (Text("held"), '"held"'),
        (Number(5), "5"),
        ([Level.HIGH, Text("held")], '[3,"held"]'),
    ],
    ids=repr,
)
def test_values_with_one_text_are_that_text(value: object, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ok \ud83d", '"ok \\ud83d"'),
        ("é\udc00", '"\\u00e9\\udc00"'),
        ({"\ud800": 1}, '{"\\ud800":1}'),
        ("gift card\x00 balance", '"gift card\\u0000 balance"'),
        ("\\u0000 is six characters", '"\\\\u0000 is six characters"'),
        ("\u2028\u0085\x0b\x7f", '"\u2028\u0085\\u000b\x7f"'),
        ("😀é", '"😀é"'),
    ],
    ids=["cut emoji", "beside other letters", "in a key", "NUL", "literal escape", "line ends", "plain"],
)
def test_every_character_comes_back_exactly(value: object, text: str) -> None:
    assert (json_text(value), json.loads(text)) == (text, value)
