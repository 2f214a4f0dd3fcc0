"""A match as a source to be shown: where it stands, with a quote, and the passage that it belongs to."""

import re
from collections.abc import Sequence
from typing import Final

from tachograph.domain.why.argument import Citation, Source
from tachograph.domain.why.index import Index
from tachograph.domain.why.match import Match

QUOTE_MAX: Final = 160
_AROUND: Final = 48
_LEVELS_MAX: Final = 3
_FIELDS_MAX: Final = 1_000  # of one record
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_HEADING_MAX: Final = 120

_DOCUMENT: Final = ("document_id", "document", "doc_id", "document_name", "policy_id", "policy")
_VERSION: Final = ("version", "document_version", "revision")
_SECTION: Final = ("section", "section_id", "clause", "article", "paragraph", "heading")


def source_of(index: Index, match: Match) -> Source:
    """Return a match as a Source."""
    origin = index.documents[index.document(match.leaf)].origin
    assert origin.trust, "what the model wrote is no source"
    text = index.text(match.leaf)
    quote, quoted_at = quoted(text, match.start, match.end)
    return Source(
        run_id=origin.run_id,
        version=origin.version,
        kind=origin.kind,
        call_key=origin.call_key,
        tool=origin.tool,
        pointer=index.pointer(match.leaf),
        span=None if (match.start, match.end) == (0, len(text)) else (match.start, match.end),
        quote=quote,
        quoted=quoted_at,
        rule=match.rule,
        trust=origin.trust,
        citation=_citation(index, match),
        note=match.note,
    )


def cited(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the first source that is a passage of a document, one with a section before others; or none."""
    passages = [source for source in sources if source.citation]
    with_section = [source for source in passages if source.citation and source.citation.section]
    return tuple((with_section or passages)[:1])


def quoted(text: str, start: int, end: int) -> tuple[str, tuple[int, int]]:
    """
    Quote a span with some of the text around it, cut at spaces where there are any.

    Returns:
        The quote, and where the span is in it; of a span longer than QUOTE_MAX, its beginning.
    """
    end = min(end, start + QUOTE_MAX)
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    if first:
        space = text.find(" ", first, start)
        first = space + 1 if space >= 0 else first
    if last < len(text):
        space = text.rfind(" ", end, last)
        last = space if space >= 0 else last
    quote = f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"
    at = start - first + bool(first)
    return quote, (at, at + end - start)


def _citation(index: Index, match: Match) -> Citation | None:
    origin = index.documents[index.document(match.leaf)].origin
    if origin.trust == "policy":
        return _heading(index.text(match.leaf), match.start)
    container = index.container(match.leaf)
    for _ in range(_LEVELS_MAX):
        if container < 0:
            return None
        members = index.records.members_of(container)[:_FIELDS_MAX]
        fields = {index.key(leaf): index.text(leaf) for leaf in members}
        document, version, section = (
            next((fields[name] for name in names if name in fields), None)
            for names in (_DOCUMENT, _VERSION, _SECTION)
        )
        if document and (version or section):
            return Citation(document, version, section)
        container = index.records.parent(container)
    return None


def _heading(text: str, start: int) -> Citation:
    """Name the part of a policy in Markdown by its headings: the first is its title."""
    above = [found[1][:_HEADING_MAX] for found in _HEADING.finditer(text, 0, start)]
    title = _HEADING.search(text)
    return Citation(title[1][:_HEADING_MAX] if title else "policy", None, above[-1] if above else None)
