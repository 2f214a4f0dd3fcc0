"""A model by its name, such as `openai:gpt-5.2`, with a client that doesn't try again by itself."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from tachograph.domain.errors import ExtraMissing, InvalidAgent
from tachograph.domain.ports import Model

_NO_KEY: Final = "none"


def provider_model(name: str, base_url: str | None = None) -> Model:
    """
    Return the model of a name `PROVIDER:MODEL`. Keys come from the provider's own environment variables.

    Args:
        base_url: Of a server that speaks the provider's protocol.
    Raises:
        InvalidAgent: There is no such provider, or its key is missing.
        ExtraMissing: The packages for it aren't installed.
    """
    provider, _, model = name.partition(":")
    make = PROVIDERS.get(provider)
    if make is None or not model:
        known = ", ".join(f"{known}:NAME" for known in PROVIDERS)
        raise InvalidAgent(f"there is no model {name[:100]!r}; there are: {known}")
    try:
        from pydantic_ai.exceptions import UserError

        from tachograph.adapters.models.provider import ProviderModel

        return ProviderModel(make(model, base_url))
    except ImportError as exc:
        raise ExtraMissing("models") from exc
    except (UserError, ValueError) as exc:
        raise InvalidAgent(f"{name[:100]} can't be used: {exc}") from exc
    except Exception as exc:
        if type(exc).__module__.partition(".")[0] not in ("openai", "anthropic", "google", "botocore"):
            raise
        raise InvalidAgent(f"{name[:100]} can't be used: {exc}") from exc


def streaming(model: Model, on_text: Callable[[str], object]) -> Model:
    """Return a provider's model that tells the text of its answers as it arrives."""
    from tachograph.adapters.models.provider import ProviderModel

    assert isinstance(model, ProviderModel), "only a provider streams"
    return replace(model, on_text=on_text)


def _openai(name: str, base_url: str | None) -> Any:
    return _chat(name, base_url) if base_url else _responses(name, None)


def _chat(name: str, base_url: str | None) -> Any:
    from tachograph.adapters.models.lenient import LenientChatModel

    return LenientChatModel(name, provider=_openai_provider(base_url))


def _responses(name: str, base_url: str | None) -> Any:
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel(name, provider=_openai_provider(base_url))


def _openai_provider(base_url: str | None) -> Any:
    from openai import AsyncOpenAI
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=base_url, api_key=_key(base_url, "OPENAI_API_KEY"), max_retries=0)
    return OpenAIProvider(openai_client=client)


def _anthropic(name: str, base_url: str | None) -> Any:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(base_url=base_url, api_key=_key(base_url, "ANTHROPIC_API_KEY"), max_retries=0)
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def _google(name: str, base_url: str | None) -> Any:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(base_url=base_url, api_key=_key(base_url, "GOOGLE_API_KEY", "GEMINI_API_KEY"))
    return GoogleModel(name, provider=provider)


def _bedrock(name: str, base_url: str | None) -> Any:
    return _bedrock_messages(name, base_url) if "anthropic." in name else _bedrock_converse(name, base_url)


def _bedrock_messages(name: str, base_url: str | None) -> Any:
    from anthropic import AsyncAnthropicBedrock
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropicBedrock(base_url=base_url, max_retries=0)
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def _bedrock_converse(name: str, base_url: str | None) -> Any:
    import boto3  # type: ignore[import-untyped]  # it ships no types
    from botocore.config import Config  # type: ignore[import-untyped]  # the same
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    once = Config(retries={"total_max_attempts": 1})
    client = boto3.client("bedrock-runtime", endpoint_url=base_url, config=once)
    return BedrockConverseModel(name, provider=BedrockProvider(bedrock_client=client))


def _ollama(name: str, base_url: str | None) -> Any:
    return _chat(name, base_url or "http://localhost:11434/v1")


def _key(base_url: str | None, *variables: str) -> str:
    """Return the key of the environment; a server of one's own may want none."""
    found = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if found is None and base_url is None:
        raise InvalidAgent(f"no key: set {' or '.join(variables)}")
    return found or _NO_KEY


PROVIDERS: Final[Mapping[str, Callable[[str, str | None], Any]]] = {
    "openai": _openai,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "bedrock": _bedrock,
    "ollama": _ollama,
}
