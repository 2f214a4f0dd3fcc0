"""
The format `tau-bench`: a JSON list of `{task_id, trial, reward, info, traj}`.

`traj` is a conversation in OpenAI's form, its first message the policy. Arguments are JSON text and
are kept as they are. The file names neither agent nor model, and has no times. Members that this
page doesn't name (`reward`, `info`) are not part of the conversation and are left out.
"""

import hashlib
from typing import Final

from tachograph.adapters.importers.conversation import (
    CALLS_MAX,
    MESSAGES_MAX,
    Conversation,
    ForeignCall,
    ForeignMessage,
    ToolResult,
    Utterance,
    says_error,
)
from tachograph.adapters.importers.document import Node, load, nodes
from tachograph.domain.errors import ImportRejected

FORMAT: Final = "tau-bench"

_CARRY_WORDS: Final = ("function_call", "refusal", "audio")  # what a message may say elsewhere


def parse(file: str, data: bytes) -> list[Conversation]:
    """
    Read the conversations of a file.

    Args:
        file: Its name, for messages.
    Raises:
        ImportRejected: The file breaks the format; nothing of it should be imported.
    """
    document = load(file, data)
    if not isinstance(document, list):
        raise ImportRejected(f"{file}: a {FORMAT} file is a list of conversations, and this one is not")
    if not document:
        raise ImportRejected(f"{file}: the file holds no conversations")
    digest = hashlib.sha256(data).hexdigest()
    return [_conversation(node, digest, index) for index, node in enumerate(nodes(file, (), document))]


def _conversation(node: Node, digest: str, index: int) -> Conversation:
    names = [("task", node.name_or_none("task_id")), ("trial", node.name_or_none("trial"))]
    return Conversation(
        format=FORMAT,
        digest=digest,
        index=index,
        label=", ".join(f"{word} {value}" for word, value in names if value is not None),
        messages=tuple(_message(message) for message in node.objects("traj", at_most=MESSAGES_MAX)),
        agent=FORMAT,
    )


def _message(node: Node) -> ForeignMessage:
    for name in _CARRY_WORDS:
        if node.members.get(name) is not None:
            node.reject(f"{name} can't be imported")
    calls = tuple(_call(call) for call in node.objects_if_any("tool_calls", at_most=CALLS_MAX))
    text = node.text_or_none("content")
    role = node.text("role")
    if role == "assistant":
        return Utterance("assistant", text, calls)
    if calls:
        node.reject(f"only the assistant calls tools, not {role[:50]!r}")
    if role in ("system", "user"):
        return Utterance("system" if role == "system" else "user", text)
    if role == "tool":
        return ToolResult(
            node.text_or_none("tool_call_id"), node.text_or_none("name"), text, says_error(text)
        )
    node.reject(f"the role must be system, user, assistant or tool, not {role[:50]!r}")


def _call(node: Node) -> ForeignCall:
    if node.text_or_none("type") not in (None, "function"):
        node.reject("type must be function")
    function = node.object_or_none("function")
    if function is None:
        node.reject("function is missing")
    return ForeignCall(node.text_or_none("id"), function.text("name"), function.text_or_none("arguments"))
