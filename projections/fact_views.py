"""The facts as an auditor asks for them in SQL: one row a run, turn, call, approval or finding, as of now."""

from typing import Final

from tachograph.projections.projection import SqlView

_RUN: Final = {
    "run_id": "the run",
    "trace_id": "the trace that the run belongs to, as its caller named it",
    "tenant": "the tenant, from the caller's session",
    "agent": "the agent's name",
}

RUNS: Final = SqlView(
    name="v_runs",
    columns={
        **_RUN,
        "agent_version": "the version that the agent states",
        "definition_digest": "SHA-256 of its instructions, tools and limits: another prompt, another digest",
        "position": "of the run's first event in the log",
        "started_at": "when its first event was recorded, UTC",
        "ended_at": "when its end was recorded; null: it is open",
        "outcome": "how it ended: answered, needs_clarification, approval_requested, handed_off, blocked",
        "reason": "why it was blocked: a limit of its budget, or a code",
        "budget_hit": "1 where a limit of its budget ended it",
        "ended_by_person": "1 where a person ended it (cancelled)",
        "turns": "model turns, without those that a fork shares with its original",
        "tool_calls": "calls that succeeded",
        "tool_errors": "calls that failed or were refused",
        "tokens_in": "tokens sent, as the provider counted them",
        "tokens_out": "tokens received",
        "cost_nano_usd": "cost in billionths of a USD; null: no turn has a price",
        "takeovers": "how often somebody took it over",
        "judged_by": "version of the rules whose verdicts stand with its end; null: none were recorded",
        "unsupported": "arguments of its end that were found in no evidence, by those verdicts",
        "source_format": "the format that it was imported from; null: it ran here",
        "forked_from": "the run that it was forked from",
        "continues": "the run whose conversation it continues",
    },
    query="""
        SELECT s.run_id, s.trace_id, s.tenant, s.agent, s.agent_version, s.definition_digest, s.position,
            s.recorded_at, e.recorded_at, e.outcome, e.reason,
            CASE WHEN e.reason IN ('max_steps_exceeded', 'token_budget_exceeded', 'cost_budget_exceeded',
                'wall_time_exceeded', 'tool_call_budget_exceeded', 'calls_per_tool_exceeded',
                'identical_calls_exceeded') THEN 1 ELSE 0 END,
            COALESCE(e.by_person, 0), COALESCE(t.turns, 0), COALESCE(c.done, 0), COALESCE(c.failed, 0),
            COALESCE(t.tokens_in, 0), COALESCE(t.tokens_out, 0), t.cost_nano_usd,
            COALESCE(o.takeovers, 0), e.judged_by, COALESCE(v.unsupported, 0), s.source_format, s.forked_from,
            s.continues
        FROM {fact_starts} AS s
        LEFT JOIN {fact_ends} AS e ON e.run_id = s.run_id
        LEFT JOIN (
            SELECT run_id, COUNT(*) AS turns, CAST(SUM(tokens_in) AS BIGINT) AS tokens_in,
                CAST(SUM(tokens_out) AS BIGINT) AS tokens_out,
                CAST(SUM(cost_nano_usd) AS BIGINT) AS cost_nano_usd
            FROM {fact_turns} WHERE shared = 0 GROUP BY run_id
        ) AS t ON t.run_id = s.run_id
        LEFT JOIN (
            SELECT run_id, SUM(CASE WHEN code IS NULL THEN 1 ELSE 0 END) AS done,
                SUM(CASE WHEN code IS NULL THEN 0 ELSE 1 END) AS failed
            FROM {fact_calls} WHERE shared = 0 GROUP BY run_id
        ) AS c ON c.run_id = s.run_id
        LEFT JOIN (SELECT run_id, COUNT(*) AS takeovers FROM {fact_takeovers} GROUP BY run_id) AS o
            ON o.run_id = s.run_id
        LEFT JOIN (
            SELECT run_id, CAST(SUM(arguments) AS BIGINT) AS unsupported
            FROM {fact_verdicts} WHERE verdict = 'unsupported' GROUP BY run_id
        ) AS v ON v.run_id = s.run_id
    """,
)

TURNS: Final = SqlView(
    name="v_turns",
    columns={
        **_RUN,
        "version": "of the event in its run",
        "position": "of the event in the log",
        "recorded_at": "when it was recorded, UTC",
        "step": "which turn of the run it is, from 1",
        "model_asked": "the model that was asked for",
        "model_answered": "the model that answered, as the provider names it",
        "finish_reason": "why the model stopped",
        "calls": "how many calls it asks for",
        "tokens_in": "tokens sent",
        "tokens_out": "tokens received",
        "cost_nano_usd": "cost in billionths of a USD; null: no price is known",
        "retries": "attempts before the one that was answered",
        "latency_ms": "milliseconds until the answer",
        "shared": "1 where a fork has it from its original, which counts it",
    },
    query="""
        SELECT run_id, trace_id, tenant, agent, version, position, recorded_at, step, model_asked,
            model_answered, finish_reason, calls, tokens_in, tokens_out, cost_nano_usd, retries, latency_ms,
            shared
        FROM {fact_turns}
    """,
)

TOOL_CALLS: Final = SqlView(
    name="v_tool_calls",
    columns={
        **_RUN,
        "version": "of the result in its run",
        "position": "of the result in the log",
        "recorded_at": "when the result was recorded, UTC",
        "call_key": "the call: step and place, such as 3.1",
        "tool": "the tool's name, as it was asked for",
        "code": "why it failed or was refused; null: it succeeded",
        "duration_ms": "milliseconds that its handler took",
        "effect": "idempotent or once: it changes the world; null: it reads, never began, or was imported",
        "settled": "1 where a person found out afterwards what it did",
        "shared": "1 where a fork has it from its original, which counts it",
    },
    query="""
        SELECT c.run_id, c.trace_id, c.tenant, c.agent, c.version, c.position, c.recorded_at, c.call_key,
            c.tool, c.code, c.duration_ms, b.effect, c.settled, c.shared
        FROM {fact_calls} AS c
        LEFT JOIN (
            SELECT run_id, call_key, MAX(effect) AS effect FROM {fact_begun} GROUP BY run_id, call_key
        ) AS b ON b.run_id = c.run_id AND b.call_key = c.call_key
    """,
)

APPROVALS: Final = SqlView(
    name="v_approvals",
    columns={
        "approval_id": "the approval",
        **_RUN,
        "run_id": "the run that asked for it",
        "position": "of the request in the log",
        "tool": "the terminal tool that asked",
        "subject": "what is limited over several approvals, such as an order",
        "approver_group": "the permission that an approver needs; null: anyone whom the run didn't act for",
        "needed": "how many people have to grant it",
        "requesters": "how many names the run acted for: none of them may decide",
        "policy_version": "of the policy that was applied, from the run's record",
        "amount": "the argument `amount`, a plain decimal; null: there is none",
        "currency": "the argument `currency`, where ISO 4217 has it",
        "amount_minor": "the amount in the currency's minor unit, such as cents",
        "requested_at": "when it was asked for, UTC",
        "expires_at": "when it expires if nobody decides",
        "status": "pending, granted, denied or expired",
        "decided_at": "when the answer that decided was recorded, UTC",
        "decided_after_ms": "milliseconds from the request to the decision",
        "votes": "how many people granted it",
        "refused_answers": "answers that counted for nothing",
        "escalated_at": "when it was recorded that somebody else has to look",
        "execution": "how far its effect is: none, started, done, failed, unknown",
        "executed_at": "when that was recorded",
    },
    query="""
        SELECT a.run_id, a.asked_by, a.trace_id, a.tenant, a.agent, a.position, a.tool, a.subject,
            a.approver_group, a.needed, a.requesters, a.policy_version, a.amount, a.currency, a.amount_minor,
            a.recorded_at, a.expires_at, COALESCE(d.answer, 'pending'), d.recorded_at,
            CASE WHEN d.recorded_us < a.recorded_us THEN 0 ELSE (d.recorded_us - a.recorded_us) / 1000 END,
            COALESCE(n.votes, 0), COALESCE(n.refused, 0), n.escalated_at, COALESCE(x.state, 'none'),
            x.recorded_at
        FROM {fact_approvals} AS a
        LEFT JOIN (
            SELECT run_id, SUM(CASE WHEN answer = 'granted' THEN 1 ELSE 0 END) AS votes,
                SUM(CASE WHEN answer = 'refused' THEN 1 ELSE 0 END) AS refused,
                MIN(CASE WHEN answer = 'escalated' THEN recorded_at END) AS escalated_at
            FROM {fact_answers} GROUP BY run_id
        ) AS n ON n.run_id = a.run_id
        LEFT JOIN (
            SELECT run_id, answer, recorded_at, recorded_us,
                ROW_NUMBER() OVER (PARTITION BY run_id, answer ORDER BY version) AS place
            FROM {fact_answers} WHERE answer IN ('granted', 'denied', 'expired')
        ) AS d ON d.run_id = a.run_id AND d.place = CASE WHEN d.answer = 'granted' THEN a.needed ELSE 1 END
        LEFT JOIN (
            SELECT run_id, state, recorded_at,
                ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY version DESC) AS place
            FROM {fact_effects}
        ) AS x ON x.run_id = a.run_id AND x.place = 1
    """,
)

FINDINGS: Final = SqlView(
    name="v_findings",
    columns={
        "position": "of the event in the log that it rests on",
        "recorded_at": "when that was recorded, UTC",
        "tenant": "the tenant",
        "run_id": "the run or the approval",
        "version": "of the event in it",
        "agent": "the agent's name",
        "finding": (
            "run_blocked, tool_error, outcome_unknown, unsupported_argument (refused by the gate), "
            "unsupported_value (in the end of a run), turn_rejected, answer_refused, approval_expired, "
            "approval_escalated, effect_failed, effect_unknown, taken_over (by a person)"
        ),
        "tool": "the tool, where there is one",
        "code": "the error code or reason",
    },
    query="""
        SELECT position, recorded_at, tenant, run_id, version, agent, 'run_blocked', tool, reason
        FROM {fact_ends} WHERE outcome = 'blocked'
        UNION ALL
        SELECT position, recorded_at, tenant, run_id, version, agent,
            CASE WHEN code IN ('outcome_unknown', 'unsupported_argument') THEN code ELSE 'tool_error' END,
            tool, code
        FROM {fact_calls} WHERE code IS NOT NULL AND shared = 0
        UNION ALL
        SELECT v.position, v.recorded_at, v.tenant, v.run_id, v.version, v.agent, 'unsupported_value', e.tool,
            NULL
        FROM {fact_verdicts} AS v JOIN {fact_ends} AS e ON e.run_id = v.run_id AND e.version = v.version
        WHERE v.verdict = 'unsupported'
        UNION ALL
        SELECT position, recorded_at, tenant, run_id, version, agent, 'turn_rejected', NULL, finish_reason
        FROM {fact_turns} WHERE rejected = 1 AND shared = 0
        UNION ALL
        SELECT position, recorded_at, tenant, run_id, version, agent,
            CASE WHEN answer = 'refused' THEN 'answer_refused' ELSE 'approval_' || answer END, NULL, code
        FROM {fact_answers} WHERE answer IN ('refused', 'expired', 'escalated')
        UNION ALL
        SELECT position, recorded_at, tenant, run_id, version, agent, 'effect_' || state, tool, code
        FROM {fact_effects} WHERE state IN ('failed', 'unknown')
        UNION ALL
        SELECT position, recorded_at, tenant, run_id, version, agent, 'taken_over', NULL, NULL
        FROM {fact_takeovers} WHERE by_worker = 0
    """,
)

VIEWS: Final = (RUNS, TURNS, TOOL_CALLS, APPROVALS, FINDINGS)
