"""Values and texts on their way through the loop into each store and back to the model."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ValidationError

from tachograph import open_store
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.running import run
from tachograph.domain.events import ModelTurn, RunStarted
from tachograph.domain.origins import Message
from tachograph.domain.ports import AskedCall, EventStore, ModelReply

from .story import CONTEXT, DONE, TickingClock, agent, ask, called, probe, tell, turn

RUN = UUID("00000000-0000-7000-8000-00000000000a")


class Size(Enum):
    SMALL = "S"


class Point(NamedTuple):
    x: int
    y: int


class Item(BaseModel):
    name: str
    price: Decimal


@pytest.mark.parametrize(
    ("make", "output"),
    [
        pytest.param(lambda: None, "null", marks=pytest.mark.case("C031")),
        pytest.param(lambda: "", '""', marks=pytest.mark.case("C031")),
        pytest.param(list, "[]", marks=pytest.mark.case("C031")),
        pytest.param(dict, "{}", marks=pytest.mark.case("C031")),
        pytest.param(lambda: float("nan"), '{"$float":"NaN"}', marks=pytest.mark.case("C010")),
        pytest.param(
            lambda: {"days_left": float("inf"), "since": float("-inf")},
            '{"days_left":{"$float":"Infinity"},"since":{"$float":"-Infinity"}}',
            marks=pytest.mark.case("C010"),
        ),
        pytest.param(
            lambda: {"days_left": {"$float": "Infinity"}},
            '{"days_left":{"$literal":{"$float":"Infinity"}}}',
            marks=pytest.mark.case("C010"),
        ),
        pytest.param(
            lambda: {"big": 9223372036854775808},
            '{"big":9223372036854775808}',
            marks=pytest.mark.case("C014"),
        ),
        pytest.param(lambda: -(2**200), str(-(2**200)), marks=pytest.mark.case("C014")),
        pytest.param(
            lambda: {"requested_at": datetime(2026, 3, 31, 10, tzinfo=timezone(timedelta(hours=2)))},
            '{"requested_at":"2026-03-31T10:00:00+02:00"}',
            marks=pytest.mark.case("C020"),
        ),
        pytest.param(
            lambda: [datetime(2026, 3, 31, 10, tzinfo=UTC), date(2026, 3, 31), time(10, 0)],
            '["2026-03-31T10:00:00+00:00","2026-03-31","10:00:00"]',
            marks=pytest.mark.case("C020"),
        ),
        pytest.param(
            lambda: datetime(2026, 3, 31, 10), '"2026-03-31T10:00:00"', marks=pytest.mark.case("C021")
        ),
        pytest.param(
            lambda: {"tags": {"vip", "gold", "new"}},
            '{"tags":["gold","new","vip"]}',
            marks=pytest.mark.case("C023"),
        ),
        pytest.param(lambda: {"total": Decimal("19.90")}, '{"total":19.90}', marks=pytest.mark.case("C024")),
        pytest.param(
            lambda: [Decimal("0.10000000000000000000001"), Decimal("1E+3"), Decimal("-0.0")],
            "[0.10000000000000000000001,1E+3,-0.0]",
            marks=pytest.mark.case("C024"),
        ),
        pytest.param(lambda: 0.1 + 0.2, "0.30000000000000004", id="float"),
        pytest.param(lambda: b"\x00\xff", '{"$bytes":"AP8="}', id="bytes"),
        pytest.param(lambda: (1, [True, None]), "[1,[true,null]]", id="tuple"),
        pytest.param(lambda: {UUID(int=5): Size.SMALL}, f'{{"{UUID(int=5)}":"S"}}', id="uuid and enum"),
        pytest.param(lambda: Point(1, 2), '{"x":1,"y":2}', id="named tuple"),
        pytest.param(
            lambda: Item(name="cap", price=Decimal("5.00")), '{"name":"cap","price":5.00}', id="model"
        ),
        pytest.param(lambda: PurePosixPath("/a/b"), '"/a/b"', id="path"),
        pytest.param(lambda: timedelta(seconds=1, microseconds=5), "1.000005", id="timedelta"),
        pytest.param(
            lambda: "ok \ud83d", '"ok \\ud83d"', id="lone surrogate", marks=pytest.mark.case("C004")
        ),
        pytest.param(lambda: "line\u2028separator", '"line\u2028separator"', id="U+2028"),
        pytest.param(
            lambda: {"note": "gift card\0 balance"},
            '{"note":"gift card\\u0000 balance"}',
            marks=pytest.mark.case("C001"),
        ),
        pytest.param(
            lambda: {"literal": "\\u0000 is six characters", "real": "\0"},
            '{"literal":"\\\\u0000 is six characters","real":"\\u0000"}',
            marks=pytest.mark.case("C003"),
        ),
    ],
)
def test_a_tools_value_has_one_form_on_every_store_and_the_model_sees_it(
    store: EventStore, make: Callable[[], Any], output: str
) -> None:
    told = called(store, probe(make))
    assert told.output == output
    assert told.shown == [(output, False)]


def test_json_text_reads_back_as_the_value(store: EventStore) -> None:
    value = {
        "note": "gift card\0 balance",
        "literal": "\\u0000",
        "n": [1, 2.5, None, True],
        "é": "\U0001f600",
    }
    assert json.loads(called(store, probe(lambda: value)).output) == value


@pytest.mark.case("C002")
def test_C002_a_utf_16_file_read_as_latin_1_is_kept_with_its_nuls(store: EventStore) -> None:
    text = bytes.fromhex("52006500660075006e0064002000").decode("latin-1")
    assert json.loads(called(store, probe(lambda: text)).output) == text


@pytest.mark.case("C004")
class TestLoneSurrogates:
    """UTF-8 can't hold them: replaced in what the model said, and noted so that it can be put back."""

    def test_C004_in_the_text_of_a_turn(self, store: EventStore) -> None:
        told = tell(store, agent(), turn(ask("answer_user", text="Done."), text="ok \ud83d"))
        said = told.events[1]
        assert isinstance(said, ModelTurn)
        assert (said.text, said.altered) == ("ok \ufffd", ("text: U+D83D at 3 replaced",))
        assert told.outcome is not None
        assert told.outcome.outcome == "answered"

    def test_C004_in_every_field_that_comes_from_the_model(self, store: EventStore) -> None:
        broken = "x\udc00"
        reply = ModelReply(
            text=broken,
            calls=(AskedCall(broken, f'{{"a":"{broken}"}}', broken),),
            finish_reason="tool_calls",
            finish_reason_raw=broken,
            model=broken,
            response_id=broken,
            provider_state=broken,
        )
        told = tell(store, agent(), reply, DONE)
        said = told.events[1]
        assert isinstance(said, ModelTurn)
        assert said.altered is not None
        assert {note.partition(":")[0] for note in said.altered} == {
            "text",
            "calls.0.name",
            "calls.0.arguments",
            "calls.0.provider_id",
            "finish_reason_raw",
            "model_answered",
            "response_id",
            "provider_state",
        }
        assert told.error.code == "unknown_tool"

    def test_C004_in_what_the_customer_said(self, store: EventStore) -> None:
        told = tell(store, agent(), DONE, input="half \ud83d an emoji")
        started = told.events[0]
        assert isinstance(started, RunStarted)
        assert started.input == (Message(role="user", content="half \ufffd an emoji"),)
        assert started.altered == ("input.0: U+D83D at 5 replaced",)


@pytest.mark.case("C021")
class TestTimes:
    def test_C021_a_clock_without_a_time_zone_is_refused_and_nothing_is_stored(
        self, store: EventStore
    ) -> None:
        class Naive(TickingClock):
            def now(self) -> datetime:
                return super().now().replace(tzinfo=None)

        head = store.head()
        with pytest.raises(ValidationError):
            asyncio.run(
                run(agent(), "Help.", CONTEXT, model=ScriptedModel([DONE]), store=store, clock=Naive())
            )
        assert store.head() == head

    def test_C021_stored_times_come_back_aware_and_in_utc(self, store: EventStore) -> None:
        told = tell(store, agent(), DONE)
        assert {event.recorded_at.utcoffset() for event in told.events} == {timedelta(0)}


@pytest.mark.case("C001")
def test_C001_the_same_run_gives_the_same_bytes_on_every_store(
    sqlite_url: str, postgres_schema_url: str
) -> None:
    """Given the same answers of clock, ids and model."""
    outputs = [
        {"note": "gift card\0 balance", "at": datetime(2026, 3, 31, tzinfo=UTC)},
        "x" * 3_000,
        {"gold", "vip"},
        base64.b64decode("AP8="),
        Decimal("19.90"),
        ValueError("boom"),
    ]

    def next_output() -> Any:
        output = remaining.pop(0)
        if isinstance(output, Exception):
            raise output
        return output

    found = []
    for url in ("memory:", sqlite_url, postgres_schema_url):
        store, remaining = open_store(url), list(outputs)
        clerk = agent(probe(next_output, effect="once"))
        told = tell(store, clerk, *[turn(ask("probe"), text="One more.")] * 5, DONE, run_id=RUN)
        assert told.outcome is not None
        assert told.outcome.outcome == "answered"
        found.append(raw_rows(store, url))
        store.close()
    memory, sqlite, postgres = found
    assert [(version, kind) for version, kind, _ in memory[:5]] == [
        (1, "run_started"),
        (2, "model_turn"),
        (3, "tool_started"),
        (4, "tool_call"),
        (5, "model_turn"),
    ]
    assert memory == sqlite == postgres


Row = tuple[int, str, bytes]


def raw_rows(store: Any, url: str) -> list[Row]:
    """The rows of the one run, as the recorder has them."""
    if url == "memory:":
        return [(version, kind, state) for run_id, version, kind, state in store._log if run_id == RUN]
    rows = store._log.recorder.select_events(RUN)
    return [(row.originator_version, row.topic, row.state) for row in rows]


SETS = """
import asyncio, hashlib
from uuid import UUID
from pydantic import BaseModel
from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, run, tool
from tachograph.domain.ports import AskedCall, ModelReply

class Nothing(BaseModel): pass
class Answer(BaseModel): text: str

@tool(effect="read")
def tags(arguments: Nothing) -> object:
    "Tags."
    return {"tags": {"vip", "gold", "new", 3, 2.5, None}, "pairs": {frozenset({"a", "b"}), frozenset({"c"})}}

agent = Agent("clerk", "1", "Help.", (TerminalTool("answer_user", "Answer.", Answer, "answered"),), (tags,))
model = ScriptedModel([
    ModelReply(calls=(AskedCall("tags"),), finish_reason="tool_calls"),
    ModelReply(calls=(AskedCall("answer_user", '{"text":"Done."}'),), finish_reason="tool_calls"),
])
store = open_store("memory:")
outcome = asyncio.run(run(agent, "Help.", TrustedContext(trace_id="t"), model=model, store=store))
turns = [entry.event for entry in store.read(outcome.run_id)]
print(agent.definition_digest, turns[1].request_digest, turns[2].output, turns[3].request_digest)
"""


@pytest.mark.case("C023")
def test_C023_sets_and_digests_do_not_depend_on_the_hash_seed() -> None:
    printed = set()
    for seed in ("0", "1", "77"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SETS], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        printed.add(done.stdout)
    assert len(printed) == 1
    assert '{"tags":["gold","new","vip",2.5,3,null],"pairs":[["a","b"],["c"]]}' in printed.pop()
