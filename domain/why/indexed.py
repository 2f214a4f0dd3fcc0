"""A trace, read and indexed once."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from tachograph.domain.errors import CallNotFound
from tachograph.domain.events import CallRequest, Recorded, ToolCall
from tachograph.domain.run import RunState, Step, fold
from tachograph.domain.why.argument import Argument
from tachograph.domain.why.evidence import gather
from tachograph.domain.why.verdicts import Question, verdicts


class IndexedTrace:
    """
    A trace ready to be asked any number of questions: runs folded, evidence indexed, what was judged kept.

    Args:
        recorded: The events of all runs of the trace, as `trace.in_order` returns them.
    Raises:
        CorruptRun: The events of a run don't fold.
    """

    def __init__(self, recorded: Sequence[Recorded]) -> None:
        entries: dict[UUID, list[Recorded]] = {}
        for entry in recorded:
            entries.setdefault(entry.run_id, []).append(entry)
        self.recorded = recorded
        self.runs = {run_id: fold(run_id, of_run) for run_id, of_run in entries.items()}
        self.evidence = gather(recorded)
        self._judged: dict[tuple[UUID, str], tuple[Argument, ...]] = {}

    def step_of(self, run_id: UUID, call_key: str) -> tuple[Step, CallRequest]:
        """Return a call with its step. Raises CallNotFound: The run has no such call."""
        run = self.runs[run_id]
        for step in run.steps:
            for call in step.turn.calls:
                if call.call_key == call_key:
                    return step, call
        known = [call.call_key for step in run.steps for call in step.turn.calls]
        raise CallNotFound(run_id, call_key, known)

    def judge(self, run_id: UUID, call_key: str) -> tuple[Argument, ...]:
        """Judge a call's arguments as executed; as the model wrote them, if it was not."""
        found = self._judged.get((run_id, call_key))
        if found is None:
            step, call = self.step_of(run_id, call_key)
            arguments, declared = _as_executed(self.runs[run_id], step, call)
            before = self.evidence.turns[run_id, step.turn.step]
            found = verdicts(Question(self.evidence, before, declared), arguments)
            self._judged[run_id, call_key] = found
        return found


def _as_executed(run: RunState, step: Step, call: CallRequest) -> tuple[str, Mapping[str, str]]:
    for result in step.results:
        if result.call_key == call.call_key and isinstance(result, ToolCall):
            return result.arguments, result.declared or {}
    terminal = run.terminal
    if terminal and terminal.call_key == call.call_key and terminal.arguments:
        return terminal.arguments, terminal.provenance.declared if terminal.provenance else {}
    return call.arguments or "", {}
