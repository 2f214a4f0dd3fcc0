"""A report is the same from the same position: later, elsewhere, in another format, after a rebuild."""

import hashlib
import json
from pathlib import Path

import pytest

from tachograph import open_store
from tachograph.adapters.exporters.report_file import FORMS, written
from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.reports.catalogue import CATALOGUE, NAMES
from tachograph.adapters.reports.making import make_report
from tachograph.adapters.reports.report import Report
from tachograph.domain.ports import EventStore
from tachograph.tests.read_side.conftest import OpenReadSide, opened

from .generated import fill

__all__ = ["opened"]

KNOWN = json.loads(Path(__file__).with_name("digests.json").read_text(encoding="utf-8"))
BYTES = [form for form in FORMS if form != "table"]


def every_report(store: EventStore, position: int | None = None) -> dict[str, Report]:
    return {
        name: make_report(store, name, since="2026-07-01", until="2026-07-01T18:00", position=position)
        for name in NAMES
    }


def digests(reports: dict[str, Report]) -> dict[str, str]:
    return {name: report.digest for name, report in reports.items()}


def test_what_is_recorded_afterwards_changes_nothing(refunds: EventStore) -> None:
    before = every_report(refunds)
    position = refunds.head()
    fill(refunds, 20, first=61)
    later = every_report(refunds, position)
    assert digests(later) == digests(before)
    for name, report in before.items():
        for form in BYTES:
            assert written(report, form) == written(later[name], form), (name, form)
    assert digests(every_report(refunds)) != digests(before)


def test_a_position_in_the_middle_of_an_append_is_a_position_like_any_other(refunds: EventStore) -> None:
    middle = refunds.head() // 2
    first = every_report(refunds, middle)
    assert digests(every_report(refunds, middle)) == digests(first)
    assert {report.head.position for report in first.values()} == {middle}


def test_they_are_the_same_on_every_store_and_in_every_release(refunds: EventStore) -> None:
    """A digest that changes needs the next version in the catalogue, and both of them here."""
    found = {
        name: {"version": CATALOGUE[name].version, "digest": digest}
        for name, digest in digests(every_report(refunds)).items()
    }
    # Positions count from 1 without gaps on all three stores here, as nothing was rolled back.
    assert found == KNOWN


def test_a_rebuild_and_batches_of_any_size_give_the_same(refunds: EventStore, opened: OpenReadSide) -> None:
    before = digests(every_report(refunds))
    opened(refunds, batch_size=7).rebuild(["facts", "timeline"])
    assert digests(every_report(refunds)) == before


def test_the_digest_is_that_of_the_lines_of_json(shared_refunds: EventStore) -> None:
    report = make_report(shared_refunds, "oversight")
    *lines, last = written(report, "json").decode("ascii").splitlines(keepends=True)
    assert json.loads(last) == {"digest": hashlib.sha256("".join(lines).encode()).hexdigest()}
    head = json.loads(lines[0])
    assert head["position"] == shared_refunds.head()
    assert head["checkpoint"] is None
    assert head["query_version"] == 1
    assert {"name": "eu-ai-act", "version": "2026-12-01"} in head["rule_sets"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_states_what_it_stands_on(name: str, shared_refunds: EventStore) -> None:
    report = make_report(
        shared_refunds, name, since="2026-07-01", until="2026-07-31", zone="Europe/Vienna", tenant="shop-eu"
    )
    for form in ("csv", "json", "html"):
        text = written(report, form).decode()
        parts = ["Europe/Vienna", "shop-eu", report.head.title]
        parts += (
            ["2026-06-30T22:00:00", str(shared_refunds.head())] if form == "json" else ["2026-07-01 00:00:00"]
        )
        assert all(part in text for part in (*parts, report.digest)), form


def test_a_second_process_finds_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    found = []
    store = open_store(url)
    fill(store, 30)
    for _ in range(2):
        found.append(digests(every_report(store)))
        store.close()
        store = open_store(url)
    store.close()
    assert found[0] == found[1]


def test_views_that_are_only_read_are_enough(database: EventStore, database_url: str) -> None:
    fill(database, 10)
    side = open_read_side(database)
    side.catch_up()
    side.close()
    assert make_report(database, "versions").section("figures").rows[0][1] == "10"
