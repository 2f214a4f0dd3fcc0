"""Open stores for the stores' tests."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def hostile_strings(shared_data: Path) -> list[str]:
    """The corpus of texts that have broken stores, terminals, tables and logs."""
    corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    return [text for kind, texts in corpus.items() if kind != "source" for text in texts]
