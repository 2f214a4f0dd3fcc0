"""The agent and the model that the user named."""

import importlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from tachograph.adapters.models.naming import PROVIDERS, provider_model, streaming
from tachograph.adapters.models.scripted import ScriptedModel
from tachograph.adapters.refund.scenarios import load_scenario, read_scenario, scenario_names
from tachograph.domain.agent import Agent
from tachograph.domain.errors import InvalidAgent
from tachograph.domain.ports import Model, ModelReply

BUNDLED: Final = "tachograph.adapters.refund.agent:refund_agent"
_SCRIPTED: Final = "scripted:"


def load_agent(name: str) -> Agent:
    """
    Import an agent named as MODULE:AGENT; modules of the current folder are found too.

    Raises:
        click.UsageError: The name has another form.
        InvalidAgent: No such module, nothing of that name in it, or the import fails.
    """
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise click.UsageError(
            f"{name[:100]!r} names no agent: write MODULE:AGENT, as in {BUNDLED}.",
        )
    found: object = _imported(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InvalidAgent(f"{module_name} has nothing named {attribute}")
        found = getattr(found, part)
    if not isinstance(found, Agent):
        raise InvalidAgent(f"{name} is of type {type(found).__name__}, not an Agent")
    return found


def load_model(
    name: str | None, base_url: str | None = None, on_text: Callable[[str], object] | None = None
) -> Model:
    """
    Return the model of a name: `scripted:SCENARIO`, `scripted:FILE.toml`, or `PROVIDER:MODEL`.

    Args:
        base_url: Of a server that speaks the provider's protocol.
        on_text: Told the text of an answer as it arrives.
    Raises:
        click.UsageError: There is no such model; the message says which there are.
        InvalidAgent, ExtraMissing: As `provider_model`.
    """
    if name is None:
        raise click.UsageError(f"Which model is to answer? Give --model. There are: {_known()}.")
    if name.startswith(_SCRIPTED):
        if base_url is not None or on_text is not None:
            raise click.UsageError("--base-url and --stream are for models of a provider.")
        return ScriptedModel(_replies(name.removeprefix(_SCRIPTED)))
    if name.partition(":")[0] not in PROVIDERS:
        raise click.UsageError(f"There is no model {name[:100]!r}. There are: {_known()}.")
    model = provider_model(name, base_url)
    return model if on_text is None else streaming(model, on_text)


def on_model(
    agent: Agent,
    name: str | None,
    base_url: str | None = None,
    on_text: Callable[[str], object] | None = None,
) -> tuple[Agent, Model]:
    """
    Return an agent and its model: the one that is named, or else the agent's own.

    A provider's model is recorded by its name with each turn.

    Raises:
        click.UsageError, InvalidAgent, ExtraMissing: As `load_model`.
    """
    if name is None and agent.model is not None and base_url is None and on_text is None:
        return agent, agent.model
    model = load_model(name, base_url, on_text)
    if name is None or name.startswith(_SCRIPTED):
        return agent, model
    return replace(agent, model_name=name), model


def named_model(agent: Agent, name: str | None) -> Agent:
    """
    Return an agent as it is recorded when a worker has a model answer it. The model itself isn't made.

    Raises:
        click.UsageError: There is no such model, or neither the agent has one nor is one named.
    """
    if name is None and agent.model is not None:
        return agent
    if name is None or name.startswith(_SCRIPTED) or name.partition(":")[0] not in PROVIDERS:
        load_model(name)
        return agent
    return replace(agent, model_name=name)


def model_of_trace(trace_id: str) -> str | None:
    """Return the name of the model that began a demo's run, None for any other trace."""
    scenario = trace_id.removeprefix("demo-")
    return f"{_SCRIPTED}{scenario}" if scenario != trace_id and scenario in scenario_names() else None


def _replies(script: str) -> tuple[ModelReply, ...]:
    if script in scenario_names():
        return load_scenario(script).replies
    if not script.endswith(".toml"):
        raise click.UsageError(f"There is no model {(_SCRIPTED + script)[:100]!r}. There are: {_known()}.")
    try:
        return read_scenario(Path(script).stem, Path(script).read_text(encoding="utf-8")).replies
    except (OSError, ValueError) as exc:
        raise click.UsageError(f"{script} can't be used as a script: {exc}") from exc


def _known() -> str:
    providers = ", ".join(f"{provider}:NAME" for provider in PROVIDERS)
    scripted = f"{_SCRIPTED}FILE.toml, and {_SCRIPTED}NAME with a NAME of: {', '.join(scenario_names())}"
    return f"{providers}, {scripted}"


def _imported(name: str) -> object:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        if exc.name is not None and f"{name}.".startswith(f"{exc.name}."):
            raise InvalidAgent(f"there is no module {exc.name}, neither here nor installed") from exc
        raise _import_failed(name, exc) from exc
    except (Exception, SystemExit) as exc:  # A module's own code runs here, and may raise anything.
        raise _import_failed(name, exc) from exc


def _import_failed(name: str, exc: BaseException) -> InvalidAgent:
    where = ""
    if isinstance(exc, SyntaxError):
        where = f" (line {exc.lineno} of {exc.filename})"
    elif frames := traceback.extract_tb(exc.__traceback__):
        where = f" (line {frames[-1].lineno} of {frames[-1].filename})"
    return InvalidAgent(f"importing {name} failed: {type(exc).__name__}: {exc}{where}")
