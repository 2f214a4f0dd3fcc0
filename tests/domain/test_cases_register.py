"""The register of failure cases: which of the design's cases have a test, told by the mark `case`."""

import json
import re
from pathlib import Path

import pytest


def test_every_mark_names_a_case_that_exists(request: pytest.FixtureRequest, shared_data: Path) -> None:
    lines = (shared_data / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    known = {json.loads(line)["id"] for line in lines if line}
    marked = {mark.args[0] for item in request.session.items for mark in item.iter_markers("case")}
    assert marked <= known


def test_a_test_named_after_a_case_is_marked_with_it(request: pytest.FixtureRequest) -> None:
    named = [
        (found.group(), {mark.args[0] for mark in item.iter_markers("case")})
        for item in request.session.items
        if (found := re.search(r"(?<=test_)C\d{3}", item.name))
    ]
    assert [(case_id, marks) for case_id, marks in named if case_id not in marks] == []
