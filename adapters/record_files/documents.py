"""A part as lines of another standard: OCSF of what happened, PROV-JSON of what a decision rests on."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from tachograph.adapters.explaining import index_trace
from tachograph.adapters.exporters.prov_json import prov_json, prov_json_of_unknown
from tachograph.adapters.record_files.lines import Lines
from tachograph.adapters.record_files.reading import Placed
from tachograph.domain.errors import CorruptRun
from tachograph.domain.events import Terminal
from tachograph.domain.ports import EventStore
from tachograph.domain.values import json_text
from tachograph.domain.why.explaining import explain
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.projections.ocsf import ocsf_events


def ocsf_lines(partial: Path, store: EventStore) -> Lines:
    """Return a part of OCSF: one or two objects an event, without content."""
    return Lines(partial, "jsonl", _ocsf_lines)


def prov_lines(partial: Path, store: EventStore) -> Lines:
    """Return a part of PROV: a document a run that has ended, on what its decision rests."""
    traces = _Traces(store)
    return Lines(partial, "jsonl", lambda placed: _prov_lines(placed, traces))


class _Traces:
    """Traces as they are needed: the runs of one mostly end one after the other."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._last: tuple[object, IndexedTrace] | None = None

    def of(self, placed: Placed) -> IndexedTrace:
        key = (placed.whose.tenant, placed.whose.trace_id)
        if self._last is None or self._last[0] != key:
            self._last = (key, index_trace(self._store, placed.entry.run_id))
        return self._last[1]


def _ocsf_lines(placed: Placed) -> Iterator[str]:
    for found in ocsf_events(placed.entry, placed.whose):
        yield json_text(found)


def _prov_lines(placed: Placed, traces: _Traces) -> Iterator[str]:
    if placed.entry.kind != Terminal.kind:
        return
    run_id: UUID = placed.entry.run_id
    try:
        yield prov_json(explain(traces.of(placed), run_id))
    except CorruptRun as exc:
        yield prov_json_of_unknown(run_id, str(exc))
