"""The pure part: rows from events, how rows meet, and what never stands in a view."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.context import TrustedContext
from tachograph.domain.events import Event
from tachograph.domain.origins import Attempt, Message, Source
from tachograph.domain.personal import personal_paths
from tachograph.domain.provenance import Provenance
from tachograph.domain.recorded_event import Settlement
from tachograph.projections.catalogue import PROJECTIONS
from tachograph.projections.plain import plain, time_text
from tachograph.projections.projection import Column, Placed, Projection, Row, Rows, Table, merged
from tachograph.tests.approval_samples import approval_events

from .stories import NOON, begun, ended, failure, result, resumed, run_id, started, turn

SECRET = "Jane Roe, 12 Elm Street"

TABLE = Table(
    "example",
    (
        Column("trace_id", "TEXT", required=True),
        Column("tenant", "TEXT", required=True),
        Column("number", "INTEGER", merge="sum"),
        Column("opening", "TEXT", merge="first"),
        Column("ending", "TEXT", merge="last"),
        Column("seal", "BLOB", merge="last"),
    ),
    primary_key=("trace_id", "tenant"),
)


def row(trace_id: str = "t", **cells: Any) -> Row:
    return {"trace_id": trace_id, "tenant": "shop", **cells}


def placed(event: Event, version: int = 1) -> Placed:
    return Placed(
        position=version,
        run_id=str(run_id(1)),
        version=version,
        kind=event.kind,
        trace_id="trace-1",
        tenant="shop",
        recorded_at=time_text(event.recorded_at),
        event=event,
    )


def as_rows(merged_rows: Rows) -> list[Row]:
    """What a database gives back, to be merged with what comes next."""
    return [dict(zip(TABLE.column_names, values, strict=True)) for values in merged_rows]


class TestMerging:
    def test_rows_meet_as_their_columns_say(self) -> None:
        rows = [row(number=1, opening="a"), row(number=2, ending="x"), row(opening="b", ending="y")]
        assert merged(TABLE, rows) == [("t", "shop", 3, "a", "y", None)]

    def test_a_null_never_takes_the_place_of_a_value(self) -> None:
        rows = [row(ending="x", opening=None, seal=b"\0"), row(ending=None, opening="a", seal=None)]
        assert merged(TABLE, rows) == [("t", "shop", 0, "a", "x", b"\0")]

    def test_keys_stay_apart_in_the_order_of_their_first_row(self) -> None:
        rows = [row("b", number=1), row("a", number=1), row("b", number=1)]
        assert [values[:3] for values in merged(TABLE, rows)] == [("b", "shop", 2), ("a", "shop", 1)]

    def test_rows_are_not_changed(self) -> None:
        first = row(number=1)
        merged(TABLE, [first, row(number=1)])
        assert first == row(number=1)

    cells = st.fixed_dictionaries(
        {"trace_id": st.sampled_from("ab"), "tenant": st.just("shop")},
        optional={
            "number": st.integers(0, 9),
            "opening": st.none() | st.text(max_size=2),
            "ending": st.none() | st.text(max_size=2),
        },
    )

    @given(st.lists(cells, max_size=8), st.integers(0, 8))
    def test_in_two_portions_or_at_once_is_the_same(self, rows: list[Row], cut: int) -> None:
        in_two = as_rows(merged(TABLE, rows[:cut])) + as_rows(merged(TABLE, rows[cut:]))
        assert merged(TABLE, in_two) == merged(TABLE, rows)

    @pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70])
    def test_an_integer_past_64_bits_is_an_error(self, number: int) -> None:
        with pytest.raises(ValueError, match=r"example\.number: an integer past 64 bits"):
            merged(TABLE, [row(number=number, opening="\0")])

    def test_nul_is_replaced_in_texts_and_stays_in_bytes(self) -> None:
        assert merged(TABLE, [row(opening="a\0", seal=b"\0", number=2**63 - 1)]) == [
            ("t", "shop", 2**63 - 1, "a\ufffd", None, b"\0")
        ]

    def test_no_rows_are_no_rows(self) -> None:
        assert merged(TABLE, []) == []


class TestDeclarations:
    @pytest.mark.parametrize("name", ["", "Runs", "runs; DROP TABLE runs", "1", "a" * 41, "runs\n", "é"])
    def test_a_name_that_could_not_stand_in_a_statement_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="small letters and underscores"):
            Column(name, "TEXT")
        with pytest.raises(ValueError, match="small letters and underscores"):
            Table(name, (Column("tenant", "TEXT"),), ("tenant",))
        with pytest.raises(ValueError, match="small letters and underscores"):
            Projection(name, 1, (), lambda _: {})

    def test_a_table_without_a_tenant_is_refused(self) -> None:
        with pytest.raises(AssertionError, match="every row carries its tenant"):
            Table("example", (Column("trace_id", "TEXT"),), ("trace_id",))

    def test_names_of_projections_and_tables_are_each_used_once(self) -> None:
        names = [table.name for projection in PROJECTIONS for table in projection.tables]
        assert len(set(names)) == len(names)
        assert len({projection.name for projection in PROJECTIONS}) == len(PROJECTIONS)


def everything(text: str) -> list[Event]:
    """Each kind of event, with this text in every field that can hold personal data."""
    message = Message(role="user", content=text)
    source = Source(
        format="tau2",
        digest="0",
        conversation=1,
        stretch=1,
        first_message=0,
        last_message=1,
        unanswered=(message,),
    )
    settled = Settlement(actor=text, reason=text)
    request = turn(1).calls[0].model_copy(update={"arguments": text})
    return [
        started(
            context=TrustedContext(trace_id="trace-1", tenant="shop", actor=text, customer=text),
            input=(message,),
            source=source,
        ),
        turn(
            1,
            calls=0,
            text=text,
            refusal=text,
            error=text,
            provider_state=text,
        ).model_copy(update={"calls": (request,), "attempts": (Attempt(error=text, paused_ms=0),)}),
        turn(2, calls=0, text=text, finish_reason="refusal"),
        begun("1.1"),
        result("1.1", arguments=text, output=text).model_copy(
            update={"declared": {text: text}, "settled": settled}
        ),
        failure("1.1", message=text, detail=text).model_copy(update={"settled": settled}),
        resumed().model_copy(update={"actor": text}),
        ended(arguments=text, actor=text).model_copy(
            update={"provenance": Provenance(version=1, declared={text: text}, verdicts={text: text})}
        ),
        *approval_events(text),
    ]


class TestPersonalData:
    def test_none_is_copied_into_a_view(self) -> None:
        batch = [placed(event, version) for version, event in enumerate(everything(SECRET), start=1)]
        for projection in PROJECTIONS:
            shown = [dict(row) for rows in projection.changes(batch).values() for row in rows]
            assert shown
            assert SECRET not in json.dumps(shown)

    def test_the_test_above_fills_every_marked_field(self) -> None:
        for event in everything(SECRET):
            for path in personal_paths(type(event)):
                if not (event.kind == "model_turn" and event.model_dump()["step"] == 2):
                    assert SECRET in _at(event.model_dump(mode="json"), path.split(".")), (event.kind, path)


def _at(value: Any, path: list[str]) -> list[Any]:
    if not path:
        return [*value, *value.values()] if isinstance(value, dict) else [value]
    step, *rest = path
    members = value if step == "*" else [value[step]]
    return [found for member in members for found in _at(member, rest)]


class TestPlainText:
    def test_hostile_strings_become_one_plain_line(self, shared_data: Path) -> None:
        corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
        for text in (text for kind, texts in corpus.items() if kind != "source" for text in texts):
            shown = plain(text)
            assert shown.isprintable(), text
            assert len(shown) <= 200

    def test_what_is_plain_stays_as_it_is(self) -> None:
        assert plain("Größe: 3 m², 東京") == "Größe: 3 m², 東京"

    def test_lines_are_joined_and_long_texts_cut(self) -> None:
        assert plain("a\nb\tc\x1b[31m\u202e") == "a b c\ufffd[31m\ufffd"
        assert plain("x" * 300) == f"{'x' * 199}…"

    def test_tool_names_that_a_model_made_up_are_shown_plain(self) -> None:
        hostile = "\x1b]8;;http://evil\x07" + "n" * 500
        call = turn(1).calls[0].model_copy(update={"name": hostile})
        batch = [
            placed(turn(1).model_copy(update={"calls": (call,) * 7})),
            placed(failure("1.1", name=hostile)),
        ]
        [timeline] = [projection for projection in PROJECTIONS if projection.name == "timeline"]
        for shown in timeline.changes(batch)["timeline"]:
            for cell in (shown["name"], shown["summary"]):
                assert isinstance(cell, str)
                assert cell.isprintable()
                assert len(cell) <= 200


class TestTimes:
    @pytest.mark.parametrize(
        ("moment", "expected"),
        [
            (NOON, "2026-12-01T12:00:00.000000Z"),
            (NOON.astimezone(timezone(timedelta(hours=2))), "2026-12-01T12:00:00.000000Z"),
            (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
            (
                datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
                "9999-12-31T23:00:00.000000-05:00",
            ),
        ],
    )
    def test_are_utc_and_sort_as_text(self, moment: datetime, expected: str) -> None:
        assert time_text(moment) == expected

    @given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
    def test_sort_as_they_follow_each_other(self, one: datetime, other: datetime) -> None:
        assert (time_text(one) < time_text(other)) == (one < other)
