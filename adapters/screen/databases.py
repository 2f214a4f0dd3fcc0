"""What `db init` and `db check` do."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import click

from tachograph.adapters.read_side.opening import database_of, open_read_side
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.failures import without_secrets
from tachograph.adapters.screen.findings import Finding
from tachograph.adapters.screen.output import Screen, columns, text
from tachograph.adapters.workers.report_notes import ReportNotes
from tachograph.domain.ports import EventStore

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


def init(settings: Settings, *, roles: bool) -> int:
    """Create the schema where it is missing."""
    url = settings.store
    if roles and not url.startswith(_POSTGRES):
        raise click.UsageError("Only PostgreSQL has roles; this store has none to create.")
    there = _has_schema(url)
    with opened(url, create=True) as store:
        if url.startswith(_POSTGRES):
            from tachograph.adapters.screen import postgres_check

            postgres_check.create(url, roles=roles)
            _create_queue(store, roles=roles)
            if roles:
                _open_to_readers(store)
        elif url.startswith(_SQLITE):
            from tachograph.adapters.screen import sqlite_check

            sqlite_check.create(Path(url.removeprefix(_SQLITE)))
    schema = "there already" if there else "created"
    screen = Screen()
    if settings.as_json:
        screen.lines([machine.line({"store": _shown(url), "schema": schema, "roles": roles})])
        return FINE
    screen.print(text(f"{_shown(url)}: the schema was {schema}{', the roles are set up' if roles else ''}."))
    return FINE


def _create_queue(store: EventStore, *, roles: bool) -> None:
    """Create the queue's tables too, where what they are for is installed."""
    if find_spec("procrastinate") is None:
        return
    from tachograph.adapters.workers import jobs

    datastore = store.datastore  # type: ignore[attr-defined]  # of PostgreSQL
    jobs.create_tables(datastore)
    if roles:
        jobs.grant_to_writer(datastore)


def _open_to_readers(store: EventStore) -> None:
    """Let the reader's role read the views and what schedules have made, which may be older than the role."""
    side = open_read_side(store)
    try:
        side.open_to_readers()
        ReportNotes(database_of(store)).open_to_readers()
    finally:
        side.close()


def check(settings: Settings) -> int:
    """Compare the store with what it should be; NO if something is missing or weaker."""
    findings = _findings(settings.store)
    fine = all(finding.ok for finding in findings)
    screen = Screen()
    if settings.as_json:
        checks = [asdict(finding) for finding in findings]
        screen.lines([machine.line({"store": _shown(settings.store), "ok": fine, "checks": checks})])
        return FINE if fine else NO
    table = columns("", "what", "found", "expected")
    for finding in findings:
        mark = text("ok", "green") if finding.ok else text("NO", "bold red")
        expected = "" if finding.ok else finding.expected
        table.add_row(mark, text(finding.name), text(finding.found), text(expected))
    screen.print(text(_shown(settings.store), "bold"))
    if table.row_count:
        screen.table(table)
    else:
        screen.print(text("There is no database behind it: nothing to check."))
    if not fine:
        tell("Not as it should be.", *_ways_out(findings))
    return FINE if fine else NO


def _findings(url: str) -> list[Finding]:
    if url.startswith(_POSTGRES):
        from tachograph.adapters.screen import postgres_check

        return postgres_check.findings(url)
    if url.startswith(_SQLITE):
        from tachograph.adapters.screen import sqlite_check

        return sqlite_check.findings(Path(url.removeprefix(_SQLITE)))
    with opened(url):
        return []


def _has_schema(url: str) -> bool:
    if url.startswith(_POSTGRES):
        from tachograph.adapters.screen import postgres_check

        return postgres_check.has_schema(url)
    if url.startswith(_SQLITE):
        from tachograph.adapters.screen import sqlite_check

        return sqlite_check.has_schema(Path(url.removeprefix(_SQLITE)))
    return False


def _ways_out(findings: Sequence[Finding]) -> list[str]:
    ways = []
    wrong = [finding for finding in findings if not finding.ok]
    if any(finding.found == "missing" and not finding.name.startswith("role") for finding in wrong):
        ways.append("`tachograph db init` creates what is missing.")
    if any(finding.name.startswith("role") for finding in wrong):
        ways.append("`tachograph db init --roles` sets the roles up; it needs the right to create roles.")
    return ways


def _shown(url: str) -> str:
    return without_secrets(url, url)
