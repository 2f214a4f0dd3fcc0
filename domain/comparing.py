"""What differs between two runs, step by step."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from tachograph.domain.events import ToolCall
from tachograph.domain.run import RunState, Step


@dataclass(frozen=True, slots=True)
class Difference:
    """
    One thing that differs.

    Args:
        step: None for the input and the end of the runs.
        what: `input`, `text`, `call 2.1`, `result 2.1`, `outcome`, `verdict /amount`, `cost_usd`, ...
        one, other: What each run has; None for nothing.
    """

    step: int | None
    what: str
    one: str | None
    other: str | None


def differences(one: RunState, other: RunState) -> list[Difference]:
    """Return what differs between two runs: their input, their steps in order, their ends."""
    pairs: list[tuple[int | None, str, str | None, str | None]] = [
        (None, "agent", one.started.agent, other.started.agent),
        (None, "definition", one.started.definition_digest, other.started.definition_digest),
        (None, "input", _input(one), _input(other)),
    ]
    for number, (first, second) in enumerate(zip_longest(one.steps, other.steps), start=1):
        pairs += ((number, *pair) for pair in _of_step(first, second))
    pairs += ((None, *pair) for pair in _of_end(one, other))
    return [Difference(*pair) for pair in pairs if pair[2] != pair[3]]


def _input(run: RunState) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in run.started.input)


def _of_step(one: Step | None, other: Step | None) -> Iterator[tuple[str, str | None, str | None]]:
    yield "turn", None if one is None else "there", None if other is None else "there"
    if one is None or other is None:
        return
    yield "model", one.turn.model_asked, other.turn.model_asked
    yield "text", one.turn.text, other.turn.text
    yield "refusal", one.turn.refusal, other.turn.refusal
    for first, second in zip_longest(one.turn.calls, other.turn.calls):
        key = (first or second).call_key
        yield (
            f"call {key}",
            f"{first.name} {first.arguments or ''}" if first else None,
            f"{second.name} {second.arguments or ''}" if second else None,
        )
    keys = dict.fromkeys(result.call_key for result in (*one.results, *other.results))
    for key in keys:
        yield f"result {key}", _result(one, key), _result(other, key)


def _result(step: Step, key: str) -> str | None:
    for result in step.results:
        if result.call_key == key:
            return result.output if isinstance(result, ToolCall) else f"{result.code}: {result.message}"
    return None


def _of_end(one: RunState, other: RunState) -> Iterator[tuple[str, str | None, str | None]]:
    first, second = one.terminal, other.terminal
    yield "outcome", first.outcome if first else None, second.outcome if second else None
    if first and second:
        yield "reason", first.reason, second.reason
        yield "tool", first.tool, second.tool
        yield "arguments", first.arguments, second.arguments
        verdicts = [end.provenance.verdicts if end.provenance else {} for end in (first, second)]
        for pointer in dict.fromkeys([*verdicts[0], *verdicts[1]]):
            yield f"verdict {pointer}", verdicts[0].get(pointer), verdicts[1].get(pointer)
    for name in ("tokens_in", "tokens_out", "cost_usd"):
        yield name, _total(one, name), _total(other, name)


def _total(run: RunState, name: str) -> str | None:
    value = getattr(run.totals, name)
    return None if value is None else str(value)
