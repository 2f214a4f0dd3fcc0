"""`metrics`: what the record says, for Prometheus, with few labels whatever stands in it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tachograph import open_store
from tachograph.adapters.exporters.prometheus import LABELS_MAX
from tachograph.adapters.stores.memory import MemoryEventStore
from tachograph.domain.budget import Usage
from tachograph.domain.events import Event
from tachograph.domain.origins import Attempt, Fork
from tachograph.domain.ports import EventStore
from tachograph.domain.recorded_event import Settlement
from tachograph.tests.approvals.desk import Desk
from tachograph.tests.cli.program import PROGRAM, Call, call_program
from tachograph.tests.conftest import PostgresServer
from tachograph.tests.read_side.conftest import OpenReadSide, opened
from tachograph.tests.read_side.stories import (
    append,
    append_foreign,
    begun,
    ended,
    failure,
    fill,
    refund_run,
    result,
    resumed,
    run_id,
    started,
    turn,
)

__all__ = ["opened"]

Samples = dict[str, float]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACHOGRAPH_STORE", raising=False)
    return call_program


def samples(text: str) -> Samples:
    """Every sample by its name and labels, as Prometheus's own parser reads it."""
    return {
        f"{sample.name}{json.dumps(sample.labels, sort_keys=True) if sample.labels else ''}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def metrics(url: str) -> Samples:
    told = call_program("metrics", "--store", url)
    assert (told.code, told.err) == (0, "")
    return samples(told.out)


def of(found: Samples, name: str) -> Samples:
    """The samples of one metric, by their labels."""
    return {key.removeprefix(name): value for key, value in found.items() if re.match(rf"{name}(\{{|$)", key)}


class TestWhatIsCounted:
    def test_runs_turns_tokens_cost_calls_and_errors(self, database_url: str, database: EventStore) -> None:
        usage = Usage(tokens_in=900, tokens_out=40, tokens_cached=512)
        cost = Decimal("0.001234567")
        busy = (Attempt(error="busy", paused_ms=1), Attempt(error="busy", paused_ms=1))
        append(database, run_id(1), refund_run())
        append(
            database,
            run_id(2),
            [
                started(tenant="bank"),
                turn(1, model_asked="openai:gpt-5.2", usage=usage, cost_usd=cost, attempts=busy),
                result("1.1"),
                turn(2, model_asked="openai:gpt-5.2", usage=usage, cost_usd=cost),
                failure("2.1", code="unknown_tool", name="invented"),
                ended("blocked", reason="max_steps_exceeded"),
            ],
        )
        append(database, run_id(3), [started(agent="clerk")])
        found = metrics(database_url)
        agent = '"agent": "refund"'
        assert of(found, "tachograph_runs_started_total") == {'{"agent": "clerk"}': 1, f"{{{agent}}}": 2}
        assert of(found, "tachograph_runs_open") == {'{"agent": "clerk"}': 1, f"{{{agent}}}": 0}
        assert of(found, "tachograph_runs_ended_total") == {
            f'{{{agent}, "outcome": "answered"}}': 1,
            f'{{{agent}, "outcome": "blocked"}}': 1,
        }
        assert of(found, "tachograph_runs_blocked_total") == {
            f'{{{agent}, "reason": "max_steps_exceeded"}}': 1
        }
        gpt = f'{agent}, "model": "openai:gpt-5.2"'
        assert of(found, "tachograph_model_turns_total") == {
            f'{{{agent}, "model": "scripted"}}': 2,
            f"{{{gpt}}}": 2,
        }
        assert of(found, "tachograph_tokens_total") == {
            f'{{{gpt}, "type": "input"}}': 1800,
            f'{{{gpt}, "type": "output"}}': 80,
            f'{{{gpt}, "type": "cached_input"}}': 1024,
        }
        assert of(found, "tachograph_cost_usd_total") == {f"{{{gpt}}}": pytest.approx(0.002469134, abs=1e-12)}
        assert of(found, "tachograph_model_retries_total") == {f"{{{gpt}}}": 2}
        assert of(found, "tachograph_tool_calls_total") == {f'{{{agent}, "tool": "order_read"}}': 2}
        assert of(found, "tachograph_tool_errors_total") == {
            f'{{{agent}, "code": "timed_out"}}': 1,
            f'{{{agent}, "code": "unknown_tool"}}': 1,
        }
        assert found["tachograph_store_up"] == 1

    def test_what_a_fork_shares_is_counted_once(self, database_url: str, database: EventStore) -> None:
        story = refund_run()
        append(database, run_id(1), story)
        fork = started(forked_from=run_id(1), fork=Fork(version=4))
        append(database, run_id(2), [fork, *story[1:4], turn(2, calls=0), ended()])
        found = metrics(database_url)
        assert sum(of(found, "tachograph_model_turns_total").values()) == 3
        assert sum(of(found, "tachograph_tool_calls_total").values()) == 1
        assert sum(of(found, "tachograph_tool_errors_total").values()) == 1

    def test_the_lag_is_what_was_found_and_is_gone_at_the_next_reading(
        self, database_url: str, database: EventStore
    ) -> None:
        fill(database, 2)
        append_foreign(database, database_url, run_id(1), 7, "from_the_future", b"{}")
        lag = {
            f'{{"view": "{name}"}}': 13
            for name in ("approvals", "facts", "metrics", "runs", "step_counts", "timeline")
        }
        assert of(metrics(database_url), "tachograph_projection_lag") == lag
        after = metrics(database_url)
        assert of(after, "tachograph_projection_lag") == dict.fromkeys(lag, 0)
        assert after['tachograph_projection_quarantined{"view": "runs"}'] == 1
        assert after["tachograph_store_position"] >= 13


class TestInDoubt:
    def test_calls_without_a_known_outcome_by_their_state(
        self, database_url: str, database: EventStore
    ) -> None:
        settled = Settlement(actor="ann", reason="the bank says so")
        unknown = failure("1.1", code="outcome_unknown")
        opening: list[Event] = [started(), turn(1), begun("1.1")]
        append(database, run_id(1), opening)
        append(database, run_id(2), [*opening, resumed(), unknown])
        append(database, run_id(3), [*opening, resumed(), unknown, result("1.1", settled=settled)])
        append(database, run_id(4), [*opening, ended("blocked", reason="cancelled")])
        append(database, run_id(5), [*opening, result("1.1")])
        assert of(metrics(database_url), "tachograph_calls_in_doubt") == {
            '{"state": "started"}': 1,
            '{"state": "outcome_unknown"}': 1,
        }
        listed = call_program("runs", "--in-doubt", "--json", "--store", database_url).jsons
        assert len(listed) == 2

    def test_effects_of_approvals_are_among_them(self, opened: OpenReadSide) -> None:
        store = MemoryEventStore()
        desk = Desk(store)
        desk.only_answers(desk.asks())
        side = opened(store)
        side.catch_up()
        assert side.in_doubt() == {"started": 1, "outcome_unknown": 0}


class TestHostile:
    def test_labels_stay_few_and_counters_never_go_back(
        self, database_url: str, database: EventStore
    ) -> None:
        append(database, run_id(1), [started(), turn(1, calls=300)])
        calls = [result(f"1.{number}", name=f"tool_{number}") for number in range(1, 301)]
        append(database, run_id(1), calls[:200], 2)
        before = of(metrics(database_url), "tachograph_tool_calls_total")
        append(database, run_id(1), [*calls[200:], *(calls[150] for _ in range(50))], 202)
        after = of(metrics(database_url), "tachograph_tool_calls_total")
        assert len(before) == len(after) == LABELS_MAX + 1
        assert {labels: after[labels] for labels in before if "other" not in labels} == {
            labels: number for labels, number in before.items() if "other" not in labels
        }
        other = '{"agent": "refund", "tool": "other"}'
        assert (before[other], after[other]) == (100, 250)

    def test_any_text_is_a_plain_line_that_the_parser_reads(self, shared_data: Path, sqlite_url: str) -> None:
        corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
        texts = [text for kind, of_kind in corpus.items() if kind != "source" for text in of_kind]
        store = open_store(sqlite_url)
        for number, text in enumerate(texts, start=1):
            name = text.encode("utf-8", "replace").decode()
            story: list[Event] = [started(agent=name), turn(1, model_asked=name), result("1.1", name=name)]
            append(store, run_id(number), [*story, ended("blocked", reason=name)])
        store.close()
        told = call_program("metrics", "--store", sqlite_url)
        assert told.code == 0
        assert all(line.isprintable() for line in told.out.split("\n"))
        assert sum(of(samples(told.out), "tachograph_runs_started_total").values()) == len(texts)
        machine = call_program("metrics", "--store", sqlite_url, "--json")
        assert re.fullmatch(r"[ -~\n]*", machine.out)

    def test_numbers_that_no_provider_counts_do_not_stop_the_counting(
        self, database_url: str, database: EventStore
    ) -> None:
        usage = Usage(tokens_in=10**30, tokens_out=2**63 - 1)
        turns = [turn(step, calls=0, usage=usage, cost_usd=Decimal("1E+80")) for step in range(1, 20)]
        append(database, run_id(1), [started(), *turns, ended()])
        found = metrics(database_url)
        assert sum(of(found, "tachograph_model_turns_total").values()) == 19
        assert sum(of(found, "tachograph_projection_quarantined").values()) == 0


class TestCommand:
    def test_machines_get_a_sample_a_line(self, call: Call) -> None:
        call("demo")
        lines = call("metrics", "--json").jsons
        assert {"name": "tachograph_store_up", "labels": {}, "value": 1} in lines
        turns = {"agent": "refund", "model": "scripted"}
        assert {"name": "tachograph_model_turns_total", "labels": turns, "value": 4} in lines

    def test_an_empty_store_has_metrics_too(self, call: Call) -> None:
        call("db", "init")
        found = samples(call("metrics").out)
        assert (found["tachograph_store_up"], found["tachograph_store_position"]) == (1, 0)

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (("--store", "sqlite:///none.db"), 3, "there is no store at none.db"),
            (("--store", "sqlite:///none.db", "--serve", "0"), 3, "there is no store at none.db"),
            (("--serve", "nine"), 2, "'nine' is no address: give PORT or HOST:PORT."),
            (("--serve", "1:2:70000"), 2, "is no address"),
            (("--serve", ""), 2, "is no address"),
        ],
    )
    def test_what_cannot_be_done(self, call: Call, words: tuple[str, ...], code: int, said: str) -> None:
        call("db", "init")
        told = call("metrics", *words)
        assert (told.code, told.out) == (code, "")
        assert said in told.err

    def test_without_the_extra_it_says_what_to_install(
        self, call: Call, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "prometheus_client", None)
        call("db", "init")
        told = call("metrics")
        assert (told.code, told.err) == (
            3,
            "Error: this needs more packages: pip install 'tachograph[metrics]'\n",
        )

    def test_a_role_that_only_reads_shows_what_others_have_caught_up(
        self, postgres_schema_url: str, postgres_server: PostgresServer
    ) -> None:
        postgres_server.execute("CREATE ROLE scraper LOGIN")
        store = open_store(postgres_schema_url)
        try:
            fill(store, 2)
            metrics(postgres_schema_url)
            fill(store, 1, first=3)
            schema = postgres_schema_url.rpartition("=")[2]
            postgres_server.execute(f"GRANT USAGE ON SCHEMA {schema} TO scraper")
            postgres_server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO scraper")
            found = metrics(postgres_schema_url.replace("postgres:@", "scraper:@"))
            assert sum(of(found, "tachograph_runs_started_total").values()) == 2
            assert found['tachograph_projection_lag{"view": "runs"}'] == 6
        finally:
            store.close()
            postgres_server.execute("DROP OWNED BY scraper")
            postgres_server.execute("DROP ROLE scraper")


class TestServing:
    def test_each_reading_is_of_now_until_it_is_ended(self, call: Call) -> None:
        call("demo")
        with serving() as (url, process):
            first = samples(read(url))
            call("demo")
            second = samples(read(url))
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=20)
        started_total = 'tachograph_runs_started_total{"agent": "refund"}'
        assert (first[started_total], second[started_total]) == (1, 2)
        assert (process.returncode, told) == (143, "Interrupted.\n")

    def test_a_store_that_goes_is_down_and_comes_back(self, call: Call, tmp_path: Path) -> None:
        call("demo")
        with serving() as (url, process):
            (tmp_path / "tachograph.db").rename(tmp_path / "away.db")
            down = samples(read(url))
            (tmp_path / "away.db").rename(tmp_path / "tachograph.db")
            up = samples(read(url))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=20)
        assert down == {"tachograph_store_up": 0}
        assert up["tachograph_store_up"] == 1
        assert (process.returncode, told.count("Error: there is no store at")) == (130, 1)
        assert "Traceback" not in told

    def test_a_port_that_is_taken_could_not_be_done(self, call: Call) -> None:
        call("demo")
        with serving() as (url, process):
            told = call("metrics", "--serve", url.rpartition(":")[2].partition("/")[0])
            process.terminate()
            process.communicate(timeout=20)
        assert (told.code, told.out) == (3, "")
        assert "in use" in told.err


@contextmanager
def serving() -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The program that serves metrics on a free port."""
    process = subprocess.Popen(
        [*PROGRAM, "metrics", "--serve", "0"], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield found[0], process
    finally:
        process.kill()
        process.communicate()


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        body: bytes = answer.read()
    return body.decode()
