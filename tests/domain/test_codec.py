"""Events to stored bytes and back: a closed table of kinds, and nothing unexpected from bad bytes."""

import json
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tachograph.domain.codec import Undecodable, decode, encode
from tachograph.domain.definitions import AgentDefined
from tachograph.domain.errors import TachographError, UnknownEvent
from tachograph.domain.events import EVENT_KINDS, SCHEMA_VERSION, Event, RunResumed, ToolError
from tachograph.tests.approval_samples import approval_events

from .histories import histories
from .story import NOON, READ, begun, ended, failure, result, resumed, started, turn

ONE_OF_EACH: list[Event] = [
    started(),
    turn(1, READ, text="Let me see.", cost="0.10"),
    begun("1.1"),
    result("1.1"),
    failure("1.1"),
    resumed(),
    ended(),
    *approval_events("x"),
    AgentDefined(recorded_at=NOON, agent="refund", definition="{}"),
]
each_event = pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: event.kind)


def test_there_are_sixteen_kinds_and_each_is_stored_under_its_own_name() -> None:
    assert [event.kind for event in ONE_OF_EACH] == list(EVENT_KINDS)
    assert {kind: event_class.kind for kind, event_class in EVENT_KINDS.items()} == {
        kind: kind for kind in EVENT_KINDS
    }


@each_event
def test_stored_bytes_are_one_line_of_json_with_the_schema_version_first(event: Event) -> None:
    stored = encode(event)
    fields = json.loads(stored)
    assert (next(iter(fields.items())), None in fields.values()) == (("v", SCHEMA_VERSION), False)
    assert (b"\n" in stored, b"\r" in stored) == (False, False)


@each_event
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    assert decode(event.kind, encode(event)) == event


@each_event
def test_the_same_event_gives_the_same_bytes_however_it_was_made(event: Event) -> None:
    copies = [event.model_copy(deep=True), type(event).model_validate(event.model_dump())]
    assert [encode(copy) for copy in copies] == [encode(event)] * 2


@each_event
def test_bytes_stored_under_another_kind_are_undecodable(event: Event) -> None:
    for kind in EVENT_KINDS.keys() - {event.kind}:
        with pytest.raises(Undecodable, match=f"not a {kind}: "):
            decode(kind, encode(event))


UNKNOWN_KINDS = [
    "",
    "run_ended",
    "Run_Started",
    " run_started",
    "run_started\n",
    "RunStarted",
    "tachograph.domain.events:RunStarted",
    "eventsourcing.domain:Aggregate.Created",
    "antigravity",
    "this",
    "os:system",
    "kind",
    "__class__",
    "x" * 100_000,
]


@pytest.mark.parametrize("kind", UNKNOWN_KINDS, ids=lambda kind: repr(kind[:40]))
def test_an_unknown_kind_is_refused_and_nothing_is_imported(kind: str) -> None:
    before = set(sys.modules)
    with pytest.raises(UnknownEvent) as caught:
        decode(kind, encode(resumed()))
    assert (set(sys.modules) - before, caught.value.stored_name) == (set(), kind)
    assert len(str(caught.value)) < 300


def test_no_hostile_topic_is_resolved_and_nothing_is_imported(shared_data: Path) -> None:
    vectors = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    topics = [text for name in ("topic", "terminal", "log", "html") for text in vectors[name]]
    before = set(sys.modules)
    for topic in topics:
        with pytest.raises(UnknownEvent):
            decode(topic, b'{"v":1,"recorded_at":"2026-12-01T12:00:00Z"}')
    assert (set(sys.modules) - before, "this" in sys.modules) == (set(), False)


def test_the_table_of_kinds_can_not_be_changed() -> None:
    with pytest.raises(TypeError):
        EVENT_KINDS["os:system"] = RunResumed  # type: ignore[index]  # that it fails is the point


def test_an_unknown_event_is_an_error_of_this_package() -> None:
    assert issubclass(UnknownEvent, TachographError)


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"{",
        b"{}",
        b"null",
        b'{"v":1',
        b'{"v":1}',
        b'{"v":1,',
        b'{"v":1,}',
        b'{"v": 1,"a":1}',
        b' {"v":1,"a":1}',
        b'{"V":1,"a":1}',
        b'{"v":"1","a":1}',
        b'{"v":01,"a":1}',
        b'{"v":-1,"a":1}',
        b'{"v":1.0,"a":1}',
        b'{"v":1000000,"a":1}',
        b'{"a":1,"v":1}',
        b'\xef\xbb\xbf{"v":1,"a":1}',
        b'{"v":1,"a":1}\n',
        b"\x00" * 20,
        '{"v":1,"a":1}'.encode("utf-16"),
    ],
    ids=repr,
)
def test_bytes_of_no_event_are_undecodable(stored: bytes) -> None:
    with pytest.raises(Undecodable, match="not a run_resumed: "):
        decode("run_resumed", stored)


@each_event
def test_an_unknown_field_is_undecodable_so_that_nothing_is_silently_lost(event: Event) -> None:
    stored = encode(event)[:-1] + b',"extra":1}'
    with pytest.raises(Undecodable, match="extra: Extra inputs are not permitted"):
        decode(event.kind, stored)


@each_event
def test_a_missing_field_is_undecodable(event: Event) -> None:
    fields = json.loads(encode(event))
    del fields["recorded_at"]
    stored = json.dumps(fields, separators=(",", ":")).encode()
    with pytest.raises(Undecodable, match="recorded_at: Field required"):
        decode(event.kind, stored)


@pytest.mark.parametrize(
    "time",
    [
        datetime(2026, 12, 1, 12),
        datetime(2026, 12, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        "2026-12-01T12:00:00",
        "2026-12-01T14:00:00+02:00",
    ],
    ids=repr,
)
def test_a_time_that_is_not_utc_is_refused(time: Any) -> None:
    with pytest.raises(ValidationError, match="recorded_at"):
        RunResumed(recorded_at=time, owner="a", actor="b", reason="c")


def test_the_smallest_part_of_a_time_is_kept() -> None:
    event = resumed().model_copy(update={"recorded_at": datetime(2026, 12, 1, 12, 0, 0, 1, tzinfo=UTC)})
    assert decode(event.kind, encode(event)) == event


@each_event
def test_an_event_can_not_be_changed(event: Event) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        event.recorded_at = NOON


def test_an_error_code_that_is_not_in_the_list_is_refused() -> None:
    with pytest.raises(ValidationError, match="code"):
        ToolError.model_validate({**failure("1.1").model_dump(), "code": "went_wrong"})


def decoded(kind: str, stored: bytes) -> Event | None:
    """The event, or None if the bytes were refused in one of the two ways that are allowed."""
    try:
        return decode(kind, stored)
    except (Undecodable, UnknownEvent):
        return None


@given(histories(), st.data())
def test_cut_or_flipped_bytes_are_refused_or_are_another_event(
    events: list[Event], data: st.DataObject
) -> None:
    event = data.draw(st.sampled_from(events))
    stored = bytearray(encode(event))
    if data.draw(st.booleans()):
        del stored[data.draw(st.integers(0, len(stored) - 1)) :]
    for place in data.draw(st.lists(st.integers(0, max(0, len(stored) - 1)), max_size=4)):
        if stored:
            stored[place] ^= 1 << data.draw(st.integers(0, 7))
    again = decoded(event.kind, bytes(stored))
    assert again is None or isinstance(again, type(event))


@given(
    st.sampled_from(sorted(EVENT_KINDS)) | st.text(), st.binary() | st.binary().map(lambda b: b'{"v":1,' + b)
)
def test_arbitrary_bytes_are_refused(kind: str, stored: bytes) -> None:
    assert decoded(kind, stored) is None
