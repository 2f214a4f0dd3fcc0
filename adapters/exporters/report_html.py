"""A report as one page of HTML that needs nothing else: no script, no font, no request."""

from importlib.resources import files
from typing import Any, Final

from tachograph.adapters.exporters.report_words import (
    NO_CONFORMITY,
    RIGHT,
    head_lines,
    headings,
    shown,
    stacked,
)
from tachograph.adapters.exporters.visible import visible
from tachograph.adapters.reports.report import Report
from tachograph.domain.errors import ExtraMissing

_TEMPLATE: Final = "report.html"
_TEXT_MAX: Final = 2_000


def report_html(report: Report) -> str:
    """
    Return a report as a page. Everything that comes from the record is escaped.

    Raises:
        ExtraMissing: jinja2 isn't installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as exc:
        raise ExtraMissing("html") from exc
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalize
    )
    text = files("tachograph.adapters.exporters").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(text).render(
        report=report,
        facts=head_lines(report),
        zone=report.head.time_zone,
        note=NO_CONFORMITY,
        right=RIGHT,
        headings=headings,
        shown=shown,
        stacked=stacked,
    )


def _finalize(value: Any) -> Any:
    """Spell out what an eye would miss, and cut what nobody would read."""
    if type(value) is str:
        left_out = len(value) - _TEXT_MAX
        note = f" [cut: {left_out:,} more characters; --format json has them all]" if left_out > 0 else ""
        return visible(value[:_TEXT_MAX]) + note
    return value
