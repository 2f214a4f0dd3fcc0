"""
The format `tau2`: a JSON object of `info` and `simulations`, each with its `messages`.

The policy stands in `info.environment_info` (a simulation may have its own), the model in
`info.agent_info`. Arguments are objects: they are written out compactly, with the same order of keys
and the same digits. Times without an offset are taken as UTC. A message's own time is used when all
messages of the conversation have one, otherwise the start of the simulation. The customer's own
tool calls, which the agent never saw, can't be imported. Members that this page doesn't name
(`tasks`, `reward_info`, `raw_data`) are not part of the conversation and are left out.
"""

import hashlib
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from tachograph.adapters.importers.conversation import (
    CALLS_MAX,
    MESSAGES_MAX,
    NO_USAGE,
    Clock,
    Conversation,
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
    says_error,
)
from tachograph.adapters.importers.document import Node, compact, load, node, nodes
from tachograph.domain.budget import Usage
from tachograph.domain.errors import ImportRejected

FORMAT: Final = "tau2"
POLICIES_MAX: Final = 250_000_000  # characters of policy in all conversations together

_TOKENS = re.compile(r"\d{1,15}\Z", re.ASCII)
_COST = re.compile(r"\d{1,12}(\.\d{1,30})?([eE][+-]?\d{1,2})?\Z", re.ASCII)


def parse(file: str, data: bytes) -> list[Conversation]:
    """
    Read the conversations of a file.

    Args:
        file: Its name, for messages.
    Raises:
        ImportRejected: The file breaks the format; nothing of it should be imported.
    """
    document = load(file, data)
    if not isinstance(document, dict) or not isinstance(document.get("simulations"), list):
        raise ImportRejected(
            f"{file}: a {FORMAT} file is an object with a list of `simulations`, and this one is not"
        )
    if not document["simulations"]:
        raise ImportRejected(f"{file}: the file holds no conversations")
    info = node(file, (), document).object_or_none("info")
    environment = info.object_or_none("environment_info") if info else None
    policy = environment.text_or_none("policy") if environment else None
    if environment and policy and len(policy) * len(document["simulations"]) > POLICIES_MAX:
        environment.reject("the policy is too long to be written into each conversation")
    digest = hashlib.sha256(data).hexdigest()
    simulations = nodes(file, ("simulations",), document["simulations"])
    return [_conversation(simulation, info, digest, index) for index, simulation in enumerate(simulations)]


def _conversation(simulation: Node, info: Node | None, digest: str, index: int) -> Conversation:
    names = [("task", "task_id"), ("trial", "trial"), ("simulation", "id")]
    values = [(word, simulation.name_or_none(member)) for word, member in names]
    environment = info.object_or_none("environment_info") if info else None
    agent = info.object_or_none("agent_info") if info else None
    shared_policy = environment.text_or_none("policy") if environment else None
    own_policy = simulation.text_or_none("policy")
    domain = environment.name_or_none("domain_name") if environment else None
    messages = tuple(_message(message) for message in simulation.objects("messages", at_most=MESSAGES_MAX))
    started_at = _time(simulation, "start_time")
    clock: Clock = "none" if started_at is None else "conversation"
    return Conversation(
        format=FORMAT,
        digest=digest,
        index=index,
        label=", ".join(f"{word} {value}" for word, value in values if value is not None),
        messages=messages,
        agent=domain or FORMAT,
        model=(agent.name_or_none("llm") if agent else None) or "unknown",
        policy=shared_policy if own_policy is None else own_policy,
        started_at=started_at,
        clock="message" if messages and all(message.at for message in messages) else clock,
    )


def _message(message: Node) -> ForeignMessage:
    role, text, at = message.text("role"), message.text_or_none("content"), _time(message, "timestamp")
    calls = message.objects_if_any("tool_calls", at_most=CALLS_MAX)
    if message.text_or_none("requestor") == "user" or (calls and role == "user"):
        message.reject("the customer's own tool calls can't be imported: the agent never saw them")
    if role == "assistant":
        asked = tuple(_call(call) for call in calls)
        return Utterance("assistant", text, asked, at, _usage(message), _cost(message))
    if calls:
        message.reject(f"only the assistant calls tools, not {role[:50]!r}")
    if role in ("system", "user"):
        return Utterance("system" if role == "system" else "user", text, at=at)
    if role == "tool":
        is_error = message.flag("error") or says_error(text)
        return ToolResult(message.text_or_none("id"), message.text_or_none("name"), text, is_error, at)
    message.reject(f"the role must be system, user, assistant or tool, not {role[:50]!r}")


def _call(call: Node) -> ForeignCall:
    arguments = call.object_or_none("arguments")
    try:
        text = None if arguments is None else compact(arguments.members)
    except ValueError as exc:
        call.reject(f"arguments: {exc}")
    return ForeignCall(call.text_or_none("id"), call.text("name"), text)


def _usage(message: Node) -> Usage:
    usage = message.object_or_none("usage")
    if usage is None:
        return NO_USAGE
    return Usage(tokens_in=_tokens(usage, "prompt_tokens"), tokens_out=_tokens(usage, "completion_tokens"))


def _tokens(usage: Node, name: str) -> int:
    lexeme = usage.number_or_none(name)
    if lexeme is not None and not _TOKENS.match(lexeme):
        usage.reject(f"{name} must be a count, not {lexeme[:40]}")
    return int(lexeme or "0")


def _cost(message: Node) -> Decimal | None:
    lexeme = message.number_or_none("cost")
    if lexeme is not None and not _COST.match(lexeme):
        message.reject(f"cost must be an amount, not {lexeme[:40]}")
    return None if lexeme is None else Decimal(lexeme)


def _time(place: Node, name: str) -> datetime | None:
    text = place.text_or_none(name)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        place.reject(f"{name} must be an ISO 8601 time, not {text[:50]!r}")
