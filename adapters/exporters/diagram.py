"""The chain of an explanation as a drawing: in layers, from the customer's words down to the decision."""

import textwrap
from dataclasses import dataclass
from typing import Final

from tachograph.adapters.exporters.wording import name_text, node_text, value_text
from tachograph.domain.why.explanation import Chain, Edge

WIDTH: Final = 250
HEIGHT: Final = 74
GAP_X: Final = 26
GAP_Y: Final = 56
MARGIN: Final = 12
_LINE_MAX: Final = 36
_NAMES_MAX: Final = 40
_MADE_UP_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class Box:
    """A step of the chain, or a value that nothing fed."""

    kind: str
    title: str
    lines: tuple[str, ...]
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line from one box to another, with the names of the arguments that it fed."""

    path: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Diagram:
    """A drawing, in pixels."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def diagram(chain: Chain) -> Diagram:
    """Lay a chain out: each step below all that fed it, those of one layer side by side."""
    layers = _layers(chain)
    made_up = [
        (f"{node.id}?{number}", node.id, f"{name_text(argument.pointer)} {value_text(argument)}")
        for node in chain.nodes
        for number, argument in enumerate(node.arguments)
        if argument.verdict == "unsupported"
    ][:_MADE_UP_MAX]
    if any(layers[target] == 0 for _, target, _ in made_up):
        layers = {node_id: layer + 1 for node_id, layer in layers.items()}
    layers |= {box_id: layers[target] - 1 for box_id, target, _ in made_up}
    titles: dict[str, tuple[str, str, str]] = {
        node.id: (node.kind, node_text(node), node.quote) for node in chain.nodes
    }
    titles |= {box_id: ("unsupported", "made up by the model", said) for box_id, _, said in made_up}
    rows: dict[int, list[str]] = {}
    for box_id, layer in layers.items():
        rows.setdefault(layer, []).append(box_id)
    widest = max((len(row) for row in rows.values()), default=0)
    width = 2 * MARGIN + widest * WIDTH + max(0, widest - 1) * GAP_X
    boxes: dict[str, Box] = {}
    for place, layer in enumerate(sorted(rows)):
        row = rows[layer]
        left = (width - len(row) * WIDTH - (len(row) - 1) * GAP_X) / 2
        for number, box_id in enumerate(row):
            kind, title, said = titles[box_id]
            lines = tuple(textwrap.wrap(said[:200], _LINE_MAX, max_lines=2, placeholder="…"))
            x, y = left + number * (WIDTH + GAP_X), MARGIN + place * (HEIGHT + GAP_Y)
            boxes[box_id] = Box(kind, _cut(title, _LINE_MAX), lines, x, y)
    height = 2 * MARGIN + len(rows) * HEIGHT + max(0, len(rows) - 1) * GAP_Y
    edges = [*chain.edges, *(Edge(box_id, target, ()) for box_id, target, _ in made_up)]
    arrows = tuple(_arrow(boxes[edge.source], boxes[edge.target], edge) for edge in edges)
    return Diagram(width, height, tuple(boxes.values()), arrows)


def _layers(chain: Chain) -> dict[str, int]:
    """Return for each step the length of the longest way to it. Edges lead forward in the record."""
    layers = {node.id: 0 for node in chain.nodes}
    order = {node.id: place for place, node in enumerate(chain.nodes)}
    for edge in sorted(chain.edges, key=lambda edge: order[edge.source]):
        if order[edge.source] < order[edge.target]:
            layers[edge.target] = max(layers[edge.target], layers[edge.source] + 1)
    return layers


def _arrow(start: Box, end: Box, edge: Edge) -> Arrow:
    x1, y1 = start.x + WIDTH / 2, start.y + HEIGHT
    x2, y2 = end.x + WIDTH / 2, end.y
    middle = (y1 + y2) / 2
    path = f"M{x1:.0f},{y1:.0f} C{x1:.0f},{middle:.0f} {x2:.0f},{middle:.0f} {x2:.0f},{y2:.0f}"
    names = ", ".join(name_text(pointer) for pointer in edge.pointers)
    return Arrow(path, _cut(names, _NAMES_MAX), (x1 + x2) / 2, middle)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
