"""Properties of the fold and of the decisions, over arbitrary legal histories."""

from decimal import Decimal

from hypothesis import given as over

from tachograph.domain.calls import ReadyCall, RefusedCall
from tachograph.domain.codec import decode, encode
from tachograph.domain.events import Event, ModelTurn, RunStarted, Terminal, ToolCall, ToolError, ToolStarted
from tachograph.domain.messages import RequestMessage
from tachograph.domain.next_action import AskModel, ExecuteCalls, Wait, next_action
from tachograph.domain.run import RunState, evolve, fold, state_digest

from .histories import histories
from .shop import AGENT
from .story import RUN_ID, failure, numbered, result, resumed


def prefixes(events: list[Event]) -> list[RunState]:
    """The run as it stood after each of its events."""
    states: list[RunState] = []
    for event in events:
        states.append(evolve(RUN_ID, states[-1] if states else None, event))
    return states


@over(histories())
def test_fold_of_a_prefix_then_the_rest_is_the_fold_of_all(events: list[Event]) -> None:
    entries = numbered(events)
    whole = fold(RUN_ID, entries)
    for cut in range(1, len(entries) + 1):
        assert fold(RUN_ID, entries[cut:], fold(RUN_ID, entries[:cut])) == whole


@over(histories())
def test_next_action_never_raises_and_is_the_same_each_time(events: list[Event]) -> None:
    for state in prefixes(events)[:-1]:
        assert next_action(AGENT, state) == next_action(AGENT, state)


@over(histories())
def test_every_event_survives_storage_unchanged_and_its_bytes_are_deterministic(events: list[Event]) -> None:
    for event in events:
        stored = encode(event)
        again = decode(event.kind, stored)
        assert (again, type(again), encode(again), encode(event)) == (event, type(event), stored, stored)


@over(histories())
def test_a_run_read_back_has_the_same_state_and_digest(events: list[Event]) -> None:
    stored = [decode(event.kind, encode(event)) for event in events]
    run, again = fold(RUN_ID, numbered(events)), fold(RUN_ID, numbered(stored))
    assert (again, state_digest(again)) == (run, state_digest(run))


@over(histories())
def test_every_run_ends_within_its_limits(events: list[Event]) -> None:
    """No model call is paid for at or beyond a limit, and no tool call beyond one is made."""
    [start, *_] = events
    assert isinstance(start, RunStarted)
    budget = start.budget
    for before, event in zip(prefixes(events), events[1:], strict=False):
        if isinstance(event, ModelTurn):
            used = before.totals
            assert used.steps < budget.max_steps
            assert budget.max_tokens is None or used.tokens_in + used.tokens_out < budget.max_tokens
            assert budget.max_cost_usd is None or (used.cost_usd or Decimal(0)) < budget.max_cost_usd
            assert budget.max_wall_s is None or before.wall_s < budget.max_wall_s
    made = [event.name for event in events if isinstance(event, ToolCall)]
    assert budget.max_tool_calls is None or len(made) <= budget.max_tool_calls
    for name in set(made):
        assert budget.max_calls_per_tool is None or made.count(name) <= budget.max_calls_per_tool
    assert isinstance(events[-1], Terminal)


@over(histories())
def test_a_call_that_may_run_only_once_is_never_started_twice(events: list[Event]) -> None:
    started = [e.call_key for e in events if isinstance(e, ToolStarted) and e.effect == "once"]
    assert len(started) == len(set(started))


@over(histories())
def test_nothing_of_an_ambiguous_turn_is_executed(events: list[Event]) -> None:
    """A terminal call never has a result beside another call's, and never a handler's."""
    run = fold(RUN_ID, numbered(events))
    for step in run.steps:
        terminals = [call for call in step.turn.calls if call.name in AGENT.terminals_by_name]
        if terminals and len(step.turn.calls) > 1:
            assert {r.code if isinstance(r, ToolError) else "ran" for r in step.results} <= {
                "truncated_turn",
                "rejected_turn",
            }
        assert not any(isinstance(r, ToolCall) and r.name in AGENT.terminals_by_name for r in step.results)


@over(histories())
def test_the_conversation_is_legal_for_providers_whenever_the_model_is_asked(events: list[Event]) -> None:
    for state in prefixes(events)[:-1]:
        action = next_action(AGENT, state)
        if isinstance(action, AskModel):
            _assert_legal(action.request.messages)


def _assert_legal(messages: tuple[RequestMessage, ...]) -> None:
    """Each call is answered once, right after the turn that asked; no assistant message is empty."""
    awaited: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.call_key in awaited
            awaited.remove(message.call_key)
            continue
        assert message.role != "assistant" or message.calls or message.content.strip()
        assert awaited == []
        awaited += [call.call_key for call in message.calls]
    assert awaited == []


@over(histories())
def test_a_crash_after_any_append_repeats_no_call_that_may_run_only_once(events: list[Event]) -> None:
    """A takeover refuses what is in doubt, and otherwise changes no decision."""
    for state in prefixes(events)[:-1]:
        takeover = resumed().model_copy(update={"recorded_at": state.last_recorded_at})
        after = evolve(RUN_ID, state, takeover)
        begun = state.steps[-1].started if state.steps else ()
        once = {start.call_key for start in begun if start.effect == "once"} & set(after.in_doubt)
        action = next_action(AGENT, after)
        if not once:
            assert action == next_action(AGENT, state)
        elif isinstance(action, ExecuteCalls):
            decided = {call.request.call_key: getattr(call, "code", "ran") for call in action.calls}
            assert {decided[key] for key in once if key in decided} <= {"outcome_unknown"}
        else:
            assert action == Wait(after.unknown)


@over(histories())
def test_calls_decided_together_are_decided_the_same_one_by_one(events: list[Event]) -> None:
    """So that a crash between two calls of a turn changes nothing about the second."""
    for state in prefixes(events)[:-1]:
        action = next_action(AGENT, state)
        while isinstance(action, ExecuteCalls) and len(action.calls) > 1:
            [first, *rest] = action.calls
            state = evolve(RUN_ID, state, settled(first, state))
            action = next_action(AGENT, state)
            assert action == ExecuteCalls(tuple(rest))


def settled(call: ReadyCall | RefusedCall, state: RunState) -> Event:
    """The plainest result that a call can have, at no cost of time."""
    key = call.request.call_key
    event = failure(key, call.code) if isinstance(call, RefusedCall) else result(key)
    return event.model_copy(update={"recorded_at": state.last_recorded_at})
