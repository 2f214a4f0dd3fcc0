"""The register of failure cases: which of the design's cases have a test, told by the mark `case`."""

import json
from pathlib import Path

import pytest


def test_every_mark_names_a_case_that_exists_and_so_does_the_name_of_its_test(
    request: pytest.FixtureRequest, shared_data: Path
) -> None:
    lines = (shared_data / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    known = {json.loads(line)["id"] for line in lines if line}
    marked = [
        (item.name, {mark.args[0] for mark in item.iter_markers("case")})
        for item in request.session.items
        if item.get_closest_marker("case")
    ]
    assert [(name, ids) for name, ids in marked if not ids <= known] == []
    assert [name for name, ids in marked if not any(case_id in name for case_id in ids)] == []
