"""Opening of lmms-eval's judge providers, with one call per request and the right address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from lmms_rpts.escaping import did_you_mean
from lmms_rpts.judging.backends.failures import shown
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.settings import load_settings

_CLIENTS = ("client", "async_client")
_OPENAI = ("openai", "async_openai")
_OPENAI_URL = "https://api.openai.com/v1"
_NEEDS_KEY = "set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server"
NEEDS = {
    **dict.fromkeys(_OPENAI, _NEEDS_KEY),
    "azure": "set AZURE_API_KEY and AZURE_ENDPOINT (https://...), and OPENAI_API_KEY to anything: "
    "lmms-eval requires it but does not send it; or use async_azure, which does not require it",
    "async_azure": "set AZURE_API_KEY and AZURE_ENDPOINT (https://...)",
    "bedrock": "install boto3, and set AWS_REGION and your AWS credentials",
    "local": "set LLM_JUDGE_URL to the address of the chat endpoint, such as "
    "http://localhost:8000/v1/chat/completions",
}


def open_provider(
    api_type: str, options: Mapping[str, Any], url: str | None, key: str | None
) -> Any:
    """A provider that calls the right address once; raises JudgeConfigurationError."""
    from lmms_eval.llm_judge import ProviderFactory, ServerConfig

    kinds = ProviderFactory._provider_classes
    if api_type not in kinds:
        hint = did_you_mean(api_type.lower(), kinds)
        known = ", ".join(kinds)
        raise JudgeConfigurationError(f"Unknown API type {api_type!r}.{hint} Known types: {known}")
    config = ServerConfig(**options)
    aim: dict[str, str | None] = {}
    if api_type in _OPENAI:
        settings = load_settings()  # loaded again: importing lmms-eval's judges reads a .env file
        url, key = url or settings.openai_url, key or settings.openai_key
        aim = {"base_url": url or _OPENAI_URL, "api_key": key}
    try:
        if api_type in _OPENAI and url and not key:
            provider = _open_keyless(kinds[api_type], config)
        else:
            provider = ProviderFactory.create_provider(api_type, config)
    except Exception as error:
        fault = shown(f"its provider fails with {type(error).__name__}: {error}", key or "")
        raise JudgeConfigurationError(NEEDS.get(api_type, fault)) from None
    _aim(provider, options["timeout"], {name: value for name, value in aim.items() if value})
    _check(provider, api_type)
    return provider


def _open_keyless(kind: Any, config: Any) -> Any:
    """A provider for a server that takes no key: its own constructor requires one."""
    import openai

    provider = kind.__new__(kind)
    super(kind, provider).__init__(config)
    provider.api_key = "none"
    if hasattr(kind, "evaluate_async"):
        provider.async_client, provider.use_async_client = openai.AsyncOpenAI(api_key="none"), True
    else:
        provider.client, provider.use_client = openai.OpenAI(api_key="none"), True
    return provider


def _aim(provider: Any, timeout: float, aim: Mapping[str, str]) -> None:
    """Make its clients call the given address, without retries."""
    if "api_key" in aim:
        provider.api_key = aim["api_key"]
    for name in _CLIENTS:
        client = vars(provider).get(name)
        if hasattr(client, "with_options"):
            setattr(provider, name, client.with_options(max_retries=0, timeout=timeout, **aim))
            # Redirects are not followed; requests, used by "local", has no option for that.
            transport: Any = getattr(client, "_client", None)
            if hasattr(transport, "follow_redirects"):
                transport.follow_redirects = False


def _check(provider: Any, api_type: str) -> None:
    if not re.fullmatch(r"[\x21-\x7e]*", str(getattr(provider, "api_key", None) or "")):
        raise JudgeConfigurationError(
            "its API key contains a character that keys do not have: a space, a line break or a "
            "curly quote. Copy the key again"
        )
    # is_available() of the other providers may call a server.
    ready = provider.is_available() if api_type in ("azure", "async_azure") else True
    addresses = _addresses(provider)
    ready = ready and all(each.startswith(("http://", "https://")) for each in addresses)
    if api_type == "local":
        ready = ready and "/chat/completions" in addresses[0]
    if not ready:
        fault = "its address does not begin with http:// or https://"
        raise JudgeConfigurationError(NEEDS.get(api_type, fault))


def clients_of(provider: Any) -> list[Any]:
    return [client for name in _CLIENTS if (client := vars(provider).get(name)) is not None]


def _addresses(provider: Any) -> list[str]:
    """Addresses of a provider, with credentials; calls go to the first."""
    found = [getattr(client, "base_url", None) for client in clients_of(provider)]
    if not found:
        found = [vars(provider).get(name) for name in ("api_url", "base_url", "api_endpoint")]
    return [str(address) for address in found if address is not None]


def endpoint_of(provider: Any) -> str | None:
    """The address that calls go to, without credentials; None if unknown."""
    for parts in map(urlsplit, _addresses(provider)):
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
    return None


def secrets_of(provider: Any, key: str | None) -> str:
    """All secrets to hide in messages, separated by spaces."""
    secrets = [key or "", str(getattr(provider, "api_key", None) or "")]
    for address in map(urlsplit, _addresses(provider)):
        user = address.netloc.rpartition("@")[0].split(":")
        secrets += [*user, *map(unquote, user), *(value for _, value in parse_qsl(address.query))]
    return " ".join(secrets)


def logs_usage(kind: type) -> bool:
    """Whether the code of a provider's calls uses lmms-eval's ``log_usage``."""
    name = "evaluate_async" if hasattr(kind, "evaluate_async") else "evaluate"
    for each in kind.__mro__:
        code = getattr(vars(each).get(name), "__code__", None)
        if code is not None and "log_usage" in code.co_names:
            return True
        if code is not None and "super" not in code.co_names:
            return False
    return False
