"""Each recorded reply of a provider, over HTTP and through its own client library, is what it means."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tachograph.domain.errors import ModelError
from tachograph.domain.ports import ModelReply

from .wire import ASKED, Reply, model_at, replies_of, served

OPENAI, RESPONSES, CLAUDE, GEMINI = "openai-chat:m", "openai-responses:m", "anthropic:m", "google:m"
BEDROCK = "bedrock:anthropic.claude-3"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine reaches a test, and AWS wants some."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "y"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)


def answer(name: str, *replies: Reply, **settings: Any) -> ModelReply:
    with served(*replies) as server:
        return asyncio.run(model_at(server, name, **settings).complete(ASKED))


ANSWERS = [
    ("openai_chat_parallel_2_calls", OPENAI, 0, "tool_calls", 2),
    ("openai_chat_parallel_2_calls", OPENAI, 1, "tool_calls", 2),
    ("openai_chat_temporal_hitl", OPENAI, 0, "tool_calls", 2),
    ("openai_chat_temporal_hitl", OPENAI, 1, "stop", 0),
    ("openai_chat_empty_tool_call_id", OPENAI, 0, "tool_calls", 1),
    ("snowflake_text_thinking_tool", OPENAI, 0, "tool_calls", 1),
    ("snowflake_text_thinking_tool", OPENAI, 1, "stop", 0),
    ("groq_400_tool_choice_required_text", OPENAI, 0, "rejected", 0),
    ("groq_400_tool_choice_required_text", OPENAI, 1, "tool_calls", 1),
    ("azure_content_filter_completion", OPENAI, 0, "content_filter", 0),
    ("azure_prompt_content_filter", OPENAI, 0, "content_filter", 0),
    ("openai_chat_refusal", OPENAI, 0, "refusal", 0),
    ("openai_chat_length", OPENAI, 0, "length", 0),
    ("openai_responses_parallel", RESPONSES, 0, "tool_calls", 2),
    ("openai_responses_multiple_tools", RESPONSES, 0, "tool_calls", 2),
    ("openai_responses_model_retry", RESPONSES, 0, "tool_calls", 2),
    ("openai_responses_400_modified_history", RESPONSES, 0, "stop", 0),
    ("anthropic_mixed_output_tool", CLAUDE, 0, "tool_calls", 2),
    ("anthropic_mixed_output_tool", CLAUDE, 1, "stop", 0),
    ("gemini_parallel_3_calls", GEMINI, 0, "tool_calls", 3),
    ("gemini_model_armor", GEMINI, 0, "content_filter", 0),
    ("gemini_max_tokens_empty", GEMINI, 0, "length", 0),
    ("bedrock_claude_parallel", BEDROCK, 0, "tool_calls", 2),
]


@pytest.mark.filterwarnings("ignore:MODEL_ARMOR")
@pytest.mark.parametrize(("name", "model", "place", "finish", "calls"), ANSWERS)
def test_an_answer(shared_data: Path, name: str, model: str, place: int, finish: str, calls: int) -> None:
    reply = answer(model, replies_of(shared_data, name)[place])
    assert (reply.finish_reason, len(reply.calls), reply.attempts) == (finish, calls, ())
    if finish in ("tool_calls", "stop"):
        assert reply.provider_state is not None
        assert len({call.provider_id for call in reply.calls}) == calls


STREAMS = [
    ("anthropic_parallel_stream", CLAUDE, 0, "tool_calls", 2),
    ("anthropic_sse_tool_use", CLAUDE, 0, "tool_calls", 1),
    ("anthropic_sse_refusal", CLAUDE, 0, "refusal", 0),
    ("gemini_parallel_stream", GEMINI, 0, "tool_calls", 2),
]


@pytest.mark.case("C059")
@pytest.mark.parametrize(("name", "model", "place", "finish", "calls"), STREAMS)
def test_C059_a_stream_is_put_together_to_one_answer(
    shared_data: Path, name: str, model: str, place: int, finish: str, calls: int
) -> None:
    heard: list[str] = []
    reply = answer(model, replies_of(shared_data, name)[place], on_text=heard.append)
    assert (reply.finish_reason, len(reply.calls)) == (finish, calls)
    assert "".join(heard) == (reply.text or "")


def test_a_stream_that_is_cut_leaves_nothing_half(shared_data: Path) -> None:
    [whole] = replies_of(shared_data, "anthropic_sse_tool_use")
    cut = Reply(whole.body, content_type=whole.content_type, cut=len(whole.body) // 2)
    reply = answer(CLAUDE, cut, whole, on_text=lambda text: None)
    assert [attempt.status for attempt in reply.attempts] == [None]
    assert (reply.finish_reason, len(reply.calls)) == ("tool_calls", 1)


REFUSED = [
    ("openai_chat_401", OPENAI, "Incorrect API key"),
    ("openai_chat_404_model", OPENAI, "does not exist"),
    ("groq_404_regular", OPENAI, "does not exist"),
    ("openai_responses_400_param", RESPONSES, "does not exist"),
    ("deepseek_responses_400_orphan", RESPONSES, "No tool output found"),
    ("anthropic_400_effort", CLAUDE, "effort"),
    ("anthropic_404", CLAUDE, "not_found_error"),
]


@pytest.mark.parametrize(("name", "model", "said"), REFUSED)
def test_what_can_not_help_is_not_tried_again(shared_data: Path, name: str, model: str, said: str) -> None:
    with served(*replies_of(shared_data, name)) as server:
        with pytest.raises(ModelError, match=said):
            asyncio.run(model_at(server, model).complete(ASKED))
        assert len(server.requests) == 1


class TestTryingAgain:
    BUSY = Reply('{"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit"}}', 429)
    DOWN = Reply('{"error": {"message": "down", "type": "server_error"}}', 503)

    def test_each_attempt_is_recorded_and_the_pauses_grow(self, shared_data: Path) -> None:
        [good, _] = replies_of(shared_data, "openai_chat_temporal_hitl")
        pauses: list[float] = []
        reply = answer(OPENAI, self.BUSY, self.DOWN, self.DOWN, good, pauses=pauses)
        assert [attempt.status for attempt in reply.attempts] == [429, 503, 503]
        assert pauses == [1.0, 2.0, 4.0] == [attempt.paused_ms / 1000 for attempt in reply.attempts]
        assert "slow down" in reply.attempts[0].error

    def test_a_provider_that_says_how_long_is_believed(self, shared_data: Path) -> None:
        [good, _] = replies_of(shared_data, "openai_chat_temporal_hitl")
        pauses: list[float] = []
        busy = Reply(self.BUSY.body, 429, headers={"Retry-After": "7"})
        answer(OPENAI, busy, good, pauses=pauses)
        assert pauses == [7.0]

    def test_but_not_for_longer_than_a_minute(self) -> None:
        busy = Reply(self.BUSY.body, 429, headers={"Retry-After": "3600"})
        with pytest.raises(ModelError):
            answer(OPENAI, busy)

    def test_in_the_end_it_gives_up(self, shared_data: Path) -> None:
        pauses: list[float] = []
        with served(*replies_of(shared_data, "openrouter_429")) as server:
            with pytest.raises(ModelError, match="429"):
                asyncio.run(model_at(server, OPENAI, pauses).complete(ASKED))
            assert (len(server.requests), len(pauses)) == (5, 4)

    def test_a_server_that_is_not_there(self) -> None:
        with served(self.DOWN) as server:
            model = model_at(server, OPENAI)
        with pytest.raises(ModelError):
            asyncio.run(model.complete(ASKED))

    def test_an_answer_that_is_none(self, shared_data: Path) -> None:
        [good, _] = replies_of(shared_data, "openai_chat_temporal_hitl")
        reply = answer(OPENAI, Reply("<html>busy</html>", content_type="text/html"), good)
        assert len(reply.attempts) == 1


class TestWhatItCost:
    def test_tokens_and_price_are_those_of_the_answer(self, shared_data: Path) -> None:
        reply = answer(OPENAI, replies_of(shared_data, "openai_chat_temporal_hitl")[0])
        assert (reply.usage.tokens_in, reply.usage.tokens_out) == (71, 46)
        assert isinstance(reply.cost_usd, Decimal)
        assert reply.cost_usd > 0
        assert (reply.prices or "").startswith("genai-prices ")

    def test_a_model_that_nobody_knows_costs_nothing_known(self, shared_data: Path) -> None:
        reply = answer(OPENAI, replies_of(shared_data, "groq_400_tool_choice_required_text")[1])
        assert (reply.cost_usd, reply.prices) == (None, None)
