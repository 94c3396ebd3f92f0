"""What every model behind an endpoint takes in a file: which endpoint it asks, and how."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from agentforge.http import HttpTimeouts, RetryPolicy
from agentforge.plugin import BeanContext, BeanSettings, Count, CountFromZero, Field, Seconds, SecretStr, as_value_error
from agentforge.provider.vendor_table import VendorTable

__all__ = ("EndpointSettings", "RetrySettings", "TimeoutSettings", "endpoints_of", "make_model")


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


class EndpointSettings(BeanSettings):
    """The settings of an endpoint; a model's own settings derive from it."""

    VENDORS: ClassVar[VendorTable[Any]]

    model: str
    """The model's name, or that of its deployment."""
    vendor: str | None = None
    """The row of vendor data, ours or one that a plugin brings; unset: the one that base_url is the address of, generic
    for any other base_url, the plugin's own vendor without one."""
    base_url: str | None = None
    """The endpoint's address; unset: the vendor's environment variable, else its own."""
    api_key: SecretStr | None = None
    """The key; unset: the vendor's environment variable."""
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

    def further(self) -> dict[str, Any]:
        """Arguments of the model for its endpoint that only its protocol has."""
        return {}

    @abstractmethod
    def model_of(self, endpoint: Mapping[str, Any]) -> Any:
        """The model of these settings; ``endpoint`` are its arguments for the endpoint."""

    def model_post_init(self, context: Any) -> None:
        """Make the model once (nothing is sent), so that its own checks speak when the file is checked.

        ``context`` is that of the validation: the variables as ``environment``, and ``vendor_profiles``, which gives
        the vendors of a family; without one the process's variables hold, and there are no further vendors.
        """
        given = context if isinstance(context, Mapping) else {}
        brought = given["vendor_profiles"](self.VENDORS.family) if "vendor_profiles" in given else {}
        with as_value_error():
            self.model_of(_endpoint_of(self, self.ca_bundle, given.get("environment"), brought))


def make_model(settings: EndpointSettings, context: BeanContext) -> Any:
    """The model; what it holds that is secret is masked in the context too."""
    for secret in (settings.api_key, *settings.headers.values()):
        if secret is not None:
            context.secrets.add(secret.get_secret_value())
    if settings.proxy is not None:
        context.secrets.add(urlsplit(settings.proxy.get_secret_value()).password or "")
    bundle = str(context.folder / settings.ca_bundle) if settings.ca_bundle else None
    return settings.model_of(
        _endpoint_of(settings, bundle, context.environment, context.vendor_profiles(settings.VENDORS.family))
    )


def endpoints_of(settings: EndpointSettings, context: BeanContext) -> tuple[str, ...]:
    """What the model asks; behind a proxy only the proxy can tell whether it is there."""
    vendors = context.vendor_profiles(settings.VENDORS.family)
    model = settings.model_of(_endpoint_of(settings, settings.ca_bundle, context.environment, vendors))
    return (model.base_url,) if settings.proxy is None else ()


def _endpoint_of(
    settings: EndpointSettings,
    ca_bundle: str | None,
    environment: Mapping[str, str] | None,
    brought: Mapping[str, Mapping[str, object]],
) -> dict[str, Any]:
    """The settings as arguments of a model; ``brought`` are the vendors of plugins."""
    timeouts, retry = settings.timeouts, settings.retry
    return {
        "model": settings.model,
        "vendor": settings.VENDORS.named(settings.vendor, brought, settings.base_url),
        "base_url": settings.base_url,
        "api_key": _plain(settings.api_key),
        "headers": {name: value.get_secret_value() for name, value in settings.headers.items()} or None,
        "timeouts": HttpTimeouts(timeouts.connect, timeouts.read, timeouts.write, timeouts.pool, timeouts.total),
        "retry": RetryPolicy(settings.max_retries, retry.base, retry.cap, retry.retry_after_cap),
        "max_connections": settings.max_connections,
        "max_body_bytes": settings.max_body_bytes,
        "proxy": _plain(settings.proxy),
        "ca_bundle": ca_bundle,
        "verify": not settings.insecure_skip_tls_verification,
        "transport": settings.transport,
        "environment": environment,
        **settings.further(),
    }


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
