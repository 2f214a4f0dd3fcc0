"""What an explanation holds: the answer to why a call was made, or why a tool was never executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from tachograph.domain.why.argument import Argument, Citation, Source


@dataclass(frozen=True, slots=True)
class Node:
    """
    A step of the chain: the decision, a call that fed it, or words that came in from outside.

    `id` is unique in the chain: `RUN/VERSION`, for a message `RUN/VERSION/input/PLACE`. `title` is the
    tool's name or the message's role. `arguments` have their best source alone.
    """

    id: str
    kind: Literal["decision", "call", "error", "message", "context"]
    title: str
    run_id: UUID
    version: int
    call_key: str | None = None
    quote: str = ""
    arguments: tuple[Argument, ...] = ()
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """What went from one node to another: the pointers of the arguments that it fed."""

    source: str
    target: str
    pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """How the decision came about: nodes in the order of the record, edges from source to target."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that was denied or failed on the way. `message`: what the model was told."""

    run_id: UUID
    version: int
    call_key: str
    tool: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Limit:
    """
    A limit or rule that would have stopped the decision, and how far it was from doing so.

    Args:
        kind: `budget`: of the run. `record`: a field of the evidence that states a limit.
        asked: What was used or asked for; None where it can't be compared.
        margin: What was left, negative where the limit was passed.
        source: Where the limit stands, for `record`.
    """

    kind: Literal["budget", "record"]
    name: str
    limit: str
    asked: str | None = None
    margin: str | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What stood in the way, or could have."""

    attempts: tuple[Attempt, ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A work call of the explained run: its arguments with verdicts. `state`: how it ended."""

    call_key: str
    tool: str
    state: Literal["done", "failed", "not_executed"]
    effect: str | None
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """How much evidence there was. `left_out`: characters past the caps, which were not searched."""

    runs: int
    events: int
    characters: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Integrity:
    """How the record is protected: digest of the run's events, and the checkpoint that covers it."""

    run_digest: str
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class AsRecorded:
    """The verdict as it stood when the run ended, and whether it is the same today."""

    version: int
    verdicts: Mapping[str, str]
    agrees: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """What one person answered, when (ISO 8601, UTC), and why."""

    by: str
    answer: Literal["granted", "denied"]
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class AskedPeople:
    """
    The approval that a run asked for.

    Args:
        shown_digest: Of the explanation that the approver was shown: this one, without the approval.
        waited_s: From the question to the decision; None while there is none.
        execution: How far the effect is: none, started, done, failed or unknown.
    """

    approval_id: UUID
    status: str
    needed: int
    answers: tuple[Answered, ...]
    asked_at: str
    waited_s: int | None
    shown_digest: str
    policy_version: str | None
    execution: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    Why a call was made. `version` is that of the rules, `digest` is over all else in it.

    Args:
        sentence: The outcome in one sentence.
        call_key, tool: What is explained; None for a run that ended without a terminal call.
        recorded: The verdict in the terminal event, None where it holds none.
        approval: None until a person was asked.
    """

    run_id: UUID
    outcome: str | None
    version: int
    digest: str
    reason: str | None
    sentence: str
    trace_id: str
    tenant: str
    actor: str
    agent: str
    agent_version: str
    model: str | None
    call_key: str | None
    tool: str | None
    said: str | None
    arguments: tuple[Argument, ...]
    calls: tuple[Call, ...]
    chain: Chain
    why_not: WhyNot
    approval: AskedPeople | None
    integrity: Integrity
    recorded: AsRecorded | None
    searched: Searched


@dataclass(frozen=True, slots=True)
class Absence:
    """
    Why a run didn't execute a tool. `version` and `digest` are as in an Explanation.

    Args:
        executed: Whether it was executed after all.
        times_asked: How often the model asked for it.
        ended: How the run ended, None while it is open.
    """

    run_id: UUID
    tool: str
    version: int
    digest: str
    executed: bool
    sentence: str
    times_asked: int
    attempts: tuple[Attempt, ...]
    limits: tuple[Limit, ...]
    ended: str | None
