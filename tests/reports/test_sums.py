"""What reports say agrees with DuckDB's own sums over the recorded JSON, which knows nothing of our facts."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from tachograph.adapters.reports.making import make_report
from tachograph.adapters.reports.report import duration
from tachograph.domain.currencies import CURRENCY_DIGITS
from tachograph.domain.ports import EventStore

from .generated import events_of

SINCE, UNTIL = "2026-07-01T12:00", "2026-07-03T00:00"
IN_PERIOD = f"moment >= '{SINCE}' AND moment < '{UNTIL}'"


@pytest.fixture(scope="module")
def raw(shared_refunds: EventStore) -> Iterator["duckdb.DuckDBPyConnection"]:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE raw (run VARCHAR, version INT, kind VARCHAR, position BIGINT, body JSON)"
    )
    connection.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?)", list(events_of(shared_refunds)))
    connection.execute(
        "CREATE VIEW log AS SELECT *, replace(body->>'recorded_at', 'Z', '')::TIMESTAMP AS moment FROM raw"
    )
    yield connection
    connection.close()


def one(raw: "duckdb.DuckDBPyConnection", query: str) -> Any:
    found = raw.execute(query).fetchone()
    assert found is not None
    return found[0]


def figures(store: EventStore, name: str) -> dict[str, str | None]:
    report = make_report(store, name, since=SINCE, until=UNTIL)
    return {str(row[0]): row[1] for row in report.section("figures").rows}  # type: ignore[misc]  # values are texts


def test_amounts_by_currency(shared_refunds: EventStore, raw: "duckdb.DuckDBPyConnection") -> None:
    asked = raw.execute(f"""
        SELECT (body->>'arguments')::JSON->>'currency' AS currency, count(*),
            sum(((body->>'arguments')::JSON->>'amount')::DECIMAL(18, 4)),
            sum(((body->>'arguments')::JSON->>'amount')::DECIMAL(18, 4)) FILTER (run IN (
                SELECT run FROM log WHERE kind = 'approval_granted'))
        FROM log WHERE kind = 'approval_requested' AND {IN_PERIOD} GROUP BY 1 ORDER BY 1
    """).fetchall()
    report = make_report(shared_refunds, "approvals", since=SINCE, until=UNTIL)
    found = [
        (row[1], row[2], Decimal(str(row[3])), Decimal(str(row[5]))) for row in report.section("sums").rows
    ]
    assert len(found) == 4
    assert found == [(currency, count, all_, granted) for currency, count, all_, granted in asked]
    for _, currency, _, amount, *_ in report.section("sums").rows:
        _, point, part = str(amount).partition(".")
        assert len(part) == CURRENCY_DIGITS[str(currency)]
        assert bool(point) == bool(part)


def test_oversight(shared_refunds: EventStore, raw: "duckdb.DuckDBPyConnection") -> None:
    raw.execute(f"""
        CREATE OR REPLACE TEMP TABLE decided AS
        SELECT a.run, d.kind, (epoch_us(d.moment) - epoch_us(a.moment)) // 1000 AS after_ms
        FROM (SELECT * FROM log WHERE kind = 'approval_requested' AND {IN_PERIOD}) AS a
        LEFT JOIN (
            SELECT * FROM log WHERE kind IN ('approval_granted', 'approval_denied', 'approval_expired')
        ) AS d ON d.run = a.run
    """)
    found = figures(shared_refunds, "oversight")
    granted = one(raw, "SELECT count(*) FROM decided WHERE kind = 'approval_granted'")
    denied = one(raw, "SELECT count(*) FROM decided WHERE kind = 'approval_denied'")
    rate = Decimal(100 * granted) / (granted + denied)
    assert found["asked for"] == str(one(raw, "SELECT count(*) FROM decided"))
    assert found["granted"] == str(granted)
    assert found["denied"] == str(denied)
    assert found["approval rate"] == f"{rate.quantize(Decimal('0.1'), 'ROUND_HALF_UP')} %"
    people = "kind IN ('approval_granted', 'approval_denied')"
    assert found["under five seconds"] == str(
        one(raw, f"SELECT count(*) FROM decided WHERE {people} AND after_ms < 5000")
    )
    middle = one(raw, f"SELECT floor(median(after_ms))::BIGINT FROM decided WHERE {people}")
    assert found["median time to decide"] == duration(middle)
    assert found["expired"] == str(one(raw, "SELECT count(*) FROM decided WHERE kind = 'approval_expired'"))


def test_incidents_and_automatic_decisions(
    shared_refunds: EventStore, raw: "duckdb.DuckDBPyConnection"
) -> None:
    found = figures(shared_refunds, "incidents") | figures(shared_refunds, "automatic")

    def count(condition: str) -> str:
        return str(one(raw, f"SELECT count(*) FROM log WHERE {condition} AND {IN_PERIOD}"))

    assert found["runs ended"] == count("kind = 'terminal'")
    assert found["blocked"] == count("kind = 'terminal' AND body->>'outcome' = 'blocked'")
    assert found["budgets hit"] == count("body->>'reason' = 'max_steps_exceeded'")
    assert found["tool calls"] == count("kind IN ('tool_call', 'tool_error')")
    assert found["failed or refused"] == count("kind = 'tool_error'")
    assert found["effects failed"] == count("kind = 'approval_executed' AND body->>'code' IS NOT NULL")
    assert found["changes after approval"] == count("kind = 'approval_executed' AND body->>'code' IS NULL")
    assert found["changes by agents alone"] == count("kind = 'tool_started'")
    assert found["handed to a person"] == count("kind = 'terminal' AND body->>'outcome' = 'handed_off'")
    assert int(str(found["changes by agents alone"])) > 0


def test_tokens_and_cost(shared_refunds: EventStore, raw: "duckdb.DuckDBPyConnection") -> None:
    found = figures(shared_refunds, "versions")
    of_turns = f"FROM log WHERE kind = 'model_turn' AND {IN_PERIOD}"
    cost = one(raw, f"SELECT sum((body->>'cost_usd')::DECIMAL(18, 9)) {of_turns}")
    assert found["tokens sent"] == str(
        one(raw, f"SELECT sum((body->'usage'->>'tokens_in')::BIGINT) {of_turns}")
    )
    assert found["cost"] == f"{cost.normalize():f} USD"


def test_verdicts(shared_refunds: EventStore, raw: "duckdb.DuckDBPyConnection") -> None:
    found = figures(shared_refunds, "unsupported")
    doubtful = one(
        raw,
        "SELECT count(*) FROM log WHERE kind = 'terminal' AND "
        f"body->'provenance'->'verdicts'->>'/~1amount' = 'unsupported' AND {IN_PERIOD}",
    )
    assert found["unsupported"] == str(doubtful)
    report = make_report(shared_refunds, "unsupported", since=SINCE, until=UNTIL)
    assert [(row[5], row[6]) for row in report.section("arguments").rows] == [
        ("/amount", "unsupported")
    ] * doubtful
    assert doubtful > 0


def test_completeness_and_acts(shared_refunds: EventStore, raw: "duckdb.DuckDBPyConnection") -> None:
    report = make_report(shared_refunds, "completeness")
    found = {row[0]: row[1] for row in report.section("figures").rows}
    assert found["events"] == str(one(raw, "SELECT count(*) FROM raw"))
    ended = "SELECT run FROM raw WHERE kind = 'terminal'"
    open_runs = f"SELECT count(*) FROM raw WHERE kind = 'run_started' AND run NOT IN ({ended})"
    assert found["unfinished runs"] == str(one(raw, open_runs))
    assert found["takeovers"] == str(one(raw, "SELECT count(*) FROM raw WHERE kind = 'run_resumed'"))
    acts = make_report(shared_refunds, "access").section("acts")
    by_people = "kind IN ('run_resumed', 'approval_granted', 'approval_denied', 'approval_refused')"
    by_people += " OR (kind = 'terminal' AND body->>'actor' IS NOT NULL)"
    assert len(acts.rows) == one(raw, f"SELECT count(*) FROM raw WHERE {by_people}")
