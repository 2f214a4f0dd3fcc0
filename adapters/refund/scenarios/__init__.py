"""
The bundled scenarios: a customer's message, the replies of a scripted model, and how the run must end.

Each is a TOML file in this folder, named after the scenario. A reply's calls give their arguments as a
table, or as a text to be sent as it is; amounts are texts, never numbers with a fraction. Replies may
hold the placeholders of `ScriptedModel`.
"""

import json
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tachograph.domain.budget import Usage
from tachograph.domain.context import TrustedContext
from tachograph.domain.errors import TachographError
from tachograph.domain.events import ErrorCode, Outcome
from tachograph.domain.ports import AskedCall, ModelReply

TENANT: Final = "lantern-lane"
_FOLDER: Final = "tachograph.adapters.refund.scenarios"


class UnknownScenario(TachographError, LookupError):
    """No scenario has this name."""

    def __init__(self, name: str) -> None:
        known = scenario_names()
        super().__init__(f"no scenario {name[:100]!r}; there are: {', '.join(known)}")
        self.name = name
        self.known = known


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scripted run of the refund agent and the end that it must come to."""

    name: str
    title: str
    shows: str
    context: TrustedContext
    input: str
    replies: tuple[ModelReply, ...]
    expected_outcome: Outcome
    expected_reason: str | None
    expected_errors: tuple[ErrorCode, ...]


def scenario_names() -> tuple[str, ...]:
    """Name the bundled scenarios, in alphabetical order."""
    names = (entry.name for entry in files(_FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_scenario(name: str) -> Scenario:
    """Return a bundled scenario. Raises UnknownScenario, which names those that there are."""
    if name not in scenario_names():
        raise UnknownScenario(name)
    text = files(_FOLDER).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return read_scenario(name, text)


def read_scenario(name: str, text: str) -> Scenario:
    """
    Return the scenario that a TOML text describes.

    Raises:
        ValueError: It is not TOML, or not the form that scenarios have.
    """
    loaded = _ScenarioFile.model_validate(tomllib.loads(text, parse_float=Decimal))
    return Scenario(
        name=name,
        title=loaded.title,
        shows=loaded.shows,
        context=TrustedContext(
            trace_id=f"demo-{name}", tenant=TENANT, actor=loaded.customer, customer=loaded.customer
        ),
        input=loaded.input.strip(),
        replies=tuple(_reply(turn, reply) for turn, reply in enumerate(loaded.replies, 1)),
        expected_outcome=loaded.expected.outcome,
        expected_reason=loaded.expected.reason,
        expected_errors=tuple(loaded.expected.errors),
    )


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Expected(_Part):
    outcome: Outcome
    reason: str | None = None
    errors: list[ErrorCode] = []


class _Call(_Part):
    name: str
    arguments: dict[str, JsonValue] | str = {}


class _Tokens(_Part):
    read: int = Field(ge=0)
    written: int = Field(ge=0)


class _Reply(_Part):
    text: str | None = None
    calls: list[_Call] = []
    tokens: _Tokens | None = None


class _ScenarioFile(_Part):
    title: str = Field(min_length=1)
    shows: str = Field(min_length=1)
    customer: str
    input: str = Field(min_length=1)
    expected: _Expected
    replies: list[_Reply] = Field(min_length=1)


def _reply(turn: int, reply: _Reply) -> ModelReply:
    calls = tuple(
        AskedCall(call.name, _arguments(call), provider_id=f"call_{turn}_{index}")
        for index, call in enumerate(reply.calls, 1)
    )
    tokens = reply.tokens or _Tokens(read=0, written=0)
    return ModelReply(
        text=reply.text,
        calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        model="scripted",
        usage=Usage(tokens_in=tokens.read, tokens_out=tokens.written),
    )


def _arguments(call: _Call) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False)
