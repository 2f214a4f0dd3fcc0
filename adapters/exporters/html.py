"""An explanation as one page of HTML that needs nothing else: no script, no font, no request."""

from importlib.resources import files
from typing import Any, Final

from tachograph.adapters.exporters import wording
from tachograph.adapters.exporters.diagram import WIDTH, diagram
from tachograph.adapters.exporters.visible import visible
from tachograph.domain.errors import ExtraMissing
from tachograph.domain.why.argument import Argument, Part, Source
from tachograph.domain.why.explanation import Explanation

_TEMPLATE: Final = "why.html"
_TEXT_MAX: Final = 2_000


def html_page(explanation: Explanation) -> str:
    """
    Return an explanation as a page. Everything that comes from the record is escaped.

    Raises:
        ExtraMissing: jinja2 isn't installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as exc:
        raise ExtraMissing("html") from exc
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    text = files("tachograph.adapters.exporters").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(text).render(
        why=explanation,
        rows=[_row(argument) for argument in explanation.arguments],
        parties=wording.parties(explanation),
        approval=wording.approval_lines(explanation),
        diagram=diagram(explanation.chain),
        box_width=WIDTH,
        calls=[
            (
                call,
                wording.counted(call.arguments),
                [_row(one) for one in call.arguments if _is_doubtful(one)],
            )
            for call in explanation.calls
        ],
        limits=[
            (limit, wording.where_text(limit.source) if limit.source else "budget")
            for limit in explanation.why_not.limits
        ],
    )


def _shown(value: Any) -> Any:
    """Spell out what an eye would miss, and cut what nobody would read."""
    if type(value) is str:
        left_out = len(value) - _TEXT_MAX
        note = f" [cut: {left_out:,} more characters; --format json has them all]" if left_out > 0 else ""
        return visible(value[:_TEXT_MAX]) + note
    return value


def _row(argument: Argument) -> dict[str, Any]:
    best = argument.sources if argument.verdict == "derived" else argument.sources[:1]
    return {
        "name": wording.name_text(argument.pointer),
        "value": wording.value_text(argument),
        "verdict": argument.verdict,
        "mark": wording.MARKS[argument.verdict],
        "why": argument.why,
        "mention": wording.mention_text(argument) if _is_doubtful(argument) else "",
        "sources": [_source(source) for source in best],
        "more": max(0, argument.matches - len(best)),
        "parts": [_part(part) for part in argument.parts],
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "where": wording.where_text(source),
        "quote": wording.quote_parts(source),
        "rule": wording.rule_text(source),
        "cited": wording.cited_text(source),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "value": part.value,
        "verdict": part.verdict,
        "mark": wording.MARKS[part.verdict],
        "where": wording.where_text(part.sources[0]) if part.sources else "",
    }


def _is_doubtful(argument: Argument) -> bool:
    return argument.verdict in wording.DOUBTFUL
