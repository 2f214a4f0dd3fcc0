"""
An explanation as a Mermaid flowchart (mermaid.js.org, flowchart syntax of version 11).

A label is quoted, and every character that isn't plainly harmless in one is written as an entity code, so
no text of a record can end its label, add a node, or become markup.
"""

from collections.abc import Iterator
from typing import Final

from tachograph.adapters.exporters.visible import visible
from tachograph.adapters.exporters.wording import name_text, node_text, value_text
from tachograph.domain.why.explanation import Explanation, Node

LABEL_MAX: Final = 120
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:_/-")
_NAMES_MAX: Final = 6
# Some kinds, such as `call`, are words of the language itself.
_CLASSES: Final = """\
  classDef is_decision fill:#e8f0fe,stroke:#1a56db,stroke-width:2px,color:#111
  classDef is_call fill:#f6f6f6,stroke:#666,color:#111
  classDef is_message fill:#fff8e1,stroke:#b07d00,color:#111
  classDef is_context fill:#eef7ee,stroke:#3a7d3a,color:#111
  classDef is_error fill:#fdecea,stroke:#b3261e,color:#111
  classDef is_unsupported fill:#fdecea,stroke:#b3261e,stroke-width:3px,color:#b3261e"""


def flowchart(explanation: Explanation) -> str:
    """Return the chain of an explanation as a flowchart: what fed what, and what nothing fed."""
    return "\n".join(_lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    names = {node.id: f"n{number}" for number, node in enumerate(explanation.chain.nodes)}
    yield "flowchart TD"
    for node in explanation.chain.nodes:
        yield f'  {names[node.id]}["{_label(_said(node))}"]:::is_{node.kind}'
    for edge in explanation.chain.edges:
        shown = [name_text(pointer) for pointer in edge.pointers[:_NAMES_MAX]]
        more = len(edge.pointers) - len(shown)
        label = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        yield f'  {names[edge.source]} -->|"{_label(label)}"| {names[edge.target]}'
    made_up = 0
    for node in explanation.chain.nodes:
        for argument in node.arguments:
            if argument.verdict == "unsupported":
                said = f"{name_text(argument.pointer)} {value_text(argument)}: no evidence"
                yield f'  u{made_up}["{_label(said)}"]:::is_unsupported --> {names[node.id]}'
                made_up += 1
    yield _CLASSES


def _said(node: Node) -> str:
    return f"{node_text(node)}: {node.quote}" if node.quote else node_text(node)


def _label(text: str) -> str:
    cut = text if len(text) <= LABEL_MAX else f"{text[:LABEL_MAX]}..."
    shown = "".join(character if character in _PLAIN else f"#{ord(character)};" for character in visible(cut))
    return shown if shown.strip() else "#160;"
