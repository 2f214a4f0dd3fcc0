"""Schema versions: older ones are read through upcasters, those of the future are unknown."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.domain.codec import UPCASTERS, Undecodable, Upcaster, decode, encode
from tachograph.domain.errors import UnknownEvent
from tachograph.domain.events import EVENT_KINDS, SCHEMA_VERSION, Event, RunResumed

from .story import NOON, ended, result, resumed

# A made-up version 0, in which a takeover named its owner `host`, and the price was a number.
VERSION_0: Mapping[tuple[str, int], Upcaster] = {
    ("run_resumed", 0): lambda fields: {
        "recorded_at": fields["at"],
        "owner": fields["host"],
        "actor": fields["who"],
        "reason": str(fields["cost"]),
    },
}


def test_an_older_event_is_read_through_its_upcaster() -> None:
    stored = b'{"v":0,"at":"2026-12-01T12:00:00Z","host":"second","who":"ops","cost":19.90}'
    assert decode("run_resumed", stored, VERSION_0) == RunResumed(
        recorded_at=NOON, owner="second", actor="ops", reason="19.90"
    )


def test_upcasting_leaves_the_stored_bytes_and_the_current_version_alone() -> None:
    assert decode("run_resumed", encode(resumed()), VERSION_0) == resumed()


def test_upcasters_are_applied_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if two more versions had passed: each upcaster knows only the next one."""
    monkeypatch.setattr("tachograph.domain.codec.SCHEMA_VERSION", 3)
    stored = b'{"v":0,"at":"2026-12-01T12:00:00Z","host":"second","who":"ops","cost":19.90}'
    later: dict[tuple[str, int], Upcaster] = {
        ("run_resumed", 1): lambda fields: {**fields, "actor": f"{fields['actor']}, 1 to 2"},
        ("run_resumed", 2): lambda fields: {**fields, "actor": f"{fields['actor']}, 2 to 3"},
    }
    assert decode("run_resumed", stored, {**VERSION_0, **later}) == RunResumed(
        recorded_at=NOON, owner="second", actor="ops, 1 to 2, 2 to 3", reason="19.90"
    )
    with pytest.raises(UnknownEvent, match="unknown schema version 0"):
        decode("run_resumed", stored, VERSION_0)


@pytest.mark.parametrize("kind", ["run_started", "tool_call"])
def test_a_version_without_an_upcaster_for_that_kind_is_unknown(kind: str) -> None:
    with pytest.raises(UnknownEvent, match="unknown schema version 0"):
        decode(kind, b'{"v":0,"at":"2026-12-01T12:00:00Z"}', VERSION_0)


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        b"}",
        b'"host":',
        b'"host":"a"}',
        b'"at":1,"host":2,"who":3,"cost":4}',
        b'"at":' + b"[" * 100_000,
        b'"at":' + b"9" * 5_000 + b"}",
        b'"at":1e99999999999999999999}',
        b'"at":"\xff"}',
        b'"at":"\\ud800","host":"a","who":"b","cost":1}',
    ],
    ids=lambda rest: repr(rest[:30]),
)
def test_broken_bytes_of_an_older_version_are_undecodable(rest: bytes) -> None:
    with pytest.raises(Undecodable, match="not a run_resumed: "):
        decode("run_resumed", b'{"v":0,' + rest, VERSION_0)


def test_there_is_no_upcaster_for_a_version_that_is_still_written() -> None:
    assert [key for key in UPCASTERS if key[0] not in EVENT_KINDS or key[1] >= SCHEMA_VERSION] == []


@pytest.mark.parametrize("version", [2, 9, 999_999])
@pytest.mark.parametrize("event", [resumed(), result("1.1"), ended()], ids=lambda event: event.kind)
def test_a_schema_version_of_the_future_is_unknown_not_undecodable(event: Event, version: int) -> None:
    stored = encode(event).replace(b'{"v":1,', b'{"v":%d,' % version, 1)
    with pytest.raises(UnknownEvent, match=f"unknown schema version {version}: '{event.kind}'"):
        decode(event.kind, stored)


@pytest.mark.parametrize("rest", [b"", b"\xff", b'"a":' + b"[" * 100_000, b'"a":' + b"9" * 5_000 + b"}"])
def test_a_future_version_is_unknown_whatever_form_it_has(rest: bytes) -> None:
    with pytest.raises(UnknownEvent, match="unknown schema version 2"):
        decode("tool_call", b'{"v":2,' + rest)


def test_an_upcaster_that_misses_a_field_names_it() -> None:
    with pytest.raises(Undecodable) as caught:
        decode("run_resumed", b'{"v":0,"at":"2026-12-01T12:00:00Z"}', VERSION_0)
    assert str(caught.value) == "not a run_resumed: 'host'"


def test_a_fault_without_a_text_is_named_by_its_type() -> None:
    def fails(fields: dict[str, Any]) -> dict[str, Any]:
        raise ValueError

    with pytest.raises(Undecodable) as caught:
        decode("run_resumed", b'{"v":0,"at":1}', {("run_resumed", 0): fails})
    assert str(caught.value) == "not a run_resumed: ValueError"


@given(st.binary())
def test_arbitrary_bytes_of_an_older_version_are_refused(rest: bytes) -> None:
    with pytest.raises(Undecodable):
        decode("run_resumed", b'{"v":0,' + rest, VERSION_0)
