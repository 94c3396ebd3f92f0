"""What every model behind an endpoint takes in a file: which endpoint it asks, and how."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.http import CircuitBreaker, HttpTimeouts, Outages, RateLimit, RetryBudget, RetryPolicy
from agentforge.plugin import (
    Amount,
    BeanContext,
    BeanSettings,
    CheckContext,
    Count,
    CountFromZero,
    Field,
    Seconds,
    SecretStr,
    as_value_error,
)
from agentforge.plugin.bean_settings import field_validator
from agentforge.provider.endpoint_model import EndpointModel
from agentforge.provider.vendor_table import VendorTable

__all__ = (
    "CircuitBreakerSettings",
    "EndpointSettings",
    "RateLimitSettings",
    "RetryBudgetSettings",
    "RetrySettings",
    "TimeoutSettings",
    "endpoints_of",
    "make_model",
    "model_to_check",
)


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


class CircuitBreakerSettings(BeanSettings):
    """When an endpoint that fails is left alone, and for how long."""

    failures: Count = 20
    """How many requests must have failed within the window for it to open."""
    failure_ratio: Annotated[float, Field(gt=0, le=1)] = 0.5
    """The part of all requests within the window that these must be, from 0 to 1."""
    window: Seconds = 30.0
    """How far back it looks."""
    open_for: Seconds = 5.0
    """How long nothing is sent before a request may try; twice as long after each that fails."""
    open_cap: Seconds = 60.0
    """The longest such time, where it is more than open_for."""
    probes: Count = 1
    """How many requests may try at a time, and have to succeed before it closes."""

    def made(self) -> CircuitBreaker:
        """The settings as an argument of a model."""
        return CircuitBreaker(self.failures, self.failure_ratio, self.window, self.open_for, self.open_cap, self.probes)


class RetryBudgetSettings(BeanSettings):
    """How many retries all calls to an endpoint may make together."""

    ratio: Annotated[float, Field(ge=0)] = 0.2
    """How many retries there may be for each call within the window."""
    reserve: CountFromZero = 10
    """How many more there may be within the window."""
    window: Seconds = 10.0
    """The time within which they are counted."""

    def made(self) -> RetryBudget:
        """The settings as an argument of a model."""
        return RetryBudget(self.ratio, self.reserve, self.window)


class RateLimitSettings(BeanSettings):
    """What the model asks in a minute at most; who is over it waits in order."""

    requests_per_minute: Count | None = None
    """Requests, retries included; unset: no limit."""
    tokens_per_minute: Amount | None = None
    """Tokens in and out, guessed before and set right by what the reply reports; unset: no limit."""
    max_wait: Seconds | None = None
    """A request that would wait longer fails at once; unset: what timeouts.total leaves."""

    def model_post_init(self, context: Any) -> None:
        """Find a limit without one."""
        with as_value_error():
            self.made()

    def made(self) -> RateLimit:
        """The settings as an argument of a model."""
        return RateLimit(self.requests_per_minute, self.tokens_per_minute, self.max_wait)


class EndpointSettings(BeanSettings):
    """The settings of an endpoint; a model's own settings derive from it."""

    VENDORS: ClassVar[VendorTable[Any]]

    model: str
    """The model's name, or that of its deployment."""
    vendor: str | dict[str, Any] | None = None
    """The row of vendor data: the name of ours or of one that a plugin brings, or a row of your own as a mapping
    ({like: generic, name: house, …}); unset: the one that base_url is the address of, generic for any other base_url,
    the plugin's own vendor without one."""
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
    circuit_breaker: CircuitBreakerSettings | bool = True
    """When the endpoint is left alone because it fails for all, or false: never. Shared by all models that ask it."""
    retry_budget: RetryBudgetSettings | bool = True
    """How many retries all calls to the endpoint may make together, or false: no bound. Shared by all models that ask
    it."""
    rate_limit: RateLimitSettings | None = None
    """Limits of this model's own for a minute; unset: none."""
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

    @field_validator("vendor", mode="before")
    @classmethod
    def _check_row(cls, vendor: object) -> object:
        if isinstance(vendor, Mapping):
            cls.VENDORS.settings().model_validate(dict(vendor))
        elif not isinstance(vendor, str | None):
            with as_value_error():
                raise ConfigurationError(
                    "it is the name of a row, or a mapping that describes one",
                    next_step="Write a name, or a mapping such as {like: generic, name: house}.",
                )
        return vendor

    @classmethod
    def settings_inside(cls, name: str) -> type[BeanSettings] | None:
        """The model of a row where ``vendor`` describes one."""
        return cls.VENDORS.settings() if name == "vendor" else None

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        made: dict[str, Any] = handler(core_schema)
        if hasattr(cls, "VENDORS"):
            own = handler.resolve_ref_schema(made)["properties"]["vendor"]
            named = {"anyOf": [{"enum": list(cls.VENDORS.rows)}, {"type": "string"}]}
            row = handler(cls.VENDORS.settings().__pydantic_core_schema__)
            own["anyOf"] = [named, row, {"type": "null"}]
        return made

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
    model = settings.model_of(
        _endpoint_of(settings, bundle, context.environment, context.vendor_profiles(settings.VENDORS.family))
    )
    if isinstance(model, EndpointModel):
        model.share(context.shared(Outages))
    return model


def endpoints_of(settings: EndpointSettings, context: BeanContext) -> tuple[str, ...]:
    """What the model asks; behind a proxy only the proxy can tell whether it is there."""
    vendors = context.vendor_profiles(settings.VENDORS.family)
    model = settings.model_of(_endpoint_of(settings, settings.ca_bundle, context.environment, vendors))
    return (model.base_url,) if settings.proxy is None else ()


def model_to_check(settings: EndpointSettings, context: CheckContext) -> Any:
    """The model as a check may look at it; it sends nothing."""
    vendors = context.vendor_profiles(settings.VENDORS.family)
    return settings.model_of(_endpoint_of(settings, settings.ca_bundle, context.environment, vendors))


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
        "circuit_breaker": _made(settings.circuit_breaker),
        "retry_budget": _made(settings.retry_budget),
        "rate_limit": settings.rate_limit.made() if settings.rate_limit is not None else None,
        "max_connections": settings.max_connections,
        "max_body_bytes": settings.max_body_bytes,
        "proxy": _plain(settings.proxy),
        "ca_bundle": ca_bundle,
        "verify": not settings.insecure_skip_tls_verification,
        "transport": settings.transport,
        "environment": environment,
        **settings.further(),
    }


def _made(given: CircuitBreakerSettings | RetryBudgetSettings | bool) -> Any:
    return given if isinstance(given, bool) else given.made()


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
