"""Foreign texts on their way into events."""

from tachograph.adapters.importers.conversation import ForeignMessage, ToolResult
from tachograph.domain.origins import Message
from tachograph.domain.text import storable


class Texts:
    """Makes the texts of one event storable and notes what that changed."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    @property
    def altered(self) -> tuple[str, ...] | None:
        """The notes, as an event's `altered` takes them."""
        return tuple(self._notes) or None

    def keep(self, field: str, text: str) -> str:
        """Return the text as it can be stored."""
        kept, notes = storable(field, text)
        self._notes += notes
        return kept

    def keep_if_any(self, field: str, text: str | None) -> str | None:
        """Return the text as it can be stored; None stays None."""
        return None if text is None else self.keep(field, text)

    def message(self, field: str, message: ForeignMessage) -> Message:
        """Return a message that came in. That its text was null, or its call is unknown, is noted."""
        content = self.keep(field, message.text or "")
        if message.text is None:
            self._notes.append(f"{field}: null in the file")
        if not isinstance(message, ToolResult):
            return Message(role=message.role, content=content)
        origin = f"id {message.provider_id!a}, name {message.name!a}"
        self._notes.append(f"{field}: a tool result whose call is not in the file, {origin}")
        return Message(role="tool", content=content)
