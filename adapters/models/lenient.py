"""Chat completions as servers really send them, by the hook that pydantic-ai has for that."""

from typing import Any

from openai.types import chat
from pydantic_ai.exceptions import ContentFilterError
from pydantic_ai.models.openai import OpenAIChatModel


class LenientChatModel(OpenAIChatModel):
    """
    A model behind an OpenAI-compatible endpoint.

    Taken as what they mean: an empty finish reason, a filtered answer without its message, stubs of calls and
    audio that aren't there, and an error of a content filter in place of an answer.
    """

    def _validate_completion(self, response: chat.ChatCompletion) -> Any:
        fields = response.model_dump(warnings=False)
        error = fields.get("error")
        if isinstance(error, dict) and error.get("code") == "content_filter":
            raise ContentFilterError(str(error.get("message")))
        for choice in fields.get("choices") or []:
            message = choice["message"] = choice.get("message") or {"role": "assistant", "content": None}
            for call in message.get("tool_calls") or []:
                if call.get("function"):
                    call["type"] = "function"
                    call.pop("custom", None)
            for name, needed in (("audio", "id"), ("function_call", "name")):
                if not (message.get(name) or {}).get(needed):
                    message[name] = None
            if not choice.get("finish_reason"):
                choice["finish_reason"] = "tool_calls" if message.get("tool_calls") else "stop"
        return super()._validate_completion(chat.ChatCompletion.construct(**fields))
