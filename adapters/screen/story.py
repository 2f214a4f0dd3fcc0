"""A run told as a story while it happens: what was said, called, answered, and how it ended."""

from collections.abc import Collection
from typing import Final

from rich.text import Text

from tachograph.adapters.screen.output import Screen, text
from tachograph.adapters.screen.summaries import gist, parsed, refusal, result_gist, short
from tachograph.domain.events import (
    CallRequest,
    Event,
    ModelTurn,
    RunResumed,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
    ToolStarted,
)
from tachograph.domain.origins import Message

_LABEL: Final = 10
_LINES_MAX: Final = 2
_NAME_MAX: Final = 24
_TEXT_MAX: Final = 1_500
_OUTCOME_STYLE: Final = {
    "answered": "bold green",
    "needs_clarification": "bold yellow",
    "approval_requested": "bold green",
    "handed_off": "bold yellow",
    "blocked": "bold red",
}


class Story:
    """
    Tells events as they come. Give it each event of one run, in order.

    Args:
        terminals: Names of the tools that end the run: the arguments of such a call are told with the end.
    """

    def __init__(self, screen: Screen, terminals: Collection[str] = ()) -> None:
        self._screen = screen
        self._terminals = terminals
        self._agent = ""
        self._begun = False
        self._last_call: CallRequest | None = None
        self._calls_in_turn = 0

    def tell(self, event: Event) -> None:
        """Print what an event says."""
        match event:
            case RunStarted():
                self._agent = event.agent
                for message in event.input:
                    self._said(message)
            case ModelTurn():
                self._turn(event)
            case ToolStarted():
                return
            case ToolCall():
                self._result(event)
            case ToolError():
                self._error(event)
            case RunResumed():
                taken = f"taken over by {event.actor}: {event.reason}"
                self._row("resumed", "", text(taken, "yellow"), gap=True)
            case Terminal():
                self._end(event)

    def _said(self, message: Message) -> None:
        label = "customer" if message.role == "user" else message.role
        said = text(message.content.strip(), block=True, characters_max=_TEXT_MAX)
        self._row(label, "", said, style="bold cyan", gap=True)

    def _turn(self, turn: ModelTurn) -> None:
        label: str | None = f"turn {turn.step}"
        said = [part for part in (turn.text, turn.refusal, turn.error) if part and part.strip()]
        for part in said:
            shown = text(part.strip(), block=True, characters_max=_TEXT_MAX)
            self._row(label or "", "", shown, gap=label is not None)
            label = None
        self._calls_in_turn = len(turn.calls)
        for call in turn.calls:
            self._row(label or "", "→", self._call(call, alone=len(turn.calls) == 1), gap=label is not None)
            label = None
        if label is not None:
            self._row(label, "", Text("said nothing and called nothing", "dim"), gap=True)

    def _call(self, call: CallRequest, *, alone: bool) -> Text:
        shown = text(call.name or "(no name)", "bold blue", characters_max=100)
        self._last_call = call if alone and call.name in self._terminals else None
        if self._last_call is not None:
            return shown
        return Text.assemble(shown, "  ", self._fitted(text(gist(call.arguments))))

    def _result(self, result: ToolCall) -> None:
        no = refusal(result.output)
        said = f"no: {no}" if no is not None else result_gist(self._agent, result.name, result.output)
        shown = text(said, "yellow" if no is not None else "dim")
        self._row("", "←", self._fitted(Text.assemble(self._of_call(result.name), shown)))

    def _error(self, error: ToolError) -> None:
        if self._last_call is not None:
            self._row("", "", self._fitted(text(gist(self._last_call.arguments))))
        said = text(f"{error.code}  {error.message}", "red", characters_max=_TEXT_MAX)
        self._row("", Text("✗", "red"), Text.assemble(self._of_call(error.name), said))

    def _of_call(self, name: str) -> Text:
        """Name the call that a result belongs to, where the turn had several."""
        return text(f"{name}: ", "dim blue", characters_max=100) if self._calls_in_turn > 1 else Text()

    def _end(self, terminal: Terminal) -> None:
        style = _OUTCOME_STYLE[terminal.outcome]
        headline = Text(terminal.outcome.replace("_", " "), style)
        if terminal.reason:
            headline = Text.assemble(headline, text(f": {terminal.reason}", style))
        if terminal.actor:
            headline = Text.assemble(headline, text(f"  by {terminal.actor}"))
        self._row("the end", Text("■", style), headline, gap=True, style="bold")
        arguments = _arguments(terminal.arguments)
        width = min(max((len(name) for name, _ in arguments), default=0), _NAME_MAX)
        for name, said in arguments:
            label = text(name, "dim", characters_max=_NAME_MAX)
            label.pad_right(max(0, width - label.cell_len) + 2)
            self._screen.hanging(Text.assemble(" " * (_LABEL + 2), label), text(said, block=True))

    def _row(
        self, label: str, glyph: str | Text, body: Text, *, style: str = "bold", gap: bool = False
    ) -> None:
        if gap and self._begun:
            self._screen.print("")
        self._begun = True
        head = text(f"{label:{_LABEL}}", style, characters_max=_LABEL)
        self._screen.hanging(Text.assemble(head, glyph, " " if glyph else ""), body)

    def _fitted(self, shown: Text) -> Text:
        """Cut a text to about _LINES_MAX lines."""
        shown.truncate(_LINES_MAX * (self._screen.width - _LABEL - 6), overflow="ellipsis")
        return shown


def _arguments(arguments: str | None) -> list[tuple[str, str]]:
    """Return the terminal's arguments with their names; texts whole, digests and the like in short."""
    if arguments is None:
        return []
    try:
        value = parsed(arguments)
    except ValueError:
        return [("arguments", arguments)]
    if not isinstance(value, dict):
        return [("arguments", arguments)]
    return [(name, said if _is_prose(said) else short(said)) for name, said in value.items()]


def _is_prose(value: object) -> bool:
    return isinstance(value, str) and " " in value
