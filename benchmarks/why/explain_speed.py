"""
How long it takes to index a trace and to answer, and how much room the index takes.

    python benchmarks/why/explain_speed.py [--megabytes 1]

A trace of 100 events: one run of 49 searches with the stated amount of output in all, rows of orders with
amounts, dates, names and notes, and a call with twelve arguments, some of them made up.
"""

import argparse
import json
import random
import statistics
import time
import tracemalloc
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from tachograph.domain.budget import Budget
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import CallRequest, Event, ModelTurn, Recorded, RunStarted, ToolCall
from tachograph.domain.origins import Message
from tachograph.domain.why.evidence import gather
from tachograph.domain.why.explaining import explain
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.domain.why.verdicts import Question, verdicts

SEARCHES = 49
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
RUN = UUID(int=1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--megabytes", type=float, default=1)
    options = parser.parse_args()
    recorded, characters, arguments = trace(int(options.megabytes * 1_000_000))
    started = time.perf_counter()
    indexed = IndexedTrace(recorded)
    indexed_s = time.perf_counter() - started
    question = Question(indexed.evidence, indexed.evidence.turns[RUN, SEARCHES + 1])
    judged_ms = [timed_ms(lambda: verdicts(question, arguments)) for _ in range(20)]
    keys = [f"{step}.1" for step in range(30, SEARCHES + 2)]
    answered_ms = [timed_ms(partial(explain, indexed, RUN, key)) for key in keys]
    tracemalloc.start()
    kept_evidence = gather(recorded)
    kept, peak = tracemalloc.get_traced_memory()
    print(f"{len(recorded)} events, {characters:,} characters of output, {kept_evidence.events} indexed")
    print(f"fold and index once   {indexed_s:.2f} s")
    print(f"judge 12 arguments    {statistics.median(judged_ms):.1f} ms (highest {max(judged_ms):.1f})")
    print(f"whole answer          {statistics.median(answered_ms):.1f} ms (highest {max(answered_ms):.1f})")
    print(
        f"memory                {kept / characters:.1f} times the text, {peak / characters:.1f} at its peak"
    )


def timed_ms(work: object) -> float:
    """Return how long a function takes, in milliseconds."""
    assert callable(work)
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def trace(characters: int) -> tuple[list[Recorded], int, str]:
    """Return the events of a run, the characters of its outputs, and the last call's arguments."""
    chance = random.Random(20261201)
    said = Message(role="user", content="Refund order #W1234567, please: 49.90, it came on May 20.")
    events: list[Event] = [
        RunStarted(
            recorded_at=NOON,
            agent="speed",
            agent_version="1",
            definition_digest="-",
            catalogue_digest="-",
            context=TrustedContext(trace_id="speed"),
            input=(said,),
            budget=Budget(max_steps=SEARCHES + 1),
            owner="-",
        )
    ]
    size, rows = 0, [row(chance)]
    for step in range(1, SEARCHES + 1):
        rows = [row(chance) for _ in range(max(1, characters // SEARCHES // 245))]
        output = json.dumps(rows)
        size += len(output)
        asked = json.dumps({"order_id": rows[0]["order_id"], "limit": 5})
        events += [turn(step, "search", asked)]
        events += [
            ToolCall(
                recorded_at=NOON,
                call_key=f"{step}.1",
                name="search",
                arguments=asked,
                output=output,
                duration_ms=1,
            )
        ]
    arguments = json.dumps(
        {
            "order_id": rows[-1]["order_id"],
            "amount": rows[-1]["amount"],
            "name": "Mia Li",
            "quantity": 3,
            "date": "2026-05-20",
            "explanation": "Mia wants 49.90 back for order #W1234567, which came on 2026-05-20.",
            "made_up": {
                "id": "#W0000001x",
                "card": "credit_card_8882221",
                "amount": 12345.67,
                "text": "no such",
            },
            "more": ["17.031", "1,499.00"],
        }
    )
    events.append(turn(SEARCHES + 1, "request_refund", arguments))
    return [Recorded(RUN, version, event) for version, event in enumerate(events, 1)], size, arguments


def turn(step: int, tool: str, arguments: str) -> ModelTurn:
    """Return a turn with one call."""
    return ModelTurn(
        recorded_at=NOON,
        step=step,
        model_asked="-",
        request_digest="-",
        calls=(CallRequest(call_key=f"{step}.1", name=tool, arguments=arguments),),
        finish_reason="tool_calls",
        latency_ms=0,
    )


def row(chance: random.Random) -> dict[str, object]:
    """Return an order as a search would."""
    names = {"first_name": chance.choice(["Mia", "Ivan", "Noah"]), "last_name": chance.choice(["Li", "Ito"])}
    return {
        "order_id": f"#W{chance.randrange(10**7):07}",
        "user": {**names, "email": f"u{chance.randrange(10**5)}@example.com"},
        "amount": round(chance.random() * 1000, 2),
        "quantity": chance.randrange(10),
        "placed_at": f"2026-0{chance.randrange(1, 9)}-1{chance.randrange(10)}T10:00:00",
        "note": f"delivered to the door on May {chance.randrange(1, 30)}, all fine and well",
    }


if __name__ == "__main__":
    main()
