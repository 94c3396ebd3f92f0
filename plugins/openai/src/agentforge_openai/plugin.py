"""The plugin: the bean type ``openai.chat``, with every setting of `OpenAiChatModel` that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.http import HttpTimeouts, RetryPolicy
from agentforge.model import ChatModel, ChatRequestParameters, ReasoningEffort
from agentforge.plugin import (
    BeanContext,
    BeanSettings,
    BeanType,
    Count,
    CountFromZero,
    Field,
    Seconds,
    SecretStr,
    hookimpl,
)
from agentforge_openai.brought import FAMILY, vendor_of
from agentforge_openai.model import OpenAiChatModel

__all__ = (
    "AGENTFORGE_API",
    "OpenAiChatSettings",
    "ParameterSettings",
    "RetrySettings",
    "TimeoutSettings",
    "agentforge_bean_types",
    "make_chat_model",
)

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class TimeoutSettings(BeanSettings):
    """How long each part of an exchange may take."""

    connect: Seconds = 10.0
    """Until the connection stands."""
    read: Seconds = 60.0
    """Until further bytes come."""
    write: Seconds = 60.0
    """Until bytes are taken."""
    pool: Seconds = 60.0
    """Until a connection of the pool is free."""
    total: Seconds | None = 600.0
    """The whole exchange, its retries included; null: no limit."""


class RetrySettings(BeanSettings):
    """How long to wait before a request is sent again."""

    base: Seconds = 0.5
    """The shortest first wait; each further one doubles."""
    cap: Seconds = 8.0
    """The longest wait that is not the provider's own wish."""
    retry_after_cap: Seconds = 60.0
    """A longer wish of the provider ends the call at once."""


class ParameterSettings(BeanSettings):
    """Defaults below each request's own parameters; what is unset is the endpoint's to choose."""

    temperature: float | None = None
    """How freely the model chooses; 0 is the most predictable."""
    top_p: float | None = None
    """The share of likelihood that is chosen from."""
    max_output_tokens: Count | None = None
    """The most tokens a reply may have."""
    stop: tuple[str, ...] | None = None
    """Texts at which the reply ends."""
    seed: int | None = None
    """For replies that can be repeated, where the model can."""
    parallel_tool_calls: bool | None = None
    """Whether one reply may ask for several tools."""
    reasoning_effort: ReasoningEffort | None = None
    """How much the model thinks before it answers."""
    custom_parameters: dict[str, Any] = Field(default_factory=dict)
    """Further members of the request body, as they are."""


class OpenAiChatSettings(BeanSettings):
    """What `openai.chat` takes. Everything that the model would refuse is found when the file is checked."""

    model: str
    """The model's name, or the deployment's on Azure."""
    vendor: str | None = None
    """The row of vendor data, ours or one that a plugin brings; unset: generic where base_url is given, else openai."""
    base_url: str | None = None
    """The endpoint's address; unset: the vendor's environment variable, else its own."""
    api_key: SecretStr | None = None
    """The key; unset: the vendor's environment variable."""
    organization: str | None = None
    """The organization that is billed, where the vendor knows it."""
    project: str | None = None
    """The project that is billed, where the vendor knows it."""
    api_version: str | None = None
    """The API version of Azure."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Further headers of every request."""
    timeouts: TimeoutSettings = TimeoutSettings()
    """How long each part of an exchange may take."""
    max_retries: CountFromZero = 2
    """How often a failed request is sent again."""
    retry: RetrySettings = RetrySettings()
    """How long to wait before that."""
    max_connections: Count | None = None
    """Connections at a time; unset: 100."""
    max_body_bytes: Count | None = None
    """The largest answer that is read, in bytes; unset: 64 MiB."""
    proxy: SecretStr | None = None
    """The address of a proxy, which may hold a password."""
    ca_bundle: str | None = None
    """A file of certificates to trust, relative to the file the bean stands in."""
    insecure_skip_tls_verification: bool = False
    """Accepts any certificate: anyone between can then read the key and change the answers."""
    transport: Literal["httpx", "aiohttp"] = "httpx"
    """The HTTP library; aiohttp needs agentforge-kit[fast]."""
    tool_mode: Literal["native", "json_schema"] | None = None
    """json_schema describes the tools in the prompt, for models whose endpoint takes none; unset: as the vendor."""
    defaults: ParameterSettings = ParameterSettings()
    """Parameters of every request that does not set its own."""
    profile_overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of the model's profile that differ from the vendor's row."""

    def model_post_init(self, context: Any) -> None:
        """Make the model once (nothing is sent), so that its own checks speak when the file is checked.

        ``context`` is that of the validation: the variables as ``environment``, and ``vendor_profiles``, which gives
        the vendors of a family; without one the process's variables hold, and there are no further vendors.
        """
        given = context if isinstance(context, Mapping) else {}
        brought = given["vendor_profiles"](FAMILY) if "vendor_profiles" in given else {}
        try:
            _model(self, self.ca_bundle, given.get("environment"), brought)
        except ConfigurationError as error:
            step = f". {error.next_step}" if error.next_step else ""
            raise ValueError(f"{error.message}{step}") from None


def make_chat_model(settings: OpenAiChatSettings, context: BeanContext) -> OpenAiChatModel:
    """The model; what it holds that is secret is masked in the context too."""
    for secret in (settings.api_key, *settings.headers.values()):
        if secret is not None:
            context.secrets.add(secret.get_secret_value())
    if settings.proxy is not None:
        context.secrets.add(urlsplit(settings.proxy.get_secret_value()).password or "")
    bundle = str(context.folder / settings.ca_bundle) if settings.ca_bundle else None
    return _model(settings, bundle, context.environment, context.vendor_profiles(FAMILY))


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The one type of this plugin."""
    register(
        BeanType(
            "openai.chat",
            OpenAiChatSettings,
            make_chat_model,
            ChatModel,
            "A model behind a Chat Completions endpoint: OpenAI and the vendors that speak its form.",
            endpoints=_endpoints,
        )
    )


def _endpoints(settings: OpenAiChatSettings, context: BeanContext) -> tuple[str, ...]:
    """What the model asks; behind a proxy only the proxy can tell whether it is there."""
    model = _model(settings, settings.ca_bundle, context.environment, context.vendor_profiles(FAMILY))
    return (model.base_url,) if settings.proxy is None else ()


def _model(
    settings: OpenAiChatSettings,
    ca_bundle: str | None,
    environment: Mapping[str, str] | None,
    brought: Mapping[str, Mapping[str, object]],
) -> OpenAiChatModel:
    timeouts, retry, defaults = settings.timeouts, settings.retry, settings.defaults
    return OpenAiChatModel(
        model=settings.model,
        vendor=vendor_of(settings.vendor, brought),
        base_url=settings.base_url,
        api_key=_plain(settings.api_key),
        organization=settings.organization,
        project=settings.project,
        api_version=settings.api_version,
        headers=_plain_values(settings.headers),
        timeouts=HttpTimeouts(timeouts.connect, timeouts.read, timeouts.write, timeouts.pool, timeouts.total),
        retry=RetryPolicy(settings.max_retries, retry.base, retry.cap, retry.retry_after_cap),
        max_connections=settings.max_connections,
        max_body_bytes=settings.max_body_bytes,
        proxy=_plain(settings.proxy),
        ca_bundle=ca_bundle,
        verify=not settings.insecure_skip_tls_verification,
        transport=settings.transport,
        tool_mode=settings.tool_mode,
        defaults=ChatRequestParameters(
            temperature=defaults.temperature,
            top_p=defaults.top_p,
            max_output_tokens=defaults.max_output_tokens,
            stop=defaults.stop,
            seed=defaults.seed,
            parallel_tool_calls=defaults.parallel_tool_calls,
            reasoning_effort=defaults.reasoning_effort,
            custom_parameters=defaults.custom_parameters,
        ),
        profile_overrides=settings.profile_overrides or None,
        environment=environment,
    )


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None


def _plain_values(secrets: Mapping[str, SecretStr]) -> dict[str, str] | None:
    return {name: value.get_secret_value() for name, value in secrets.items()} or None
