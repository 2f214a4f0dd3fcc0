"""What people did to the record: decided, took over, ended, settled. Reading it leaves no trace in it."""

from collections import Counter
from typing import Final, NamedTuple

from tachograph.adapters.reports.report import Column, Section, figures
from tachograph.adapters.reports.source import Source
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalExecuted,
    ApprovalGranted,
    ApprovalRefused,
)
from tachograph.domain.events import Event, RunResumed, Terminal, ToolCall, ToolError

_QUERY: Final = """
    SELECT acts.run_id, acts.version, acts.recorded_at, acts.tenant FROM (
        SELECT run_id, version, recorded_at, tenant, position FROM fact_takeovers_then WHERE by_worker = 0
        UNION ALL
        SELECT run_id, version, recorded_at, tenant, position FROM fact_ends_then WHERE by_person = 1
        UNION ALL
        SELECT run_id, version, recorded_at, tenant, position FROM fact_calls_then
        WHERE settled = 1 AND shared = 0
        UNION ALL
        SELECT run_id, version, recorded_at, tenant, position FROM fact_answers_then
        WHERE answer IN ('granted', 'denied', 'refused')
        UNION ALL
        SELECT run_id, version, recorded_at, tenant, position FROM fact_effects_then WHERE settled = 1
    ) AS acts JOIN span ON recorded_at >= since AND recorded_at < until
    ORDER BY acts.position
"""
_COLUMNS: Final = (
    Column("at", "time"),
    Column("person"),
    Column("act"),
    Column("run or approval"),
    Column("tenant"),
    Column("reason"),
)
_BY_PERSON: Final = (Column("person"), Column("act"), Column("times", "number"))


class Act(NamedTuple):
    """What a person did, and the reason that was given."""

    person: str
    act: str
    reason: str


def sections(source: Source) -> list[Section]:
    """Return the figures, acts by person, and one row an act."""
    found = [
        (at, act.person, act.act, run_id, tenant, act.reason)
        for run_id, version, at, tenant in source.rows(_QUERY)
        for place, event in source.events(run_id, version)
        if place == version and (act := act_of(event)) is not None
    ]
    by_person = Counter((line[1], line[2]) for line in found)
    return [
        figures(
            [
                ("acts", len(found), "of people, recorded in the period"),
                ("people", len({line[1] for line in found}), "by the name that was recorded with the act"),
                (
                    "refused answers",
                    sum(line[2] == "answer refused" for line in found),
                    "they changed nothing",
                ),
            ]
        ),
        Section(
            "by_person",
            "By person",
            _BY_PERSON,
            [(person, act, times) for (person, act), times in sorted(by_person.items())],
        ),
        Section(
            "acts",
            "Each act",
            _COLUMNS,
            found,
            "Names are those that the caller's session or the command gave. NOT COVERED: who read the "
            "record. "
            "Reading leaves no event; the database's own audit, or the file's, has to show it.",
        ),
    ]


def act_of(event: Event) -> Act | None:
    """Return what a person did by an event; None for what no person did."""
    match event:
        case RunResumed():
            return Act(event.actor, "took a run over", event.reason)
        case Terminal() if event.actor is not None:
            return Act(event.actor, "ended a run", event.reason or "")
        case ToolCall() | ToolError() if event.settled is not None:
            return Act(event.settled.actor, "settled a call", event.settled.reason)
        case ApprovalGranted():
            return Act(event.by, "granted", event.reason)
        case ApprovalDenied():
            return Act(event.by, "denied", event.reason)
        case ApprovalRefused():
            return Act(event.by, "answer refused", f"{event.answer}: {event.code}")
        case ApprovalExecuted() if event.settled is not None:
            return Act(event.settled.actor, "settled an effect", event.settled.reason)
    return None
