"""Where a source is said to stand, it stands; and what lies after a place is not seen from it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.domain.events import Recorded
from tachograph.domain.why.argument import Source
from tachograph.domain.why.evidence import gather
from tachograph.domain.why.leaves import members, opened, parsed
from tachograph.domain.why.trace import in_order
from tachograph.domain.why.verdicts import Question, verdicts

from .evidence_story import NOON, RUN, Trace, found, said

VALUES = ["#W123456", "LL-10412", "Mia Li", "Mia", "Li", "49.90", "1,499.00", "May 20, 2024", " A-77120 "]
VALUES += [
    "2024-05-20T10:00:00Z",
    '{"id": "A-77120"}',
    '[1, {"a/b": "x~y9"}]',
    "credit_card_7447",
    "\u6797\u6653",
]
MESSAGE = "I am Mia Li: order #W123456 of May 20, 2024, 49.90 paid. And the day after?"

scalars = (
    st.none() | st.booleans() | st.integers(-999, 99_999) | st.text(max_size=12) | st.sampled_from(VALUES)
)
keys = st.text(max_size=4) | st.sampled_from(
    ["id", "amount", "first", "last", "currency", "a/b", "c~d", "x1", "0"]
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, max_size=4)


@given(objects, values)
@settings(max_examples=200)
def test_every_source_leads_to_the_text_that_it_quotes(arguments: dict[str, Any], output: Any) -> None:
    for argument in found(json.dumps(output)).start(("user", MESSAGE)).judged(json.dumps(arguments)).values():
        for source in [*argument.sources, *(one for part in argument.parts for one in part.sources)]:
            start, end = source.quoted
            assert source.quote[start:end] in [_cut(source, text) for text in _texts_at(source, output)]
        for part in argument.parts:
            assert argument.value[part.span[0] : part.span[1]] == part.value


def _cut(source: Source, text: str) -> str:
    start, end = source.span or (0, len(text))
    return text[start : min(end, start + source.quoted[1] - source.quoted[0])]


def _texts_at(source: Source, output: Any) -> list[str]:
    """Return the texts at a source's pointer: several where a key is doubled, or is a value too."""
    kind, *tokens = source.pointer.split("/")[1:]
    if kind == "output":
        return list(_resolved(parsed(json.dumps(output)), tokens))
    messages = {UUID(int=1): "Hello", UUID(int=2): MESSAGE}
    return [messages[source.run_id]] if kind == "input" else []


def _resolved(value: Any, tokens: list[str]) -> Iterator[str]:
    if not tokens:  # JSON in a text is a text all the same.
        yield from [value] if isinstance(value, str) else []
    value = opened(value)
    if not tokens:
        yield from [value] if isinstance(value, str) else []
    elif isinstance(value, list):
        for key, member in members(value):
            if str(key) == tokens[0].replace("~1", "/").replace("~0", "~"):
                yield from _resolved(member, tokens[1:])
                yield from [str(key)] if tokens[1:] == [] else []


steps = st.lists(
    st.tuples(objects, objects | st.lists(objects, max_size=3), st.sampled_from(VALUES)), min_size=1
)


@given(steps.map(lambda told: told[:4]), objects)
@settings(max_examples=100)
def test_a_call_is_judged_alike_whatever_comes_after_it(told: list[Any], asked: dict[str, Any]) -> None:
    trace = said(MESSAGE)
    so_far: list[Trace] = []
    for arguments, output, text in told:
        asking = trace.turn(("pay", arguments), text=text)
        so_far.append(asking)
        trace = asking.output(output)
    whole = gather(trace.start(("user", " ".join(VALUES))).events)
    for asking in so_far:
        known = gather(asking.events)
        before = known.turns[RUN, asking.step]
        assert whole.turns[RUN, asking.step] == before
        judged = verdicts(Question(whole, before), json.dumps(asked))
        assert judged == verdicts(Question(known, before), json.dumps(asked))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 5)), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_a_trace_has_one_order_however_its_runs_come_in(starts: list[Any], chance: Any) -> None:
    """Runs may start at one time, continue each other in a circle, or continue one that isn't there."""
    runs: dict[UUID, list[Recorded]] = {}
    for number, (seconds, continues) in enumerate(starts):
        run_id = UUID(int=number)
        told = said("Hello").turn(text="Hello to you")
        at = NOON + timedelta(seconds=seconds)
        started, turn = (entry.event.model_copy(update={"recorded_at": at}) for entry in told.events)
        started = started.model_copy(update={"continues": None if continues is None else UUID(int=continues)})
        runs[run_id] = [Recorded(run_id, version, event) for version, event in ((1, started), (2, turn))]
    order = in_order(runs)
    shuffled = list(runs)
    chance.shuffle(shuffled)
    assert in_order({run_id: runs[run_id] for run_id in shuffled}) == order
    for run_id, entries in runs.items():
        assert [entry for entry in order if entry.run_id == run_id] == entries
