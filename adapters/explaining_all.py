"""The verdicts of all calls of many runs, trace by trace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from tachograph.adapters.collector import collector_paused
from tachograph.adapters.explaining import read_runs
from tachograph.domain.errors import CorruptRun
from tachograph.domain.ports import EventStore
from tachograph.domain.why.argument import Argument, Number, Verdict
from tachograph.domain.why.explaining import explain
from tachograph.domain.why.explanation import Explanation
from tachograph.domain.why.indexed import IndexedTrace

WITHOUT: frozenset[Verdict] = frozenset({"unsupported", "not_searched"})


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value without evidence: of which call, where in its arguments, and what is missing."""

    call_key: str | None
    tool: str | None
    pointer: str
    value: str
    verdict: Verdict
    why: str | None


@dataclass(frozen=True, slots=True)
class Explained:
    """
    What the arguments of a run's calls rest on.

    Args:
        verdicts: How many arguments of all its calls have which.
        broken: Why the trace can't be explained; then there is nothing else.
    """

    run_id: UUID
    outcome: str | None
    tool: str | None
    verdicts: dict[str, int]
    doubts: tuple[Doubt, ...]
    digest: str
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainTraces:
    """Explains portions of a store's traces, here or elsewhere."""

    def __call__(self, store: EventStore, portion: Sequence[tuple[UUID, ...]]) -> list[tuple[Explained, ...]]:
        """Return what was found for the runs of each trace of a portion."""
        return [tuple(_of_trace(store, run_ids)) for run_ids in portion]


def _of_trace(store: EventStore, run_ids: Sequence[UUID]) -> Iterator[Explained]:
    with collector_paused():
        try:
            trace = IndexedTrace(read_runs(store, run_ids))
        except CorruptRun as exc:
            for run_id in run_ids:
                yield Explained(run_id, None, None, {}, (), "", str(exc))
            return
        for run_id in run_ids:
            yield _of_run(explain(trace, run_id))


def _of_run(explanation: Explanation) -> Explained:
    verdicts: dict[str, int] = {}
    doubts: list[Doubt] = []
    calls: list[tuple[str | None, str | None, Sequence[Argument]]] = [
        (call.call_key, call.tool, call.arguments) for call in explanation.calls
    ]
    calls.append((explanation.call_key, explanation.tool, explanation.arguments))
    for call_key, tool, arguments in calls:
        for argument in arguments:
            verdicts[argument.verdict] = verdicts.get(argument.verdict, 0) + 1
            doubts += _doubts(call_key, tool, argument)
    return Explained(
        explanation.run_id,
        explanation.outcome,
        explanation.tool,
        dict(sorted(verdicts.items())),
        tuple(doubts),
        explanation.digest,
    )


def _doubts(call_key: str | None, tool: str | None, argument: Argument) -> Iterator[Doubt]:
    if argument.verdict in WITHOUT:
        value = argument.value.lexeme if isinstance(argument.value, Number) else str(argument.value)
        yield Doubt(call_key, tool, argument.pointer, value, argument.verdict, argument.why)
    for part in argument.parts:
        if part.verdict in WITHOUT:
            why = "stands in the text, and in no evidence before the call"
            yield Doubt(call_key, tool, argument.pointer, part.value, part.verdict, why)
