"""A report, the list of reports, and a map of rules, as tables for people."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from tachograph.adapters.exporters.report_words import (
    NO_CONFORMITY,
    RIGHT,
    head_lines,
    headings,
    shown,
    stacked,
)
from tachograph.adapters.reports.catalogue import CATALOGUE
from tachograph.adapters.reports.report import FIGURES, Report, Section
from tachograph.adapters.reports.rule_sets import RuleSet, serving
from tachograph.adapters.screen.commands import tell
from tachograph.adapters.screen.output import Screen, cell, columns, text

LISTED_MAX: Final = 50
_CELL_MAX: Final = 200


def print_report(screen: Screen, report: Report) -> None:
    """Print a report; of long sections the beginning."""
    screen.print(text(report.head.title, "bold"), text(report.head.question, "dim"))
    _print_facts(screen, head_lines(report))
    for section in report.sections:
        screen.print(Text(), text(section.title, "bold"))
        if section.note:
            screen.print(text(section.note, "dim"))
        _print_section(screen, section, report.head.time_zone)
    screen.print(Text(), text(NO_CONFORMITY, "dim"))


def print_list(screen: Screen) -> None:
    """Print which reports there are, and which rule sets they serve."""
    table = columns("report", "what it answers", "rule sets")
    for name, entry in CATALOGUE.items():
        sets = ", ".join(found.name for found in serving(name))
        table.add_row(text(name), text(entry.question), text(sets))
    screen.table(table)


def print_rules(screen: Screen, rules: RuleSet) -> None:
    """Print a rule set clause by clause: requirement, evidence, where it comes from, what isn't covered."""
    screen.print(text(rules.title, "bold"))
    _print_facts(screen, [("Version", rules.version), ("Scope", rules.scope), ("Dates", rules.dates)])
    for clause in rules.clauses:
        screen.print(Text(), text(f"{clause.id}  {clause.title}", "bold"))
        _print_facts(
            screen,
            [
                ("Requirement", clause.requirement),
                ("Applies from", clause.applies_from),
                ("Evidence", f"{clause.evidence} Reports: {', '.join(clause.reports)}."),
                ("Comes from", clause.comes_from),
                ("NOT covered", clause.not_covered),
            ],
        )
    screen.print(Text(), text("Sources", "bold"))
    for source in rules.sources:
        _print_facts(screen, [(source.title, f"{source.url} ({source.checked})")])
    screen.print(Text(), text(NO_CONFORMITY, "dim"))


def _print_facts(screen: Screen, facts: Sequence[tuple[str, str]]) -> None:
    width = min(max(len(name) for name, _ in facts), 16)
    for name, value in facts:
        screen.hanging(Text(f"  {name.ljust(width)}  ", "dim"), text(value))


def _print_section(screen: Screen, section: Section, zone: str) -> None:
    if not section.rows:
        screen.print(text("None."))
        return
    heads = headings(section)
    right = [heading for heading, inner in heads if len(inner) == 1 and inner[0][1].kind in RIGHT]
    table = columns(*(heading for heading, _ in heads), right=right)
    listed = section.rows if section.name == FIGURES else section.rows[:LISTED_MAX]
    for row in listed:
        cells: list[Text] = []
        for _, inner in heads:
            if len(inner) == 1:
                place, column = inner[0]
                cells.append(cell(shown(row[place], column.kind, zone), characters_max=_CELL_MAX))
            else:
                lines = [
                    cell(f"{name}: {said}", characters_max=_CELL_MAX)
                    for name, said in stacked(row, inner, zone)
                ]
                cells.append(Text("\n").join(lines))
        table.add_row(*cells)
    screen.table(table)
    if len(listed) < len(section.rows):
        tell(
            f"{section.title}: the first {len(listed)} of {len(section.rows):,} rows; other formats have all."
        )
