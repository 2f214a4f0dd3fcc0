"""
The chain of an explanation as a drawing: a box a step, in the order of the record, arcs beside them.

Boxes stand one below the other, so no line crosses one; an arc leads from a box to each that it fed, the
farther the wider, with the names of the arguments at its end.
"""

import textwrap
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

from tachograph.adapters.exporters.visible import visible
from tachograph.adapters.exporters.wording import name_text, node_text, passage_text, value_text
from tachograph.domain.why.explanation import Chain, Edge, Node

WIDTH: Final = 460
_MARGIN: Final = 2
_GAP: Final = 18
_TITLE: Final = 26
_LINE: Final = 16
_ARC: Final = 46
_ARC_STEP: Final = 20
_ARC_MAX: Final = 240
_LABELS: Final = 330  # pixels beside the arcs
_LINE_MAX: Final = 66
_NAMES_MAX: Final = 60
_SHOWN_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Box:
    """A step of the chain, or a value that nothing fed."""

    kind: str
    title: str
    lines: tuple[str, ...]
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arc from one box to another, and the names of the arguments that it fed, with their place."""

    path: str
    label: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Diagram:
    """A drawing, in pixels. All boxes are WIDTH wide."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def diagram(chain: Chain) -> Diagram:
    """Lay a chain out. A value without evidence gets a box of its own, right before the step it went into."""
    edges: list[Edge] = list(chain.edges)
    order: list[tuple[str, str, str, tuple[str, ...]]] = []
    for node in chain.nodes:
        for number, argument in enumerate(node.arguments):
            if argument.verdict == "unsupported":
                box_id = f"{node.id}?{number}"
                said = f"{name_text(argument.pointer)} {value_text(argument)}"
                order.append((box_id, "unsupported", "without evidence", _lines(said)))
                edges.append(Edge(box_id, node.id, (argument.pointer,)))
        order.append((node.id, node.kind, node_text(node), _said(node)))
    boxes: dict[str, Box] = {}
    y = _MARGIN
    for box_id, kind, title, lines in order:
        incoming = sum(edge.target == box_id for edge in edges)
        height = max(_TITLE + _LINE * len(lines) + 8, _LINE * (incoming + 1))
        boxes[box_id] = Box(kind, _cut(title, _LINE_MAX - 6), lines, y, height)
        y += height + _GAP
    places = {box_id: place for place, box_id in enumerate(boxes)}
    ends: dict[str, int] = {}
    arrows: list[Arrow] = []
    for edge in sorted(edges, key=lambda edge: (places[edge.target], -places[edge.source])):
        ends[edge.target] = ends.get(edge.target, 0) + 1
        span = places[edge.target] - places[edge.source]
        arrows.append(_arrow(boxes[edge.source], boxes[edge.target], edge, span, ends[edge.target]))
    width = WIDTH + _LABELS + (min(_ARC + _ARC_STEP * len(boxes), _ARC_MAX) if arrows else 0)
    return Diagram(width, y - _GAP + _MARGIN, tuple(boxes.values()), tuple(arrows))


def _arrow(start: Box, end: Box, edge: Edge, span: int, number: int) -> Arrow:
    """Return the arc of an edge; `number`: its place among those that end at the same box, from 1."""
    reach = WIDTH + min(_ARC + _ARC_STEP * span, _ARC_MAX)
    y1, y2 = start.y + start.height // 2, end.y + _LINE * number
    path = f"M{WIDTH},{y1} C{reach},{y1} {reach},{y2} {WIDTH + 2},{y2}"
    names = ", ".join(name_text(pointer) for pointer in edge.pointers)
    return Arrow(path, _cut(names, _NAMES_MAX), WIDTH + 16, y2 + 4)


def _said(node: Node) -> tuple[str, ...]:
    cited = list(map(passage_text, node.citations))
    if node.quote:
        return (*_lines(node.quote), *cited[:_SHOWN_MAX])
    if node.kind == "decision":
        return ()
    given = [f"{name_text(one.pointer)}: {value_text(one)}" for one in node.arguments]
    more = [f"and {len(given) - _SHOWN_MAX} more"] if len(given) > _SHOWN_MAX else []
    return tuple(_cut(line, _LINE_MAX) for line in (*given[:_SHOWN_MAX], *more, *cited[:_SHOWN_MAX]))


def _lines(text: str) -> tuple[str, ...]:
    shown = visible(text[:300])
    wide = cell_len(shown) > len(shown)
    return tuple(textwrap.wrap(shown, _LINE_MAX // (2 if wide else 1), max_lines=2, placeholder="…"))


def _cut(text: str, most: int) -> str:
    """Cut a text, made visible first: what is spelled out is longer, and some characters are wide."""
    shown = visible(text[: 2 * most])
    if cell_len(shown) <= most and len(text) <= 2 * most:
        return shown
    return f"{set_cell_size(shown, most - 1).rstrip()}…"
