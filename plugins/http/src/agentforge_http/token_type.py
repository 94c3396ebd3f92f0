"""The bean type ``http.client_credentials``: access tokens for other beans of this plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from agentforge.http import HttpTimeouts
from agentforge.plugin import BeanContext, BeanType, CheckContext, Field, Finding, SecretStr
from agentforge_http.client_credentials import ClientCredentials
from agentforge_http.endpoint_types import outside_files
from agentforge_http.guard import AddressGuard
from agentforge_http.sender import connection_options
from agentforge_http.settings import ConnectionSettings
from agentforge_http.settings_findings import address_findings, connection_findings, refuse
from agentforge_http.tokens import TokenProvider

__all__ = ("CLIENT_CREDENTIALS", "ClientCredentialsSettings")


class ClientCredentialsSettings(ConnectionSettings):
    """What `http.client_credentials` takes."""

    token_url: str
    """The address of the authorization server's token endpoint."""
    client_id: str
    """The client's id."""
    client_secret: SecretStr
    """The client's secret."""
    scope: str | tuple[str, ...] | None = None
    """The scopes to ask for; unset: the server's default."""
    audience: str | None = None
    """The API that the token is for, where the server asks."""
    parameters: dict[str, str] = Field(default_factory=dict)
    """Further parameters of the request, such as resource."""
    client_authentication: Literal["basic", "post"] = "basic"
    """Whether id and secret go in the header or in the body."""


def _make(settings: ClientCredentialsSettings, context: BeanContext) -> ClientCredentials:
    refuse(_findings(settings))
    context.secrets.add(settings.client_secret.get_secret_value())
    scope = settings.scope if settings.scope is None or isinstance(settings.scope, str) else " ".join(settings.scope)
    times = settings.timeouts
    return ClientCredentials(
        settings.token_url,
        settings.client_id,
        settings.client_secret.get_secret_value(),
        scope=scope,
        audience=settings.audience,
        parameters=settings.parameters,
        client_authentication=settings.client_authentication,
        timeouts=HttpTimeouts(times.connect, times.read, times.write, times.pool, times.read),
        secrets=context.secrets,
        guard=None if context.trusted else AddressGuard(),
        transport=settings.transport,
        transport_options=connection_options(settings, context),
    )


def _check(settings: ClientCredentialsSettings, context: CheckContext) -> Iterator[Finding]:
    yield from outside_files(settings, context)
    yield from _findings(settings)


def _findings(settings: ClientCredentialsSettings) -> Iterator[Finding]:
    yield from connection_findings(settings)
    yield from address_findings("token_url", settings.token_url.partition("?")[0])


def _addresses(settings: ClientCredentialsSettings, context: BeanContext) -> Iterable[str]:
    return (settings.token_url.partition("?")[0],) if settings.proxy is None else ()


CLIENT_CREDENTIALS = BeanType(
    "http.client_credentials",
    ClientCredentialsSettings,
    _make,
    TokenProvider,
    "Access tokens by OAuth 2's client credentials, fetched, kept and renewed.",
    check=_check,
    endpoints=_addresses,
)
"""The type."""
