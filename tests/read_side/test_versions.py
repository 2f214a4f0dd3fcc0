"""Views of another release than the one that reads or fills them."""

import sqlite3
from dataclasses import replace

import psycopg
import pytest

from tachograph.adapters.read_side import BuiltByNewerRelease, ViewOutdated
from tachograph.domain.ports import EventStore
from tachograph.projections.catalogue import PROJECTIONS
from tachograph.projections.facts import FACTS
from tachograph.projections.projection import Column, Projection
from tachograph.projections.step_counts import COUNTS, STEP_COUNTS

from .conftest import OpenReadSide
from .stories import Interrupted, counted, fill, interrupt, physical_tables, query


class TestVersions:
    def test_a_new_version_is_built_by_catch_up(
        self, database: EventStore, database_url: str, opened: OpenReadSide
    ) -> None:
        fill(database, 4)
        opened(database).catch_up()
        fill(database, 2, first=5)
        newer = opened(database, projections=(_newer(STEP_COUNTS), *PROJECTIONS[1:]))
        with pytest.raises(ViewOutdated):
            next(newer.steps())
        assert newer.catch_up() == 12 + 36
        assert [(each.name, each.version, each.generation) for each in newer.status()] == [
            ("approvals", 1, 1),
            ("facts", 1, 1),
            ("metrics", 1, 1),
            ("runs", 1, 1),
            ("step_counts", 2, 2),
            ("timeline", 1, 1),
        ]
        assert physical_tables(database_url) == {
            "approvals_g1",
            *(f"{table.name}_g1" for table in FACTS.tables),
            "metric_counts_g1",
            "runs_g1",
            "step_counts_g2",
            "timeline_g1",
        }
        assert query(database_url, "SELECT sum(runs) FROM step_counts WHERE note IS NULL") == [(6,)]
        with pytest.raises((sqlite3.Error, psycopg.Error)):
            query(database_url, "SELECT * FROM step_count_outcomes")

    def test_an_older_release_does_not_touch_what_a_newer_one_built(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 2)
        older = opened(database)
        older.catch_up()
        opened(database, projections=(_newer(STEP_COUNTS), *PROJECTIONS[1:])).catch_up()
        fill(database, 1, first=3)
        with pytest.raises(BuiltByNewerRelease, match="tachograph projections rebuild step_counts"):
            older.catch_up()
        older.rebuild(["step_counts"])
        older.catch_up()
        assert list(older.steps()) == counted(database)

    def test_an_interrupted_build_of_a_new_version_is_gone_on_with(
        self, database: EventStore, opened: OpenReadSide
    ) -> None:
        fill(database, 6)
        opened(database).catch_up()
        projections = (replace(STEP_COUNTS, version=2), *PROJECTIONS[1:])
        side = opened(database, projections=projections, batch_size=5)
        with pytest.raises(Interrupted):
            side.catch_up(interrupt)
        assert side.catch_up() == 36 - 20
        assert list(side.steps()) == counted(database)


def _newer(projection: Projection) -> Projection:
    """A later version with another shape: one table less, one column more."""
    [table] = [
        replace(each, columns=(*each.columns, Column("note", "TEXT", merge="last")))
        for each in projection.tables
        if each is COUNTS
    ]
    return replace(projection, version=projection.version + 1, tables=(table,))
