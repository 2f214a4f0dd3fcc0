"""Entries that a view can't take: set aside or shown as unreadable, counted, and never in the way."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from tachograph.adapters.read_side import ReadSide
from tachograph.domain.events import Terminal, ToolError
from tachograph.domain.ports import EventStore
from tachograph.projections.catalogue import PROJECTIONS
from tachograph.projections.projection import Changes, Column, Placed, Projection, Table
from tachograph.projections.step_counts import STEP_COUNTS

from .conftest import OpenReadSide
from .stories import (
    append,
    append_foreign,
    counted,
    ended,
    query,
    refund_run,
    result,
    run_id,
    started,
    turn,
)

ONE, TWO, THREE = run_id(1), run_id(2), run_id(3)


class TestUnreadable:
    """C122: an unknown kind is shown as one, and breaks no view."""

    @pytest.fixture
    def foreign(self, store: EventStore, store_url: str) -> Callable[[UUID, int], None]:
        return lambda run, version: append_foreign(store, store_url, run, version, "run_paused", b'{"v":1}')

    def test_it_stands_in_the_timeline_and_beside_the_other_views(
        self, store: EventStore, side: ReadSide, foreign: Callable[[UUID, int], None]
    ) -> None:
        append(store, ONE, [started(), turn(1)])
        foreign(ONE, 3)
        append(store, ONE, [result("1.1"), ended()], 3)
        assert side.catch_up() == 5
        row = list(side.timeline(ONE))[2]
        assert (row["version"], row["kind"], row["tenant"], row["recorded_at"]) == (
            3,
            "run_paused",
            "shop",
            None,
        )
        assert row["summary"].startswith("unreadable: unknown kind of event: 'run_paused'")
        assert [(line["tool_calls"], line["outcomes"]) for line in side.steps()] == [(1, {"answered": 1})]
        assert [(each.projection, each.run_id, each.version, each.kind) for each in side.quarantined()] == [
            ("approvals", str(ONE), 3, "run_paused"),
            ("facts", str(ONE), 3, "run_paused"),
            ("metrics", str(ONE), 3, "run_paused"),
            ("runs", str(ONE), 3, "run_paused"),
            ("step_counts", str(ONE), 3, "run_paused"),
        ]
        assert {status.name: (status.quarantined, status.lag) for status in side.status()} == {
            "approvals": (1, 0),
            "facts": (1, 0),
            "metrics": (1, 0),
            "runs": (1, 0),
            "step_counts": (1, 0),
            "timeline": (0, 0),
        }

    def test_a_run_whose_beginning_is_unreadable_is_in_the_timeline_alone(
        self, store: EventStore, side: ReadSide, foreign: Callable[[UUID, int], None]
    ) -> None:
        foreign(ONE, 1)
        append(store, ONE, [turn(1)], 1)
        append(store, TWO, refund_run())
        side.catch_up()
        assert [(row["kind"], row["tenant"]) for row in side.timeline(ONE)] == [
            ("run_paused", None),
            ("model_turn", None),
        ]
        assert [row["run_id"] for row in side.runs()] == [str(TWO)]
        assert [(each.version, each.error) for each in side.quarantined("runs")][1] == (
            2,
            "the beginning of its run can't be read, so its trace and tenant are unknown",
        )

    def test_hostile_kinds_and_bytes_are_shown_plain(
        self, store: EventStore, store_url: str, side: ReadSide
    ) -> None:
        append(store, ONE, [started()])
        append_foreign(store, store_url, ONE, 2, "\x1b]0;owned\x07\u202ekind" + "k" * 1000, b"\xff\x00{")
        append_foreign(store, store_url, ONE, 3, "tool_call", b'{"v":1,"call_key":"1.1"}')
        side.catch_up()
        rows = list(side.timeline(ONE))
        assert [row["version"] for row in rows] == [1, 2, 3]
        assert all(row["kind"].isprintable() and len(row["kind"]) <= 200 for row in rows)
        assert all(row["summary"].isprintable() for row in rows)
        assert rows[2]["summary"].startswith("unreadable: not a tool_call")


class TestPoison:
    """An entry that a projection can't take is set aside, and the rest goes on."""

    def test_an_entry_that_makes_a_projection_raise(self, store: EventStore, opened: OpenReadSide) -> None:
        def changes(batch: Sequence[Placed]) -> Changes:
            if any(isinstance(placed.event, ToolError) for placed in batch):
                raise KeyError("no\nsuch \x1b[31mthing")
            return STEP_COUNTS.changes(batch)

        mine = (replace(STEP_COUNTS, changes=changes), *PROJECTIONS[1:])
        side = opened(store, projections=mine)
        append(store, ONE, refund_run())
        assert side.catch_up() == 6
        [line] = side.steps()
        assert (line["model_turns"], line["tool_calls"], line["tool_errors"]) == (2, 1, 0)
        [poison] = side.quarantined()
        assert (poison.projection, poison.run_id, poison.version, poison.kind) == (
            "step_counts",
            str(ONE),
            4,
            "tool_error",
        )
        assert poison.error.startswith("KeyError: ")
        assert poison.error.isprintable()
        assert side.quarantined("runs") == []
        assert [row["tool_errors"] for row in side.runs()] == [1]
        append(store, TWO, refund_run())
        side.catch_up()
        assert [(each.name, each.quarantined, each.lag) for each in side.status()] == [
            ("approvals", 0, 0),
            ("facts", 0, 0),
            ("metrics", 0, 0),
            ("runs", 0, 0),
            ("step_counts", 2, 0),
            ("timeline", 0, 0),
        ]

    def test_an_entry_whose_row_the_database_refuses(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        side = opened(database, projections=(*PROJECTIONS, _ends()))
        append(database, ONE, refund_run())
        append(database, TWO, [started(), ended("blocked", reason="cancelled")])
        append(database, THREE, refund_run())
        assert side.catch_up() == 14
        assert [(each.projection, each.run_id, each.version) for each in side.quarantined()] == [
            ("ends", str(ONE), 6),
            ("ends", str(THREE), 6),
        ]
        assert query(database_url, "SELECT * FROM end_counts") == [("shop", "blocked", 1)]
        assert query(database_url, "SELECT run_id FROM end_reasons") == [(str(TWO),)]
        assert list(side.steps()) == counted(database)
        assert {status.position for status in side.status()} == {database.head()}

    def test_an_integer_past_64_bits_is_set_aside_before_it_is_bound(
        self, store: EventStore, side: ReadSide
    ) -> None:
        """C014."""
        append(store, ONE, [started(), turn(2**63, calls=0), ended()])
        side.catch_up()
        [poison] = side.quarantined()
        assert (poison.projection, poison.version) == ("timeline", 2)
        assert poison.error == "ValueError: timeline.step: an integer past 64 bits"
        assert [row["version"] for row in side.timeline(ONE)] == [1, 3]

    def test_nul_in_a_text_does_not_stop_a_view(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, [started(request_id="a\0b", agent="re\0fund"), ended(reason="\0")])
        side.catch_up()
        [row] = side.runs()
        assert (row["request_id"], row["agent"], row["reason"]) == ("a\ufffdb", "re\ufffdfund", "\ufffd")
        assert side.quarantined() == []


def _ends() -> Projection:
    """A projection of a user's own: counts the ends of each tenant, and keeps those that have a reason."""
    tenant, counted = Column("tenant", "TEXT", required=True), Column("ends", "INTEGER", merge="sum")
    counts = Table("end_counts", (tenant, Column("outcome", "TEXT"), counted), ("tenant", "outcome"))
    reasons = Table(
        "end_reasons",
        (Column("run_id", "TEXT"), tenant, Column("reason", "TEXT", required=True)),
        primary_key=("run_id",),
    )

    def changes(batch: Sequence[Placed]) -> Changes:
        ends = [(placed, placed.event) for placed in batch if isinstance(placed.event, Terminal)]
        return {
            "end_counts": [
                {"tenant": placed.tenant, "outcome": event.outcome, "ends": 1} for placed, event in ends
            ],
            "end_reasons": [
                {"run_id": placed.run_id, "tenant": placed.tenant, "reason": event.reason}
                for placed, event in ends
            ],
        }

    return Projection("ends", 1, (counts, reasons), changes, kinds=frozenset({"terminal"}))
