"""What the views show, over every store."""

from datetime import timedelta
from uuid import uuid4

import pytest

from tachograph.adapters.read_side import ReadSide, queries
from tachograph.domain.origins import Source
from tachograph.domain.ports import EventStore

from .stories import (
    NOON,
    Story,
    append,
    begun,
    counted,
    ended,
    failure,
    fill,
    refund_run,
    result,
    resumed,
    run_id,
    started,
    turn,
)

ONE, TWO, THREE = run_id(1), run_id(2), run_id(3)
AT = "2026-12-01T12:00:00.000000Z"


class TestSteps:
    def test_a_run_counts_its_turns_calls_errors_and_outcome(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, refund_run(outcome="handed_off"))
        assert side.catch_up() == 6
        assert list(side.steps()) == [
            {
                "trace_id": "trace-1",
                "tenant": "shop",
                "runs": 1,
                "model_turns": 2,
                "tool_calls": 1,
                "tool_errors": 1,
                "outcomes": {"handed_off": 1},
            }
        ]

    def test_runs_of_a_trace_add_up_over_several_catch_ups(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, refund_run(outcome="blocked"))
        side.catch_up()
        append(store, TWO, refund_run(outcome="answered"))
        append(store, THREE, refund_run(outcome="blocked")[:-1])
        side.catch_up()
        [line] = side.steps("trace-1")
        assert (line["runs"], line["model_turns"], line["outcomes"]) == (3, 6, {"answered": 1, "blocked": 1})

    def test_a_trace_without_an_end_has_no_outcomes(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, [started()])
        side.catch_up()
        assert [line["outcomes"] for line in side.steps()] == [{}]

    def test_two_tenants_with_one_trace_id_are_counted_apart(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, refund_run("same", "shop", "answered"))
        append(store, TWO, refund_run("same", "bank", "blocked"))
        side.catch_up()
        assert [(line["tenant"], line["runs"], line["outcomes"]) for line in side.steps("same")] == [
            ("bank", 1, {"blocked": 1}),
            ("shop", 1, {"answered": 1}),
        ]

    def test_one_trace_alone_or_none_that_is_not_there(self, store: EventStore, side: ReadSide) -> None:
        fill(store, 4)
        side.catch_up()
        assert [line["trace_id"] for line in side.steps("trace-1")] == ["trace-1"]
        assert list(side.steps("trace-9")) == []

    def test_pages_join_without_a_seam(
        self, store: EventStore, side: ReadSide, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "PAGE_ROWS", 2)
        fill(store, 9)
        side.catch_up()
        assert list(side.steps()) == counted(store)
        assert [row["run_id"] for row in side.runs()] == [str(run_id(number)) for number in range(9, 0, -1)]
        assert [row["version"] for row in side.timeline(ONE)] == [1, 2, 3, 4, 5, 6]


class TestRuns:
    def test_an_open_run_becomes_an_ended_one(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, [started(), turn(1)])
        side.catch_up()
        assert [(row["status"], row["outcome"], row["steps"]) for row in side.runs()] == [("open", None, 1)]
        append(store, ONE, [result("1.1"), ended("blocked", reason="max_steps_exceeded")], 2)
        side.catch_up()
        assert list(side.runs()) == [
            {
                "run_id": str(ONE),
                "trace_id": "trace-1",
                "tenant": "shop",
                "agent": "refund",
                "agent_version": "1",
                "status": "ended",
                "outcome": "blocked",
                "reason": "max_steps_exceeded",
                "steps": 1,
                "tool_calls": 1,
                "tool_errors": 0,
                "owner": "host:1:aaaaaaaa",
                "started_at": AT,
                "last_recorded_at": AT,
                "ended_at": AT,
                "continues": None,
                "forked_from": None,
                "request_id": None,
                "source_format": None,
                "source_digest": None,
                "source_conversation": None,
                "source_stretch": None,
                "version": 4,
                "duration_ms": 0,
            }
        ]

    def test_what_a_run_came_from_is_shown(self, store: EventStore, side: ReadSide) -> None:
        source = Source(
            format="tau2", digest="ab" * 32, conversation=3, stretch=1, first_message=0, last_message=9
        )
        append(store, ONE, [started(continues=TWO, forked_from=THREE, request_id="r-1", source=source)])
        side.catch_up()
        [row] = side.runs()
        assert (row["continues"], row["forked_from"], row["request_id"]) == (str(TWO), str(THREE), "r-1")
        assert (row["source_format"], row["source_digest"]) == ("tau2", "ab" * 32)
        assert (row["source_conversation"], row["source_stretch"]) == (3, 1)

    def test_the_owner_is_the_one_who_took_the_run_over(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, [started(), resumed(owner="host:2:bbbbbbbb")])
        side.catch_up()
        assert [row["owner"] for row in side.runs()] == ["host:2:bbbbbbbb"]

    def test_the_run_that_began_last_comes_first_whatever_the_clock_said(
        self, store: EventStore, side: ReadSide
    ) -> None:
        for number in (1, 2, 3):
            append(store, run_id(number), [started(recorded_at=NOON - timedelta(hours=number))])
        side.catch_up()
        assert [row["run_id"] for row in side.runs()] == [str(THREE), str(TWO), str(ONE)]
        assert [row["run_id"] for row in side.runs(limit=2)] == [str(THREE), str(TWO)]
        assert list(side.runs(limit=0)) == []

    def test_runs_of_a_trace_or_a_status_alone(self, store: EventStore, side: ReadSide) -> None:
        append(store, ONE, refund_run("a"))
        append(store, TWO, refund_run("a")[:-1])
        append(store, THREE, refund_run("b"))
        side.catch_up()

        def found(**filters: str) -> list[str]:
            return [row["run_id"] for row in side.runs(**filters)]  # type: ignore[arg-type]  # no limit here

        assert found(trace_id="a") == [str(TWO), str(ONE)]
        assert found(status="ended") == [str(THREE), str(ONE)]
        assert found(trace_id="a", status="open") == [str(TWO)]


class TestTimeline:
    def test_every_event_is_a_line(self, store: EventStore, side: ReadSide) -> None:
        events: Story = [
            started(),
            turn(1, calls=2),
            begun("1.1"),
            resumed(),
            failure("1.1", code="outcome_unknown"),
            result("1.2"),
            ended("blocked", reason="outcome_unknown"),
        ]
        append(store, ONE, events)
        side.catch_up()
        shown = [
            (row["kind"], row["step"], row["call_key"], row["name"], row["summary"], row["code"])
            for row in side.timeline(ONE)
        ]
        assert shown == [
            ("run_started", None, None, "refund", "version 1, 1 message, at most 50 turns", None),
            ("model_turn", 1, None, "scripted", "asks for order_read, order_read", None),
            ("tool_started", 1, "1.1", "order_read", "is about to run (once)", None),
            ("run_resumed", None, None, None, "taken over by host:2:bbbbbbbb: its process ended", None),
            ("tool_error", 1, "1.1", "order_read", "fails: outcome_unknown", "outcome_unknown"),
            ("tool_call", 1, "1.2", "order_read", "returns 21 characters", None),
            ("terminal", None, None, None, "ends as blocked: outcome_unknown", "outcome_unknown"),
        ]
        assert [row["version"] for row in side.timeline(ONE)] == [1, 2, 3, 4, 5, 6, 7]
        assert {(row["trace_id"], row["tenant"], row["recorded_at"]) for row in side.timeline(ONE)} == {
            ("trace-1", "shop", AT)
        }

    def test_a_run_that_is_not_there_has_no_lines(self, store: EventStore, side: ReadSide) -> None:
        side.catch_up()
        assert list(side.timeline(uuid4())) == []

    def test_a_clock_that_steps_back_is_told_and_changes_no_order(
        self, store: EventStore, side: ReadSide
    ) -> None:
        """C126, C127: order comes from the versions, and no duration is negative."""
        offsets = [0, 10, 4, 10, 3]
        times = [NOON + timedelta(seconds=offset) for offset in offsets]
        append(
            store,
            ONE,
            [
                started(recorded_at=times[0]),
                turn(1, at=times[1]),
                begun("1.1", at=times[2]),
                result("1.1", at=times[3]),
                ended(at=times[4]),
            ],
        )
        append(store, TWO, [started(), ended(at=NOON - timedelta(seconds=5))])
        side.catch_up()
        timeline = list(side.timeline(ONE))
        assert [row["version"] for row in timeline] == [1, 2, 3, 4, 5]
        assert [row["clock_stepped_back"] for row in timeline] == [False, False, True, False, True]
        assert [(row["run_id"], row["duration_ms"]) for row in side.runs()] == [
            (str(TWO), 0),
            (str(ONE), 3000),
        ]
