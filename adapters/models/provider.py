"""
A model of a provider, through pydantic-ai: asked, and asked again while that can help.

The clients' own retries are off, so that each attempt is ours to record.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic_ai import models
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from tachograph.adapters.models.answering import reply_of
from tachograph.adapters.models.conversing import messages_of, parameters_of
from tachograph.domain.errors import ModelError
from tachograph.domain.messages import ModelRequest
from tachograph.domain.origins import Attempt
from tachograph.domain.ports import ModelReply
from tachograph.domain.text import clipped, storable

ATTEMPTS_MAX: Final = 5
_PAUSE_FIRST_S: Final = 1.0
_PAUSE_MAX_S: Final = 60.0
_ERROR_MAX: Final = 1_000
_MAY_PASS: Final = (
    ModelRateLimitError,
    ModelUnavailableError,
    ModelServerError,
    ModelConnectionError,
    UnexpectedModelBehavior,
)
_REJECTED_CALL: Final = "tool_use_failed"  # Groq, and what is compatible with it.


@dataclass(frozen=True)
class ProviderModel:
    """
    A model of a provider.

    Args:
        timeout_s: Of one attempt.
        on_text: Told the text as it arrives; None: answers come as a whole.
        pause: Waits so many seconds; jitter: gives a factor from 0 to 1.
    """

    model: models.Model
    timeout_s: float = 120.0
    attempts_max: int = ATTEMPTS_MAX
    on_text: Callable[[str], object] | None = field(default=None, repr=False)
    pause: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False)
    jitter: Callable[[], float] = field(default=random.random, repr=False)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """
        Answer a request.

        Raises:
            ModelError: The provider refuses the request, or gives no answer in ATTEMPTS_MAX attempts.
        """
        messages, parameters = messages_of(request), parameters_of(request)
        settings = ModelSettings(request_timeout=self.timeout_s)
        attempts: list[Attempt] = []
        while True:
            try:
                response = await self._asked(messages, settings, parameters)
                return reply_of(response, tuple(attempts))
            except ContentFilterError as exc:
                return ModelReply(finish_reason="content_filter", error=_said(exc), attempts=tuple(attempts))
            except (ModelAPIError, UnexpectedModelBehavior) as exc:
                rejected = _rejected(exc)
                if rejected is not None:
                    return ModelReply(finish_reason="rejected", error=rejected, attempts=tuple(attempts))
                pause_s = self._pause_after(exc, len(attempts) + 1)
                if pause_s is None:
                    raise ModelError(_said(exc)) from exc
                status = exc.status_code if isinstance(exc, ModelHTTPError) else None
                paused_ms = round(pause_s * 1000)
                attempts.append(Attempt(error=_said(exc), status=status, paused_ms=paused_ms))
                await self.pause(pause_s)

    async def _asked(
        self, messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
    ) -> ModelResponse:
        """Make one attempt. A stream that ends early raises, and nothing of it is kept."""
        if self.on_text is None:
            return await model_request(
                self.model, messages, model_settings=settings, model_request_parameters=parameters
            )
        async with model_request_stream(
            self.model, messages, model_settings=settings, model_request_parameters=parameters
        ) as stream:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    self.on_text(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    self.on_text(event.delta.content_delta)
            return stream.get()

    def _pause_after(self, exc: Exception, attempt: int) -> float | None:
        """Return how long to wait before another attempt; None if there is to be none."""
        hopeless = isinstance(exc, ModelQuotaExceededError | ModelRequestRejectedError)
        if attempt >= self.attempts_max or hopeless or not isinstance(exc, _MAY_PASS):
            return None
        asked: float | None = exc.retry_after if isinstance(exc, ModelAPIError) else None
        if asked is not None:
            return asked if asked <= _PAUSE_MAX_S else None
        longest = min(_PAUSE_MAX_S, _PAUSE_FIRST_S * 2 ** (attempt - 1))
        return float(longest * (0.5 + self.jitter() / 2))


def _rejected(exc: Exception) -> str | None:
    """Return what a provider says about a tool call that it rejected itself; None for another error."""
    if not isinstance(exc, ModelAPIError) or exc.provider_error_code != _REJECTED_CALL:
        return None
    return _said(exc)


def _said(exc: Exception) -> str:
    message, _ = storable("error", clipped(f"{type(exc).__name__}: {exc}", _ERROR_MAX))
    return message
