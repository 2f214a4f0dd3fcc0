"""What `report` does: makes a report and writes it, lists reports, maps rules to them."""

import os
import sys
from pathlib import Path
from typing import Final

import click

from tachograph.adapters.exporters import report_file
from tachograph.adapters.exporters.report_file import written
from tachograph.adapters.reports.catalogue import CATALOGUE
from tachograph.adapters.reports.making import make_report
from tachograph.adapters.reports.report import Report, Section
from tachograph.adapters.reports.rule_sets import load_rule_set, serving
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, Settings, tell
from tachograph.adapters.screen.output import Screen, progress
from tachograph.adapters.screen.report_text import print_list, print_report, print_rules

FORMS: Final = ("table", *report_file.FORMS)
_BINARY: Final = ("pdf", "parquet")


def report(
    settings: Settings,
    name: str,
    since: str | None,
    until: str | None,
    zone: str,
    tenant: str | None,
    position: int | None,
    form: str | None,
    section: str | None,
    output: str | None,
) -> int:
    """Make a report and write it."""
    form = _form(settings, form, section)
    if output is None and form in _BINARY and sys.stdout.isatty():
        raise click.UsageError(f"A terminal can't show {form}: give --output FILE, or send the output on.")
    if output is not None and form == "table":
        raise click.UsageError("--output goes with --format csv, json, html, pdf or parquet.")
    with opened(settings.store) as store, progress(f"report {name}") as shown:
        head = store.head()
        made = make_report(
            store,
            name,
            since=since,
            until=until,
            zone=zone,
            tenant=tenant,
            position=position,
            progress=shown,
        )
    if position is None and made.head.position < head:
        tell(
            f"The views end at position {made.head.position:,} of {head:,}, and so does this report: "
            "this role may not write. A role that may has to run `tachograph projections catch-up`."
        )
    chosen = _section(made, section) if section is not None else None
    if form == "table":
        print_report(Screen(), made)
    else:
        _write(written(made, form, chosen), output)
    return FINE


def listed(settings: Settings) -> int:
    """List the reports."""
    if settings.as_json:
        Screen().lines(
            machine.line(
                {
                    "report": name,
                    "title": entry.title,
                    "question": entry.question,
                    "query_version": entry.version,
                    "rule_sets": [found.name for found in serving(name)],
                }
            )
            for name, entry in CATALOGUE.items()
        )
    else:
        print_list(Screen())
    return FINE


def mapped(settings: Settings, name: str) -> int:
    """Print a rule set: what is asked for, what there is towards it, and what isn't covered."""
    rules = load_rule_set(name)
    if settings.as_json:
        Screen().lines([machine.line(rules.model_dump(mode="json"))])
    else:
        print_rules(Screen(), rules)
    return FINE


def _form(settings: Settings, form: str | None, section: str | None) -> str:
    if settings.as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    chosen = form or ("json" if settings.as_json else "table")
    if section is not None and chosen not in report_file.OF_ONE_SECTION:
        raise click.UsageError("--section goes with --format csv or parquet.")
    return chosen


def _section(report: Report, name: str) -> Section:
    try:
        return report.section(name)
    except KeyError as exc:
        known = ", ".join(section.name for section in report.sections)
        raise click.UsageError(f"This report has no section {name[:80]!r}. It has: {known}.") from exc


def _write(content: bytes, output: str | None) -> None:
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    if path.exists() and not path.is_file():
        raise click.UsageError(f"{path} is there, and is no file.")
    replace_file(path, content)
    tell(f"{len(content):,} bytes in {path}")


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside a path, and put it in its place once it is whole and durable."""
    partial = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
