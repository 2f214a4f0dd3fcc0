"""The words for an explanation that all its forms share. What comes from a record stays as it is: hostile."""

from collections.abc import Mapping
from typing import Final

from tachograph.domain.why.argument import Argument, Citation, Number, Source, Verdict
from tachograph.domain.why.explanation import Explanation, Node

MARKS: Final[Mapping[Verdict, str]] = {
    "supported": "✓",
    "in_text": "✓",
    "transformed": "✓",
    "derived": "≈",
    "choice": "●",
    "constant": "●",
    "weak": "?",
    "coincidental": "?",
    "free_text": "¶",
    "unsupported": "✗",
    "not_searched": "…",
}
_SAID_BY: Final[Mapping[str, str]] = {
    "customer": "the customer",
    "policy": "policy",
    "tool": "a tool's result",
}
DOUBTFUL: Final[frozenset[Verdict]] = frozenset({"unsupported", "weak", "coincidental", "not_searched"})
_PLAIN_RULES: Final = frozenset({"exact", "declared", "limit"})


def value_text(argument: Argument) -> str:
    """Return a value as people read it."""
    value = argument.value
    if isinstance(value, Number):
        return value.lexeme
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def name_text(pointer: str) -> str:
    """Return the name of an argument: its pointer without the slash before it."""
    return pointer.removeprefix("/") or "arguments"


def where_text(source: Source) -> str:
    """Say where a source stands: `refund_preview 3.1 /amount`, `the customer, message 1`."""
    if source.tool is not None:
        pointer = source.pointer.removeprefix("/output").removeprefix("/message")
        return " ".join(filter(None, (source.tool, source.call_key, pointer)))
    if source.trust == "context":
        return f"trusted context {source.pointer.removeprefix('/context')}"
    place = source.pointer.split("/")[2] if source.pointer.startswith("/input/") else ""
    message = f", message {int(place) + 1}" if place.isdigit() else ""
    return f"{_SAID_BY.get(source.trust, source.trust)}{message}"


def cited_text(source: Source) -> str:
    """Return the passage that a source belongs to, or an empty text."""
    citation = source.citation
    if citation is None:
        return ""
    version = f" version {citation.version}" if citation.version else ""
    section = f", section {citation.section}" if citation.section else ""
    return f"{citation.document}{version}{section}"


def passage_text(citation: Citation) -> str:
    """Return a passage as its document, version and section, as far as they are known."""
    version = f"version {citation.version}" if citation.version else None
    return ", ".join(filter(None, (citation.document, version, citation.section)))


def rule_text(source: Source) -> str:
    """Return the rule by which a source matches, where it isn't plain, and what is uncertain about it."""
    rule = "" if source.rule in _PLAIN_RULES else source.rule.replace("_", " ")
    return "; ".join(filter(None, (rule, source.note)))


def quote_parts(source: Source) -> tuple[str, str, str]:
    """Return a quote as what stands before the match, the match, and what stands after it."""
    start, end = source.quoted
    return source.quote[:start], source.quote[start:end], source.quote[end:]


def mention_text(argument: Argument) -> str:
    """Say where the model wrote a value first."""
    mention = argument.first_mentioned
    if mention is None or mention.step is None:
        return ""
    call = f", call {mention.call_key}" if mention.call_key else ""
    return f"first mentioned by the model in turn {mention.step}{call}"


def node_text(node: Node) -> str:
    """Return the headline of a step of the chain."""
    if node.kind == "message":
        return f"{_SAID_BY.get(node.title, node.title)}, message {int(node.id.rpartition('/')[2]) + 1}"
    if node.kind == "context":
        return "trusted context"
    return " ".join(filter(None, (node.call_key, node.title)))


def parties(explanation: Explanation) -> list[str]:
    """Return who and what asked."""
    return [
        f"agent {explanation.agent} {explanation.agent_version}",
        *([f"model {explanation.model}"] if explanation.model else []),
        f"for {explanation.actor}",
        f"tenant {explanation.tenant}",
        f"trace {explanation.trace_id}",
    ]


def approval_lines(explanation: Explanation) -> list[str]:
    """Return what people were asked and decided, a sentence each; nothing where nobody was asked."""
    asked = explanation.approval
    if asked is None:
        return []
    people = "a person" if asked.needed == 1 else f"{asked.needed} people"
    lines = [f"{people} asked at {asked.asked_at}: {asked.status}"]
    lines += [f"{one.answer} by {one.by} at {one.at}: {one.reason}" for one in asked.answers]
    if asked.execution != "none":
        lines.append(f"effect: {asked.execution}")
    return lines


def counted(arguments: tuple[Argument, ...]) -> str:
    """Return how many arguments have each verdict, in the order of their first."""
    counts: dict[str, int] = {}
    for argument in arguments:
        counts[argument.verdict] = counts.get(argument.verdict, 0) + 1
    return ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in counts.items())
