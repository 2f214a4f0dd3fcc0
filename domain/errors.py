"""
TachographError            every error this package raises on purpose
├── StoreError             the store could not do it; cause in __cause__
│   ├── VersionConflict    someone else appended first (run_id, expected)
│   └── CorruptRun         history breaks an invariant (run_id, version)
├── UnknownEvent           a stored name or schema version without a reader (stored_name)
├── RunNotFound            no such run in this store (run_id)
├── CallNotFound           the run has no such call (run_id, call_key)
├── NothingToSettle        the call is not in doubt (run_id, call_key)
├── StepNotFound           the run has no such step (run_id, step)
├── RunClosed              the run has ended already (run_id)
├── RunOpen                the run is under way already (run_id)
├── RunInDoubt             a person has to settle a call before the run goes on (run_id, call_keys)
├── ApprovalNotFound       no such approval in this store (approval_id)
├── AnswerRefused          an answer to an approval that counts for nothing; recorded (code)
├── RunTakenOver           another process resumed the run; this one stopped (run_id)
├── ModelError             the model gave no answer; the run stays open and can be resumed
├── InvalidId              an id breaks the rule for ids (field, rule)
├── InvalidAgent           an agent's or a tool's definition is wrong
├── ExtraMissing           an optional dependency isn't installed (extra)
└── ImportRejected         a foreign file does not have the form it should have
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

_KEYS_SHOWN_MAX: Final = 20


class TachographError(Exception):
    """Base of every error this package raises on purpose."""


class StoreError(TachographError):
    """The store could not do what was asked; the driver's error is the cause."""


class VersionConflict(StoreError):
    """Another writer appended to the run first."""

    def __init__(self, run_id: UUID, expected: int) -> None:
        super().__init__(f"run {run_id} has moved past version {expected}: another process appended first")
        self.run_id = run_id
        self.expected = expected


class CorruptRun(StoreError):
    """A run's stored history breaks an invariant of the record."""

    def __init__(self, run_id: UUID | None, version: int, why: str) -> None:
        super().__init__(f"run {run_id or '(unknown)'} is corrupt at version {version}: {why}")
        self.run_id = run_id
        self.version = version
        self.why = why


class UnknownEvent(TachographError):
    """A stored name, or a schema version of it, that no reader here knows."""

    def __init__(self, stored_name: str, why: str = "unknown kind of event") -> None:
        super().__init__(f"{why}: {stored_name[:100]!r}; a newer release may have written it")
        self.stored_name = stored_name


class RunNotFound(TachographError):
    """The store holds no such run."""

    def __init__(self, run_id: UUID | str) -> None:
        super().__init__(f"no run {run_id} in this store; `tachograph runs` lists them")
        self.run_id = run_id


class CallNotFound(TachographError):
    """The run has no call with that key."""

    def __init__(self, run_id: UUID, call_key: str, known: Sequence[str]) -> None:
        shown = ", ".join(known[:_KEYS_SHOWN_MAX]) + (", ..." if len(known) > _KEYS_SHOWN_MAX else "")
        super().__init__(f"run {run_id} has no call {call_key[:20]!r}; its calls: {shown or 'none'}")
        self.run_id = run_id
        self.call_key = call_key


class NothingToSettle(TachographError):
    """The call is not in doubt: there is none with that key, or what it did is known."""

    def __init__(self, run_id: UUID, call_key: str) -> None:
        super().__init__(
            f"call {call_key[:20]!r} of run {run_id} is not in doubt; "
            "`tachograph runs --in-doubt` lists those that are"
        )
        self.run_id = run_id
        self.call_key = call_key


class StepNotFound(TachographError):
    """The run has not come to that step."""

    def __init__(self, run_id: UUID, step: int, last: int) -> None:
        super().__init__(f"run {run_id} has no step {step}; its last one is {last}")
        self.run_id = run_id
        self.step = step


class RunClosed(TachographError):
    """The run has ended; nothing can be added to it."""

    def __init__(self, run_id: UUID, outcome: str) -> None:
        super().__init__(f"run {run_id} has ended already ({outcome})")
        self.run_id = run_id


class RunOpen(TachographError):
    """The request's run exists and has not ended."""

    def __init__(self, run_id: UUID) -> None:
        super().__init__(f"run {run_id} is under way; if its process died, `tachograph resume {run_id}`")
        self.run_id = run_id


class RunInDoubt(TachographError):
    """Nobody knows what a call did before its process died; the run waits for a person to find out."""

    def __init__(self, run_id: UUID, call_keys: Sequence[str]) -> None:
        super().__init__(
            f"run {run_id} waits: nobody knows what call {', '.join(call_keys)} did before its process died "
            f"(outcome_unknown). Find out, then `tachograph reconcile {run_id} {call_keys[0]}` with "
            "--succeeded FILE or --failed REASON"
        )
        self.run_id = run_id
        self.call_keys = tuple(call_keys)


class ApprovalNotFound(TachographError):
    """The store holds no such approval."""

    def __init__(self, approval_id: UUID | str) -> None:
        super().__init__(f"no approval {approval_id} in this store; `tachograph approvals list` has them")
        self.approval_id = approval_id


class AnswerRefused(TachographError):
    """An answer to an approval counts for nothing. The refusal is recorded."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RunTakenOver(TachographError):
    """Another process appended to the run, so this one no longer owns it."""

    def __init__(self, run_id: UUID) -> None:
        super().__init__(f"run {run_id} was taken over by another process; nothing more was done")
        self.run_id = run_id


class ModelError(TachographError):
    """The model gave no answer after its retries; the run stays open and can be resumed."""


class InvalidId(TachographError, ValueError):
    """An id breaks the one rule for ids."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field} is not acceptable: it must be {rule}")
        self.field = field
        self.rule = rule


class InvalidAgent(TachographError, ValueError):
    """An agent's or a tool's definition is wrong."""


class InvalidLimits(TachographError, ValueError):
    """A file of limits can't be read, or says something else."""


class ExtraMissing(TachographError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"this needs more packages: pip install 'tachograph[{extra}]'")
        self.extra = extra


class ImportRejected(TachographError):
    """A foreign file does not have the form its format asks for."""


class ExportRefused(TachographError):
    """A folder can't take an export, or is none that can be read."""


class QueryRefused(TachographError):
    """A query is wrong, or asks for more than it may."""
