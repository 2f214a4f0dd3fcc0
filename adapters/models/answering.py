"""An answer of a provider as our ModelReply."""

import json
from decimal import Decimal
from importlib.metadata import version
from typing import Final

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from tachograph.adapters.models.conversing import state_of
from tachograph.domain.budget import Usage
from tachograph.domain.events import FinishReason
from tachograph.domain.origins import Attempt
from tachograph.domain.ports import AskedCall, ModelReply

PRICES: Final = "genai-prices"
_FINISHES: Final[dict[str, FinishReason]] = {
    "length": "length",
    "content_filter": "content_filter",
    "error": "rejected",
}
_REFUSALS: Final = frozenset({"refusal"})


def reply_of(response: ModelResponse, attempts: tuple[Attempt, ...]) -> ModelReply:
    """Return an answer with all that is recorded of it."""
    details = response.provider_details or {}
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = tuple(
        AskedCall(part.tool_name, _arguments(part), part.tool_call_id)
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    raw = details.get("finish_reason")
    refusal = details.get("refusal")
    cost = _cost(response)
    return ModelReply(
        text=text or None,
        calls=calls,
        finish_reason=_finish(response, raw, bool(calls), refusal),
        finish_reason_raw=None if raw is None else str(raw),
        refusal=None if refusal is None else str(refusal),
        model=response.model_name,
        usage=Usage(
            tokens_in=response.usage.input_tokens,
            tokens_out=response.usage.output_tokens,
            tokens_cached=response.usage.cache_read_tokens,
            tokens_reasoning=response.usage.details.get("reasoning_tokens", 0),
        ),
        cost_usd=cost,
        prices=None if cost is None else f"{PRICES} {version(PRICES)}",
        attempts=attempts,
        response_id=response.provider_response_id,
        provider_state=state_of(response),
    )


def _finish(response: ModelResponse, raw: object, calls: bool, refusal: object) -> FinishReason:
    if refusal is not None or str(raw) in _REFUSALS:
        return "refusal"
    named = _FINISHES.get(response.finish_reason or "")
    if named is not None:
        return named
    if calls:
        return "tool_calls"
    return "stop" if response.finish_reason in ("stop", None) else "other"


def _arguments(part: ToolCallPart) -> str | None:
    """Return a call's arguments as the provider's text; some providers give an object, which has none."""
    if part.args is None or isinstance(part.args, str):
        return part.args
    return json.dumps(part.args, ensure_ascii=False)


def _cost(response: ModelResponse) -> Decimal | None:
    """Return what the answer cost; None for a model whose prices aren't known."""
    if response.model_name is None:
        return None
    try:
        return response.cost().total_price
    except (LookupError, ValueError, AssertionError):
        return None
