"""
A model that answers from a script: for demos, simulations and tests.

It keeps no state. The reply is chosen by the request's `step`, so a run that is resumed in another
process goes on where the script had come to, and two runs can share one model.

A reply's text and arguments may refer to what a tool returned earlier in the same request:

    {{refund_preview/preview_digest}}     a JSON pointer into the latest output of that tool
    {{policy_search/passages/0/quote}}    ("~1" stands for "/" and "~0" for "~")

A text stands there as it is, any other value as its JSON text with the digits it was written with.
Within arguments it is escaped, so that it stays inside the quotes around the placeholder.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from tachograph.domain.errors import ModelError
from tachograph.domain.messages import ModelRequest
from tachograph.domain.ports import AskedCall, ModelReply
from tachograph.domain.values import json_text

_PLACEHOLDER: Final = re.compile(r"\{\{([A-Za-z0-9_-]{1,64})((?:/[^{}/]*)*)\}\}")


class ScriptedModel:
    """
    Answers the n-th turn of a run with the n-th entry of its script.

    A ModelError in the script is raised each time its turn is asked for; it is not a turn, so the run
    stays at that step until a script with a reply in that place resumes it.
    """

    def __init__(self, script: Sequence[ModelReply | ModelError]) -> None:
        self._script = tuple(script)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """
        Return the reply for the request's step, its placeholders filled.

        Raises:
            ModelError: The script says so, or has no reply for this step, or refers to a tool output
                that the request doesn't show.
        """
        if request.step > len(self._script):
            raise ModelError(
                f"the script has {len(self._script)} replies and the run asks for turn {request.step}"
            )
        entry = self._script[request.step - 1]
        if isinstance(entry, ModelError):
            raise entry.with_traceback(None)
        return _filled(entry, _Outputs(request))


class _Outputs:
    """The latest output of each tool, as the request shows it."""

    def __init__(self, request: ModelRequest) -> None:
        self._step = request.step
        self._latest: dict[str, str] = {}
        names: dict[str | None, str] = {}
        for message in request.messages:
            names |= {call.call_key: call.name for call in message.calls}
            if message.role == "tool" and not message.is_error and message.call_key in names:
                self._latest[names[message.call_key]] = message.content

    def text_at(self, tool: str, pointer: str) -> str:
        """Return what stands at the pointer, as text."""
        try:
            value: Any = json.loads(self._latest[tool], parse_float=Decimal)
            for token in pointer.split("/")[1:]:
                value = _member(value, token.replace("~1", "/").replace("~0", "~"))
        except (LookupError, ValueError):
            raise ModelError(
                f"scripted reply {self._step} refers to {tool}{pointer}, which the request doesn't show"
            ) from None
        return value if isinstance(value, str) else json_text(value)


def _member(value: object, token: str) -> object:
    if isinstance(value, Mapping):
        return value[token]
    if isinstance(value, list) and token.isdecimal():
        return value[int(token)]
    raise LookupError(token)


def _filled(reply: ModelReply, outputs: _Outputs) -> ModelReply:
    calls = tuple(_filled_call(call, outputs) for call in reply.calls)
    text = None if reply.text is None else _PLACEHOLDER.sub(lambda m: outputs.text_at(m[1], m[2]), reply.text)
    return replace(reply, text=text, calls=calls)


def _filled_call(call: AskedCall, outputs: _Outputs) -> AskedCall:
    if call.arguments is None:
        return call
    filled = _PLACEHOLDER.sub(lambda m: json.dumps(outputs.text_at(m[1], m[2]))[1:-1], call.arguments)
    return replace(call, arguments=filled)
