"""How a decision came about: from its arguments back to the words that came in from outside."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID

from tachograph.domain.why.argument import Argument, Citation, Source
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.explanation import Chain, Edge, Node
from tachograph.domain.why.sources import QUOTE_MAX, cited

NODES_MAX: Final = 200

# Judges the call with a key of a run: its arguments, or nothing when the record has no such call.
Judge = Callable[[UUID, str], tuple[Argument, ...]]


def chain_of(evidence: Evidence, decision: Node, judge: Judge) -> Chain:
    """
    Return the calls and messages that a decision's arguments come from, and theirs in turn.

    Of each argument the best source is followed and the best passage of a policy; of a derived one all
    sources. At most NODES_MAX steps.
    """
    nodes = {decision.id: decision}
    edges: dict[tuple[str, str], list[str]] = {}
    waiting = [decision]
    while waiting:
        node = waiting.pop(0)
        for argument in node.arguments:
            for source in _followed(argument):
                origin = _node(source)
                if origin.id not in nodes:
                    if len(nodes) >= NODES_MAX:
                        continue
                    if source.call_key is not None and source.kind == "tool_call":
                        judged = judge(source.run_id, source.call_key)
                        origin = replace(origin, arguments=tuple(map(_with_best_source, judged)))
                        waiting.append(origin)
                    nodes[origin.id] = origin
                nodes[origin.id] = _citing(nodes[origin.id], source)
                pointers = edges.setdefault((origin.id, node.id), [])
                if argument.pointer not in pointers:
                    pointers.append(argument.pointer)
    order = {node.id: place for place, node in enumerate(_in_order(evidence, nodes, decision))}
    return Chain(
        tuple(nodes[node_id] for node_id in order),
        tuple(
            Edge(start, end, tuple(pointers))
            for (start, end), pointers in sorted(
                edges.items(), key=lambda edge: (order[edge[0][0]], order[edge[0][1]])
            )
        ),
    )


def _followed(argument: Argument) -> tuple[Source, ...]:
    inside = tuple(source for part in argument.parts for source in part.sources)
    if argument.verdict == "derived":
        return (*argument.sources, *inside)
    return (*argument.sources[:1], *cited(argument.sources[1:]), *inside)


def _with_best_source(argument: Argument) -> Argument:
    return replace(argument, sources=argument.sources[:1])


def node_id(source: Source) -> str:
    """Return the id of the step that a source belongs to."""
    place = f"{source.run_id}/{source.version}"
    if source.trust == "context":
        return f"{place}/context"
    if source.kind == "run_started":
        return f"{place}/{'/'.join(source.pointer.split('/')[1:3])}"
    return place


def _node(source: Source) -> Node:
    name, run_id, version = node_id(source), source.run_id, source.version
    if source.trust == "context":
        return Node(name, "context", "context", run_id, version)
    if source.kind == "run_started":
        return Node(name, "message", source.trust, run_id, version, quote=source.quote[:QUOTE_MAX])
    failed = source.trust == "error"
    return Node(name, "error" if failed else "call", source.tool or "", run_id, version, source.call_key)


def _citing(node: Node, source: Source) -> Node:
    citation: Citation | None = source.citation
    if citation is None or citation in node.citations:
        return node
    return replace(node, citations=(*node.citations, citation))


def _in_order(evidence: Evidence, nodes: dict[str, Node], decision: Node) -> Iterator[Node]:
    places: dict[tuple[UUID, int], int] = {}
    for number, document in enumerate(evidence.index.documents):
        places.setdefault((document.origin.run_id, document.origin.version), number)
    others = [node for node in nodes.values() if node.id != decision.id]
    yield from sorted(others, key=lambda node: (places[node.run_id, node.version], node.id))
    yield decision
