"""Words to tell a trace by: what came in, what was called, what a value of the next call is judged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tachograph.domain.budget import Budget, Totals
from tachograph.domain.context import TrustedContext
from tachograph.domain.events import (
    CallRequest,
    ErrorCode,
    Event,
    ModelTurn,
    Recorded,
    RunStarted,
    Terminal,
    ToolCall,
    ToolError,
)
from tachograph.domain.origins import Message
from tachograph.domain.values import json_text
from tachograph.domain.why.argument import Argument
from tachograph.domain.why.evidence import gather
from tachograph.domain.why.verdicts import Question, verdicts

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
RUN = UUID(int=1)


@dataclass(frozen=True)
class Trace:
    """A trace so far. Each word returns a longer one."""

    events: tuple[Recorded, ...] = ()
    run_id: UUID = RUN
    step: int = 0
    count: int = field(default=0)

    def _and(self, event: Event, step: int | None = None) -> "Trace":
        recorded = Recorded(self.run_id, self.count + 1, event)
        return replace(
            self,
            events=(*self.events, recorded),
            count=self.count + 1,
            step=self.step if step is None else step,
        )

    def start(self, *said: tuple[str, str], **context: Any) -> "Trace":
        """Begin a run with messages: (role, content)."""
        run_id = UUID(int=self.run_id.int + 1) if self.events else self.run_id
        started = RunStarted(
            recorded_at=NOON,
            agent="a",
            agent_version="1",
            definition_digest="d",
            catalogue_digest="c",
            context=TrustedContext(trace_id="t", **context),
            input=tuple(Message(role=role, content=content) for role, content in said),  # type: ignore[arg-type]
            budget=Budget(),
            owner="o",
            continues=self.run_id if self.events else None,
        )
        return replace(self, run_id=run_id, step=0, count=0)._and(started)

    def turn(self, *calls: tuple[str, Any], text: str | None = None) -> "Trace":
        """Let the model ask for calls: (tool, arguments)."""
        step = self.step + 1
        requests = tuple(
            CallRequest(call_key=f"{step}.{place}", name=name, arguments=_json(arguments))
            for place, (name, arguments) in enumerate(calls, start=1)
        )
        turn = ModelTurn(
            recorded_at=NOON,
            step=step,
            model_asked="m",
            request_digest="r",
            text=text,
            calls=requests,
            finish_reason="tool_calls",
            latency_ms=0,
        )
        return self._and(turn, step)

    def output(self, value: Any, place: int = 1) -> "Trace":
        """Let a call of the last turn return a value; a text is JSON text as it is."""
        request = self._request(place)
        return self._and(
            ToolCall(
                recorded_at=NOON,
                call_key=request.call_key,
                name=request.name,
                arguments=request.arguments or "{}",
                output=value if isinstance(value, str) else json_text(value),
                duration_ms=0,
            )
        )

    def error(self, message: str, code: ErrorCode = "tool_execution_failed", place: int = 1) -> "Trace":
        """Let a call of the last turn fail."""
        request = self._request(place)
        return self._and(
            ToolError(
                recorded_at=NOON,
                call_key=request.call_key,
                name=request.name,
                code=code,
                message=message,
                duration_ms=0,
            )
        )

    def called(self, tool: str, arguments: Any, output: Any) -> "Trace":
        """Let the model call one tool, and the tool return a value."""
        return self.turn((tool, arguments)).output(output)

    def ended(self) -> "Trace":
        """End the run by its last call."""
        request = self._request(1)
        return self._and(
            Terminal(
                recorded_at=NOON,
                outcome="answered",
                call_key=request.call_key,
                tool=request.name,
                arguments=request.arguments,
                totals=Totals(),
            )
        )

    def judged(self, arguments: Any, declared: Mapping[str, str] | None = None) -> dict[str, Argument]:
        """Judge a call of the next turn, by pointer."""
        asked = self.turn(("next", arguments))
        return asked.judged_at(asked.step, arguments, declared)

    def judged_at(
        self, step: int, arguments: Any, declared: Mapping[str, str] | None = None
    ) -> dict[str, Argument]:
        """Judge a call of a turn that was, by pointer."""
        evidence = gather(self.events)
        question = Question(evidence, evidence.turns[self.run_id, step], declared or {})
        return {argument.pointer: argument for argument in verdicts(question, _json(arguments))}

    def verdicts(self, arguments: Any, declared: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the verdict on each argument of a call of the next turn, by its name."""
        return {
            pointer[1:]: argument.verdict for pointer, argument in self.judged(arguments, declared).items()
        }

    def rule(self, arguments: Mapping[str, Any]) -> tuple[str, str | None]:
        """Return the verdict on the only argument of a call, and the rule of its best source."""
        [argument] = self.judged(arguments).values()
        return argument.verdict, argument.sources[0].rule if argument.sources else None

    def _request(self, place: int) -> CallRequest:
        turns = [entry.event for entry in self.events if isinstance(entry.event, ModelTurn)]
        return turns[-1].calls[place - 1]


def said(*texts: str) -> Trace:
    """A run that began with what the customer said."""
    return Trace().start(*(("user", text) for text in texts))


def found(output: Any) -> Trace:
    """A run in which a tool without arguments returned a value."""
    return said("Hello").called("look_up", {}, output)


def _json(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
