"""
An explanation as PROV-JSON (W3C member submission of 24 April 2013, www.w3.org/submissions/prov-json).

    entities      each value of the decision, and each source of one
    activities    the decision, and the calls of its chain
    agents        the agent, its model, and whoever it acted for
"""

from typing import Any, Final
from uuid import UUID

from tachograph.adapters.exporters.wording import name_text, node_text, value_text, where_text
from tachograph.domain.values import json_text
from tachograph.domain.why.argument import Argument, Source
from tachograph.domain.why.chain import node_id
from tachograph.domain.why.explanation import Explanation, Node

PREFIX: Final = "tachograph"
NAMESPACE: Final = "urn:tachograph:"

_Attributes = dict[str, Any]


def prov_json(explanation: Explanation) -> str:
    """Return an explanation as one PROV-JSON document; the same explanation gives the same text."""
    document = _Document()
    decided = _id("decision", f"{explanation.run_id}")
    by_agent, by_model = _id("agent", "agent"), _id("agent", "model")
    actor = _id("agent", "actor")
    document.add(
        "agent", by_agent, _agent(f"{explanation.agent} {explanation.agent_version}", "SoftwareAgent")
    )
    document.add("agent", actor, _agent(explanation.actor, "Person"))
    document.relate("actedOnBehalfOf", delegate=by_agent, responsible=actor)
    if explanation.model is not None:
        document.add("agent", by_model, _agent(explanation.model, "SoftwareAgent"))
        document.relate("wasAssociatedWith", activity=decided, agent=by_model)
    document.add(
        "activity",
        decided,
        {
            "prov:label": explanation.sentence,
            f"{PREFIX}:run": str(explanation.run_id),
            f"{PREFIX}:explanation": f"{explanation.version} {explanation.digest}",
        },
    )
    document.relate("wasAssociatedWith", activity=decided, agent=by_agent)
    places = _add_chain(document, explanation, decided, actor)
    for number, argument in enumerate(explanation.arguments):
        _add_argument(document, f"{number}", argument, decided, places)
    return json_text(document.parts)


def prov_json_of_unknown(run_id: UUID, why: str) -> str:
    """Return the PROV-JSON document of a run that can't be explained: its decision, and why not."""
    document = _Document()
    document.add(
        "activity", _id("decision", f"{run_id}"), {f"{PREFIX}:run": str(run_id), f"{PREFIX}:unreadable": why}
    )
    return json_text(document.parts)


class _Document:
    def __init__(self) -> None:
        self.parts: dict[str, Any] = {"prefix": {PREFIX: NAMESPACE}}
        self._relations = 0

    def add(self, kind: str, name: str, attributes: _Attributes) -> None:
        self.parts.setdefault(kind, {})[name] = attributes

    def relate(self, kind: str, **ends: str) -> None:
        self._relations += 1
        attributes = {f"prov:{end}": name for end, name in ends.items()}
        self.parts.setdefault(kind, {})[f"_:r{self._relations}"] = attributes


def _add_chain(document: _Document, explanation: Explanation, decided: str, actor: str) -> dict[str, str]:
    """Add the steps of the chain and return their names, by the place in the record that each is."""
    names = {
        node.id: decided if node.kind == "decision" else _id("step", f"{number}")
        for number, node in enumerate(explanation.chain.nodes)
    }
    for node in explanation.chain.nodes:
        if node.kind in ("call", "error"):
            document.add("activity", names[node.id], _step(node))
        elif node.kind != "decision":
            document.add("entity", names[node.id], _step(node))
            if node.title in ("customer", "context"):
                document.relate("wasAttributedTo", entity=names[node.id], agent=actor)
    for edge in explanation.chain.edges:
        source = names[edge.source]
        if source in document.parts.get("activity", {}):
            document.relate("wasInformedBy", informed=names[edge.target], informant=source)
        else:
            document.relate("used", activity=names[edge.target], entity=source)
    return names


def _add_argument(
    document: _Document, name: str, argument: Argument, decided: str, places: dict[str, str]
) -> None:
    value = _id("value", name)
    attributes = {
        "prov:label": f"{name_text(argument.pointer)} {value_text(argument)}",
        f"{PREFIX}:pointer": argument.pointer,
        f"{PREFIX}:value": value_text(argument),
        f"{PREFIX}:verdict": argument.verdict,
    }
    document.add("entity", value, attributes)
    document.relate("wasGeneratedBy", entity=value, activity=decided)
    _add_sources(document, name, argument.sources, places)
    for number, part in enumerate(argument.parts):
        inside = f"{name}-{number}"
        label = {"prov:label": part.value, f"{PREFIX}:value": part.value, f"{PREFIX}:verdict": part.verdict}
        document.add("entity", _id("value", inside), label)
        document.relate("hadMember", collection=value, entity=_id("value", inside))
        _add_sources(document, inside, part.sources, places)


def _add_sources(document: _Document, name: str, sources: tuple[Source, ...], places: dict[str, str]) -> None:
    """Add the sources of a value, each with the call that returned it or the message that it stands in."""
    for number, source in enumerate(sources):
        found = _id("source", f"{name}-{number}")
        document.add("entity", found, _source(source))
        document.relate("wasDerivedFrom", generatedEntity=_id("value", name), usedEntity=found)
        place = places.get(node_id(source))
        if place in document.parts.get("activity", {}):
            document.relate("wasGeneratedBy", entity=found, activity=str(place))
        elif place is not None:
            document.relate("wasDerivedFrom", generatedEntity=found, usedEntity=place)


def _step(node: Node) -> _Attributes:
    return {
        "prov:label": node_text(node),
        f"{PREFIX}:kind": node.kind,
        f"{PREFIX}:run": str(node.run_id),
        f"{PREFIX}:version": str(node.version),
    }


def _source(source: Source) -> _Attributes:
    return {
        "prov:label": where_text(source),
        f"{PREFIX}:run": str(source.run_id),
        f"{PREFIX}:version": str(source.version),
        f"{PREFIX}:pointer": source.pointer,
        f"{PREFIX}:rule": source.rule,
        f"{PREFIX}:quote": source.quote,
    }


def _agent(label: str, kind: str) -> _Attributes:
    return {"prov:label": label, "prov:type": {"$": f"prov:{kind}", "type": "prov:QUALIFIED_NAME"}}


def _id(kind: str, name: str) -> str:
    return f"{PREFIX}:{kind}-{name}"
