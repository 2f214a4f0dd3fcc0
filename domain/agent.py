"""An agent's definition: instructions, tools, terminals, budget, and their digests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tachograph.domain.budget import Budget
from tachograph.domain.context import TrustedContext
from tachograph.domain.definitions import digest_of
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.tools import TerminalTool, Tool, ToolOffer, permitted
from tachograph.domain.why.annotations import sources_of, stated_sources

if TYPE_CHECKING:
    from tachograph.domain.ports import Model


@dataclass(frozen=True)
class Agent:
    """
    What one kind of run is made of. Checked when it is built.

    Args:
        allowed: Names of the work tools that this agent may use; None means all of `tools`.
        model_name: What the record says was asked.
        model: Answers where a run is not given another one; no part of the definition.
        shown_max: Characters of one tool output that the model sees. The record keeps them all.
        output_max: Bytes of one tool output that are recorded; a larger one is an error.
        evidence_gate: Whether a terminal call is refused when an argument that its tool declares as
            `From` or `Evidence` has no evidence.

    Raises:
        InvalidAgent: A blank or doubled name, no terminal, an `allowed` name that doesn't exist, or a
            source that no tool of the agent is.
    """

    name: str
    version: str
    instructions: str
    terminals: tuple[TerminalTool, ...]
    tools: tuple[Tool, ...] = ()
    allowed: frozenset[str] | None = None
    budget: Budget = field(default_factory=Budget)
    model_name: str = "scripted"
    model: "Model | None" = field(default=None, compare=False, repr=False)
    shown_max: int = 100_000
    output_max: int = 64_000_000
    evidence_gate: bool = False

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools] + [tool.name for tool in self.terminals]
        doubled = {name for name in names if names.count(name) > 1}
        if not self.name.strip():
            raise InvalidAgent("an agent needs a name")
        if not self.terminals:
            raise InvalidAgent(f"{self.name}: without a terminal tool no run could end well")
        if doubled:
            raise InvalidAgent(f"{self.name}: two tools are named {', '.join(sorted(doubled))}")
        if self.allowed is not None and not self.allowed <= {tool.name for tool in self.tools}:
            raise InvalidAgent(f"{self.name}: `allowed` names a tool that isn't in `tools`")
        offered: list[Tool | TerminalTool] = [*self.tools, *self.terminals]
        for tool in offered:
            for source in sources_of(tool.arguments) - set(names):
                raise InvalidAgent(f"{self.name}: {tool.name} takes a value from {source}, which is no tool")
        effects = {t.approval.effect.name for t in self.terminals if t.approval and t.approval.effect}
        for name in effects & set(names):
            raise InvalidAgent(f"{self.name}: {name} is what an approval runs, so the model can't have it")

    @cached_property
    def tools_by_name(self) -> dict[str, Tool]:
        """Work tools by name, the ones that this agent may not use included."""
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def terminals_by_name(self) -> Mapping[str, TerminalTool]:
        """Terminal tools by name."""
        return {terminal.name: terminal for terminal in self.terminals}

    @cached_property
    def work_names(self) -> frozenset[str]:
        """Names of the work tools that this agent may use."""
        return frozenset(self.tools_by_name) if self.allowed is None else self.allowed

    @cached_property
    def catalogue_digest(self) -> str:
        """SHA-256 of the tools and terminals: names, descriptions, schemas, effects, outcomes."""
        return digest_of(_text(self._catalogue))

    @cached_property
    def definition_digest(self) -> str:
        """SHA-256 of all that the definition says; the handlers' code is not part of it."""
        return digest_of(self.definition)

    @cached_property
    def definition(self) -> str:
        """All that the definition says, as JSON text."""
        return _text(
            {
                "name": self.name,
                "version": self.version,
                "instructions": self.instructions,
                "model": self.model_name,
                "allowed": sorted(self.work_names),
                "budget": self.budget.model_dump(mode="json"),
                "shown_max": self.shown_max,
                "output_max": self.output_max,
                "catalogue": self._catalogue,
            }
            | ({"evidence_gate": True} if self.evidence_gate else {})
        )

    def offers(self, trusted: TrustedContext) -> tuple[ToolOffer, ...]:
        """Return what the model is offered: permitted work tools in order, then terminals."""
        permissions = frozenset(trusted.permissions)
        if permissions not in self._offers:
            work = [tool for tool in self.tools if tool.name in self.work_names and permitted(tool, trusted)]
            offered: list[Tool | TerminalTool] = [*work, *self.terminals]
            self._offers[permissions] = tuple(
                ToolOffer(tool.name, tool.description, tool.schema) for tool in offered
            )
        return self._offers[permissions]

    @cached_property
    def _offers(self) -> dict[frozenset[str], tuple[ToolOffer, ...]]:
        return {}

    @cached_property
    def _catalogue(self) -> list[dict[str, Any]]:
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "schema": tool.schema,
                "effect": tool.effect,
                "timeout_s": tool.timeout_s,
                "permission": tool.permission,
            }
            | _declarations(tool)
            for tool in self.tools
        ] + [
            {
                "name": terminal.name,
                "description": terminal.description,
                "schema": terminal.schema,
                "outcome": terminal.outcome,
            }
            | _declarations(terminal)
            | ({"approval": terminal.approval.described} if terminal.approval else {})
            for terminal in self.terminals
        ]


def _declarations(tool: Tool | TerminalTool) -> dict[str, Any]:
    """Return what a tool says about its arguments beyond its schema."""
    stated = stated_sources(tool.arguments)
    return {"sources": dict(stated)} if stated else {}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
