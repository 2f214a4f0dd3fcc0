"""Tachograph: runs an LLM agent, records every step, and rebuilds the run from the record."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tachograph.adapters.cancelling import cancel as cancel
    from tachograph.adapters.models.scripted import ScriptedModel as ScriptedModel
    from tachograph.adapters.running import RunOutcome as RunOutcome
    from tachograph.adapters.running import resume as resume
    from tachograph.adapters.running import run as run
    from tachograph.adapters.running import run_sync as run_sync
    from tachograph.adapters.stores.opening import open_store as open_store
    from tachograph.adapters.workers.submitting import submit as submit
    from tachograph.domain.agent import Agent as Agent
    from tachograph.domain.approvals.definition import Approval as Approval
    from tachograph.domain.budget import Budget as Budget
    from tachograph.domain.context import TrustedContext as TrustedContext
    from tachograph.domain.tools import TerminalTool as TerminalTool
    from tachograph.domain.tools import Tool as Tool
    from tachograph.domain.tools import ToolContext as ToolContext
    from tachograph.domain.tools import tool as tool
    from tachograph.domain.why.annotations import Evidence as Evidence
    from tachograph.domain.why.annotations import From as From

_HOMES = {
    "Agent": "domain.agent",
    "Approval": "domain.approvals.definition",
    "Budget": "domain.budget",
    "Evidence": "domain.why.annotations",
    "From": "domain.why.annotations",
    "RunOutcome": "adapters.running",
    "ScriptedModel": "adapters.models.scripted",
    "TerminalTool": "domain.tools",
    "Tool": "domain.tools",
    "ToolContext": "domain.tools",
    "TrustedContext": "domain.context",
    "cancel": "adapters.cancelling",
    "open_store": "adapters.stores.opening",
    "resume": "adapters.running",
    "run": "adapters.running",
    "run_sync": "adapters.running",
    "submit": "adapters.workers.submitting",
    "tool": "domain.tools",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `tachograph --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
