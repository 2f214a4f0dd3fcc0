"""Fixtures of the domain's tests. The vocabulary is in story.py, the strategies in histories.py."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest.register_assert_rewrite(f"{__package__}.story")
settings.register_profile("domain", deadline=None, print_blob=True)
settings.load_profile("domain")

CaseInput = dict[str, Any]


@pytest.fixture(scope="session")
def case(shared_data: Path) -> Callable[[str], CaseInput]:
    """Give the input of a failure case by its id."""
    lines = (shared_data / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = {entry["id"]: entry["input"] for entry in map(json.loads, filter(None, lines))}
    return cases.__getitem__
