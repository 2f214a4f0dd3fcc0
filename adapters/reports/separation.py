"""
Whether duties were kept apart: every approval in the record is checked again by the rules of deciding.

The runtime refuses such answers and records the refusal. What a check finds beside refusals was recorded by
somebody else, or can't be told because nobody said for whom the run acted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tachograph.adapters.reports.report import Column, Row, Section, figures
from tachograph.adapters.reports.source import Source
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalExecuted,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import Event
from tachograph.projections.plain import time_text

ANONYMOUS: Final[str] = TrustedContext.model_fields["actor"].default
_QUERY: Final = """
    SELECT approval_id, a.run_id, MAX(e.version)
    FROM v_approvals AS a
    JOIN entries AS e ON e.run_id = a.approval_id
    JOIN span ON 1 = 1
    GROUP BY approval_id, a.run_id, a.position, span.since, span.until
    HAVING MAX(e.recorded_at) >= since AND MIN(e.recorded_at) < until
    ORDER BY a.position
"""
_REFUSED: Final = {
    "own_request": "tried to decide on what was asked for them",
    "voted_already": "tried to vote twice",
    "not_allowed": "tried to decide without the permission",
}
_COLUMNS: Final = (
    Column("at", "time"),
    Column("approval"),
    Column("run"),
    Column("finding"),
    Column("person"),
    Column("what it means"),
)

Found = tuple[str, str, str, str]


def sections(source: Source) -> list[Section]:
    """Return the figures, and one row a finding."""
    asked = source.rows(_QUERY)
    lines: list[Row] = []
    decided = 0
    for approval_id, run_id, version in asked:
        events = [event for _, event in source.events(approval_id, version)]
        decided += any(isinstance(event, ApprovalGranted | ApprovalDenied) for event in events)
        for at, finding, person, meaning in exceptions(events):
            if (source.span.since or "") <= at and (source.span.until is None or at < source.span.until):
                lines.append((at, approval_id, run_id, finding, person, meaning))
    count = Counter(str(line[3]) for line in lines)
    breaches = sum(number for finding, number in count.items() if finding.startswith("not separate"))
    return [
        figures(
            [
                ("approvals checked", len(asked), "with an entry in the period"),
                ("of these answered", decided, "by at least one person"),
                ("not separate", breaches, "the record holds a decision that the rules forbid"),
                ("refused attempts", count["refused attempt"], "the runtime refused it"),
                (
                    "can't be told",
                    count["requester unknown"],
                    "decided, and nobody said for whom the run acted",
                ),
            ]
        ),
        Section("exceptions", "Exceptions", _COLUMNS, lines),
    ]


def exceptions(events: Sequence[Event]) -> Iterator[Found]:
    """Yield what the events of one approval say against separate duties: when, finding, person, meaning."""
    asked = next((event for event in events if isinstance(event, ApprovalRequested)), None)
    if asked is None:
        return
    votes: list[str] = []
    for event in events:
        at = time_text(event.recorded_at)
        match event:
            case ApprovalGranted() | ApprovalDenied():
                yield from _decision(asked, event, at, votes)
                if isinstance(event, ApprovalGranted):
                    votes.append(event.by)
            case ApprovalRefused() if event.code in _REFUSED:
                yield at, "refused attempt", event.by, _REFUSED[event.code]
            case ApprovalStarted() if len(set(votes)) < asked.needed:
                yield at, "not separate: effect", "", f"it ran with {len(set(votes))} of {asked.needed} votes"
            case ApprovalExecuted() if event.settled and event.settled.actor in votes:
                yield at, "not separate: settled", event.settled.actor, "granted it, and settled what it did"


def _decision(
    asked: ApprovalRequested, event: ApprovalGranted | ApprovalDenied, at: str, votes: Sequence[str]
) -> Iterator[Found]:
    if event.by in asked.requested_for:
        yield at, "not separate: own request", event.by, "decided on what was asked for them"
    if isinstance(event, ApprovalGranted) and event.by in votes:
        yield at, "not separate: two votes", event.by, "voted twice"
    if set(asked.requested_for) <= {ANONYMOUS}:
        yield at, "requester unknown", event.by, "nobody said for whom the run acted"
