"""A store of every schema version so far: read, rebuilt, replayed and explained by today's code."""

import json
import shutil
from pathlib import Path
from uuid import UUID

import pytest

from tachograph import open_store
from tachograph.adapters.approving import load_approval
from tachograph.adapters.explaining import explain_run
from tachograph.adapters.loading import load
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.replaying import replay_run
from tachograph.domain.approvals.answering import contradiction
from tachograph.domain.ports import EventStore
from tachograph.domain.run import state_digest

from .test_drift import CLERK

STORES = sorted((Path(__file__).parent / "stores").glob("*.sqlite"))


def streams(store: EventStore, kind: str) -> list[UUID]:
    return [entry.run_id for entry in store.read_log(limit=100_000) if entry.kind == kind]


def digests(url: str) -> dict[str, str]:
    """The digest of each run, and the status of each approval."""
    store = open_store(url)
    found = {str(run_id): state_digest(load(store, run_id)) for run_id in streams(store, "run_started")}
    for approval_id in streams(store, "approval_requested"):
        state = load_approval(store, approval_id)
        found[str(approval_id)] = f"{state.status} {state.execution}"
    store.close()
    return found


@pytest.fixture(params=STORES, ids=lambda file: file.stem)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an old store."""
    return Path(shutil.copy(request.param, tmp_path))


def test_there_is_one() -> None:
    assert [file.stem for file in STORES] == ["v1"]


def test_it_is_rebuilt_as_it_was(old: Path) -> None:
    expected = json.loads((Path(__file__).parent / "stores" / f"{old.stem}.json").read_text())
    assert digests(f"sqlite:///{old}") == expected


def test_it_is_replayed_without_drift(old: Path) -> None:
    """Another release of pydantic may write the tools' schemas, and with them the request, otherwise."""
    store = open_store(f"sqlite:///{old}")
    agents = {CLERK.name: CLERK}
    runs = [replay_run(store, run_id, agents.get) for run_id in streams(store, "run_started")]
    checked = [replayed for replayed in runs if replayed.unchecked is None]
    assert len(checked) == 2
    for replayed in checked:
        schemas = load(store, replayed.run_id).started.catalogue_digest
        allowed = set() if schemas == CLERK.catalogue_digest else {"request"}
        assert {drift.kind for drift in replayed.drifts} <= allowed
    store.close()


def test_its_approvals_are_for_what_their_runs_ask(old: Path) -> None:
    store = open_store(f"sqlite:///{old}")
    for approval_id in streams(store, "approval_requested"):
        state = load_approval(store, approval_id)
        assert contradiction(state, load(store, state.requested.run_id)) is None
    store.close()


def test_its_runs_are_explained_and_its_views_are_built(old: Path) -> None:
    store = open_store(f"sqlite:///{old}")
    for run_id in streams(store, "run_started"):
        assert explain_run(store, run_id).digest
    side = open_read_side(store)
    side.catch_up()
    assert {status.quarantined for status in side.status()} == {0}
    assert len(list(side.approvals())) == 4
    side.close()
    store.close()
