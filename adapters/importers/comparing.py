"""Whether two sequences of messages say the same: by role, text, calls and ids, not by layout of JSON."""

import hashlib
import json
from typing import Final

from tachograph.adapters.importers.conversation import ForeignMessage, ToolResult

NOTHING: Final = b""


def next_end(end: bytes, message: ForeignMessage) -> bytes:
    """Return the digest of what a digest stands for and one message more."""
    if isinstance(message, ToolResult):
        said: list[object] = ["tool", message.provider_id or "", message.text or ""]
    else:
        calls = [[call.provider_id or "", call.name, plain(call.arguments)] for call in message.calls]
        said = [message.role, message.text or "", calls]
    return hashlib.sha256(end + json.dumps(said).encode()).digest()


def plain(arguments: str | None) -> str:
    """Return arguments without the layout of their JSON."""
    try:
        return json.dumps(json.loads(arguments or "{}", parse_int=str, parse_float=str), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments or ""
