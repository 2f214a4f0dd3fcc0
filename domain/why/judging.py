"""Judge a call by what the model could know: the runs that it continues, and its own up to now."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tachograph.domain.events import Event, Recorded
from tachograph.domain.run import RunState
from tachograph.domain.why.argument import Argument
from tachograph.domain.why.evidence import gather
from tachograph.domain.why.verdicts import Question, verdicts

JUDGED_BY: Final = 1  # The version of the rules in `verdicts`.


def judge(runs: Sequence[RunState], arguments: str, declared: Mapping[str, str]) -> tuple[Argument, ...]:
    """
    Judge every leaf of the arguments of a call that the last run's last turn asks for.

    Args:
        runs: Oldest first; the open one last. Versions in the sources count without takeovers.
        arguments: JSON text.
        declared: What the tool says of its arguments, by pointer.
    """
    evidence = gather(
        Recorded(run.run_id, version, event)
        for run in runs
        for version, event in enumerate(_events(run), start=1)
    )
    last = runs[-1]
    before = evidence.turns[last.run_id, last.steps[-1].turn.step]
    return verdicts(Question(evidence, before, declared), arguments)


def _events(run: RunState) -> Iterator[Event]:
    yield run.started
    for step in run.steps:
        yield step.turn
        yield from step.started
        yield from step.results
