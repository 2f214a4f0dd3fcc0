"""Line ends differ by platform; what was recorded does not."""

import json
from pathlib import Path

import pytest

from tachograph.adapters.importers import tau2
from tachograph.adapters.importers.to_events import to_events
from tachograph.domain.events import Event, RunStarted


def recorded(data: bytes) -> list[Event]:
    """The events of a file, but for the file's own digest and what is named after it."""
    events = [event for one in tau2.parse("f.json", data) for _, run in to_events(one) for event in run]
    return [_without_the_file(event) for event in events]


def _without_the_file(event: Event) -> Event:
    if not isinstance(event, RunStarted) or event.source is None:
        return event
    return event.model_copy(
        update={
            "source": event.source.model_copy(update={"digest": ""}),
            "context": event.context.model_copy(update={"trace_id": "t"}),
            "continues": None,
        }
    )


@pytest.mark.case("C007")
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_C007_a_file_with_other_line_ends_imports_the_same(shared_data: Path, line_end: str) -> None:
    document = json.loads((shared_data / "trajectories/tau2-toolorchestra/airline.json").read_bytes())
    document["simulations"] = document["simulations"][:3]
    plain = json.dumps(document).encode()
    edited = json.dumps(document, indent=1).replace("\n", line_end).encode()
    assert edited != plain
    assert recorded(edited) == recorded(plain)
