"""Which fields can hold personal data: the frozen list that encryption and erasure go by."""

from collections.abc import Mapping
from typing import Annotated

import pytest
from pydantic import BaseModel

from tachograph.domain.events import EVENT_KINDS
from tachograph.domain.personal import PERSONAL, PersonalText, personal_paths

PERSONAL_PATHS: Mapping[str, set[str]] = {
    "run_started": {
        "context.actor",
        "context.customer",
        "input.*.content",
        "source.unanswered.*.content",
    },
    "model_turn": {
        *("text", "calls.*.arguments", "refusal", "error", "provider_state", "attempts.*.error"),
    },
    "tool_started": set(),
    "tool_call": {"arguments", "output", "declared", "settled.actor", "settled.reason"},
    "tool_error": {"message", "detail", "settled.actor", "settled.reason"},
    "run_resumed": {"actor"},
    "terminal": {"arguments", "actor", "provenance.declared", "provenance.verdicts"},
    "agent_defined": set(),
    "approval_requested": {"arguments", "requested_for.*"},
    "approval_granted": {"by", "reason"},
    "approval_denied": {"by", "reason"},
    "approval_expired": set(),
    "approval_escalated": set(),
    "approval_refused": {"by", "message"},
    "approval_started": set(),
    "approval_executed": {"output", "message", "settled.actor", "settled.reason"},
}


def test_every_kind_of_event_is_in_the_list() -> None:
    assert set(PERSONAL_PATHS) == set(EVENT_KINDS)


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_the_personal_fields_of_an_event_are_these_and_no_others(kind: str) -> None:
    assert personal_paths(EVENT_KINDS[kind]) == PERSONAL_PATHS[kind]


class Line(BaseModel):
    note: PersonalText
    sku: str


class Order(BaseModel):
    plain: str
    text: PersonalText
    maybe: Annotated[str | None, PERSONAL] = None
    maybe_inside: PersonalText | None = None
    line: Line
    perhaps_line: Line | None = None
    lines: tuple[Line, ...] = ()
    texts: tuple[PersonalText, ...] = ()
    deep: tuple[tuple[Line, ...], ...] = ()


def test_marks_are_found_wherever_the_annotation_hides_them() -> None:
    assert personal_paths(Order) == {
        "text",
        "maybe",
        "maybe_inside",
        "line.note",
        "perhaps_line.note",
        "lines.*.note",
        "texts.*",
        "deep.*.*.note",
    }


def test_a_model_without_marks_has_none() -> None:
    assert personal_paths(BaseModel) == set()


class Listed(BaseModel):
    lines: list[Line]
    texts: list[PersonalText]


def test_a_list_shows_as_a_star_like_a_tuple() -> None:
    assert personal_paths(Listed) == {"lines.*.note", "texts.*"}
