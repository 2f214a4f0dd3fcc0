"""Refund runs by the thousand, with approvals, answers, errors and crashes: the same ones each time."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from tachograph.domain.approvals.definition import approval_id_of, digest_of
from tachograph.domain.approvals.events import (
    ApprovalDenied,
    ApprovalEscalated,
    ApprovalExecuted,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalRefused,
    ApprovalRequested,
    ApprovalStarted,
)
from tachograph.domain.budget import Budget, Totals, Usage
from tachograph.domain.context import TrustedContext
from tachograph.domain.currencies import CURRENCY_DIGITS
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
from tachograph.domain.ports import Append, EventStore
from tachograph.domain.provenance import Provenance

FIRST_DAY = datetime(2026, 7, 1, 8, tzinfo=UTC)
_REASONS = ("changed_mind", "faulty", "damaged_on_arrival", "not_as_described", "wrong_item")
_PEOPLE = ("Ana Lima", "Bo Chen", "Chidi Obi", "Dora Ek")
_AT_ONCE = 200


def run_id(number: int) -> UUID:
    return UUID(f"00000000-0000-7000-8000-{number:012x}")


class _Told:
    """One refund run and its approval, as its dice fall."""

    def __init__(self, number: int) -> None:
        self.dice = Random(number)
        self.number = number
        self.now = FIRST_DAY + timedelta(minutes=13 * number)
        self.run: list[Event] = []
        self.approval: list[Event] = []
        self.turns = self.calls = self.errors = 0

    def at(self, seconds: float) -> dict[str, Any]:
        self.now += timedelta(seconds=seconds)
        return {"recorded_at": self.now}

    def ask(self, tool: str, arguments: str = "{}") -> str:
        self.turns += 1
        key = f"{self.turns}.1"
        self.run.append(
            ModelTurn(
                **self.at(2),
                step=self.turns,
                model_asked="openai:gpt-5" if self.number % 3 else "anthropic:claude",
                model_answered="gpt-5-2026-04-01" if self.number % 3 else "claude-opus",
                request_digest=f"{self.number:064x}",
                calls=(CallRequest(call_key=key, name=tool, arguments=arguments),),
                finish_reason="tool_calls",
                usage=Usage(tokens_in=900 + self.number % 500, tokens_out=60),
                cost_usd=Decimal("0.0031415") if self.number % 5 else None,
                latency_ms=800,
            )
        )
        return key

    def call(self, tool: str) -> None:
        key = self.ask(tool)
        if self.dice.random() < 0.06:
            self.errors += 1
            failed = ToolError(
                **self.at(1), call_key=key, name=tool, code="timed_out", message="m", duration_ms=1000
            )
            self.run.append(failed)
        else:
            self.calls += 1
            self.run.append(
                ToolCall(
                    **self.at(0.3),
                    call_key=key,
                    name=tool,
                    arguments="{}",
                    output='{"ok":1}',
                    duration_ms=300,
                )
            )

    def notify(self) -> None:
        key = self.ask("send_mail")
        started = ToolStarted(
            **self.at(0),
            call_key=key,
            name="send_mail",
            effect="once",
            arguments_digest="0" * 64,
            idempotency_key=f"tg1-{self.number}",
        )
        self.run.append(started)
        self.calls += 1
        self.run.append(
            ToolCall(
                **self.at(1), call_key=key, name="send_mail", arguments="{}", output="{}", duration_ms=900
            )
        )

    def end(self, outcome: Any, **fields: Any) -> None:
        totals = Totals(steps=self.turns, tool_calls=self.calls, tool_errors=self.errors)
        self.run.append(Terminal(**self.at(0.1), outcome=outcome, totals=totals, **fields))

    def request(self) -> None:
        currency = self.dice.choice(("EUR", "USD", "JPY", "KWD"))
        amount = Decimal(self.dice.randrange(100, 90_000)).scaleb(-CURRENCY_DIGITS[currency])
        arguments = json.dumps(
            {
                "order_id": f"#LL-{self.number:05d}",
                "preview_digest": f"{self.number:064x}",
                "amount": f"{amount:f}",
                "currency": currency,
                "reason_code": self.dice.choice(_REASONS),
                "explanation": f"The customer returns order #LL-{self.number:05d}; the policy allows it.",
            }
        )
        key = self.ask("request_refund_approval", arguments)
        doubtful = self.dice.random() < 0.03
        verdicts = {
            "/order_id": "supported",
            "/amount": "unsupported" if doubtful else "supported",
            "/currency": "supported",
            "/reason_code": "choice",
            "/explanation": "free_text",
        }
        self.end(
            "approval_requested",
            call_key=key,
            tool="request_refund_approval",
            arguments=arguments,
            provenance=Provenance(version=1, declared={}, verdicts=verdicts),
        )
        self.approval.append(
            ApprovalRequested(
                **self.at(0),
                run_id=run_id(self.number),
                run_version=len(self.run),
                trace_id=f"trace-{self.number}",
                tenant=_tenant(self.number),
                agent="refund",
                agent_version="1",
                call_key=key,
                tool="request_refund_approval",
                arguments=arguments,
                arguments_digest=digest_of("request_refund_approval", arguments),
                shown_digest=f"{self.number:064x}",
                shown_version=1,
                policy_version="2" if self.number % 4 else "1",
                requested_for=(f"customer-{self.number}",),
                group="support",
                subject=f"order #LL-{self.number:05d}",
                expires_at=self.now + timedelta(days=3),
                then="execute",
            )
        )
        self.answer()

    def answer(self) -> None:
        asked = self.approval[0]
        assert isinstance(asked, ApprovalRequested)
        fate = self.dice.random()
        if fate < 0.05:
            return
        if fate < 0.10:
            self.approval.append(ApprovalEscalated(**self.at(8 * 3600), escalates_at=self.now))
            self.approval.append(ApprovalExpired(**self.at(64 * 3600), expires_at=self.now))
            return
        if fate < 0.13:
            self.approval.append(
                ApprovalRefused(
                    **self.at(30), by=asked.requested_for[0], answer="grant", code="own_request", message="m"
                )
            )
        person = self.dice.choice(_PEOPLE)
        waited = self.dice.uniform(1, 5) if self.dice.random() < 0.04 else self.dice.uniform(20, 7200)
        if fate < 0.20:
            self.approval.append(ApprovalDenied(**self.at(waited), by=person, reason="not within 30 days"))
            return
        self.approval.append(
            ApprovalGranted(
                **self.at(waited),
                by=person,
                reason="checked the order",
                arguments_digest=asked.arguments_digest,
                shown_digest=asked.shown_digest,
            )
        )
        self.approval.append(
            ApprovalStarted(
                **self.at(0.1),
                tool="refund_execute",
                effect="idempotent",
                idempotency_key="k",
                owner="host:1:a",
            )
        )
        code = "tool_execution_failed" if self.dice.random() < 0.01 else None
        output = None if code else '{"refunded":true}'
        self.approval.append(ApprovalExecuted(**self.at(1), output=output, code=code, duration_ms=700))


def _tenant(number: int) -> str:
    return "shop-eu" if number % 3 else "shop-us"


def refund_run(number: int) -> list[Append]:
    """Return a run, and the approval that it asks for, if it does."""
    told = _Told(number)
    told.run.append(
        RunStarted(
            **told.at(0),
            agent="refund",
            agent_version="1" if number < 5000 else "2",
            definition_digest=f"{1 if number < 5000 else 2:064x}",
            catalogue_digest="0" * 64,
            context=TrustedContext(
                trace_id=f"trace-{number}", tenant=_tenant(number), actor=f"customer-{number}"
            ),
            input=(Message(role="user", content="Please refund my order."),),
            budget=Budget(max_steps=6),
            owner="host:1:aaaaaaaa",
        )
    )
    told.call("policy_search")
    told.call("order_read")
    fate = told.dice.random()
    if fate < 0.02:
        told.run.append(
            RunResumed(**told.at(1800), owner="host:2:bbbbbbbb", actor="Dora Ek", reason="process ended")
        )
    if fate < 0.08:
        told.end("blocked", reason="max_steps_exceeded")
    elif fate < 0.10:
        told.end("blocked", reason="cancelled", actor="Dora Ek")
    elif fate < 0.16:
        told.notify()
        told.ask("answer_user")
        told.end("answered", call_key=f"{told.turns}.1", tool="answer_user", arguments='{"text":"Done."}')
    elif fate < 0.18:
        told.ask("request_handoff")
        told.end("handed_off", call_key=f"{told.turns}.1", tool="request_handoff", arguments="{}")
    elif fate >= 0.185:  # What is between stays open.
        told.call("refund_preview")
        told.request()
    appends = [Append(run_id(number), told.run, 0)]
    return [*appends, Append(approval_id_of(run_id(number)), told.approval, 0)] if told.approval else appends


def fill(store: EventStore, runs: int, first: int = 1) -> None:
    """Append so many refund runs, one after the other in the log."""

    async def all_runs() -> None:
        for start in range(first, first + runs, _AT_ONCE):
            end = min(start + _AT_ONCE, first + runs)
            await store.append_together([part for number in range(start, end) for part in refund_run(number)])

    asyncio.run(all_runs())


def events_of(store: EventStore) -> Iterator[tuple[str, int, str, int, str]]:
    """Yield run id, version, kind, position and JSON of every event in the log."""
    after = 0
    while entries := store.read_log(after=after, limit=1000):
        for entry in entries:
            event = getattr(entry, "event", None)
            if event is not None:
                yield (
                    str(entry.run_id),
                    entry.version,
                    entry.kind,
                    entry.position,
                    event.model_dump_json(),
                )
            after = entry.position
