"""What every bean type of this plugin takes: how requests are sent, with which credentials, within which bounds.

The settings classes are data alone; what is made of them is in `agentforge_http.sender` and `agentforge_http.endpoint`,
and what is wrong between them in `agentforge_http.settings_findings`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from agentforge.plugin import (
    BeanSettings,
    Count,
    CountFromZero,
    Field,
    Ref,
    RootFileOnly,
    Seconds,
    SecretStr,
)
from agentforge_http.header_text import header_fault, is_header_name
from agentforge_http.run_values import RunValue
from agentforge_http.tokens import TokenProvider

__all__ = (
    "ApiKeySettings",
    "AuthSettings",
    "BasicSettings",
    "ConnectionSettings",
    "HttpSettings",
    "RunValueSettings",
    "StaticAuthSettings",
    "TimeoutSettings",
    "cookie_value_fits",
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


class BasicSettings(BeanSettings):
    """A user's name and password."""

    username: str
    """The name."""
    password: SecretStr
    """The password."""

    def model_post_init(self, context: object) -> None:
        """A name with a colon would be read as name and password."""
        if ":" in self.username:
            raise ValueError("a username of basic authentication cannot hold a colon")


class ApiKeySettings(BeanSettings):
    """A key under a name of the API's own."""

    name: str
    """The name of the header, query member or cookie."""
    value: SecretStr
    """The key, with the word before it where the API wants one."""
    in_: Literal["header", "query", "cookie"] = Field(default="header", alias="in")
    """Where it goes."""

    def model_post_init(self, context: object) -> None:
        """A name and a value that can be sent there."""
        value = self.value.get_secret_value()
        if self.in_ == "header" and (fault := header_fault(self.name, value, credentials=True)) is not None:
            raise ValueError(f"the header {self.name!r} {fault}")
        if self.in_ == "cookie" and not (is_header_name(self.name) and cookie_value_fits(value)):
            raise ValueError(f"the cookie {self.name!r} cannot be sent: its name or value is not valid")
        if not self.name or not value:
            raise ValueError("name and value must not be empty")


class StaticAuthSettings(BeanSettings):
    """Credentials that stay as they are; ``bearer`` and ``basic`` exclude each other."""

    bearer: SecretStr | None = None
    """A token for Authorization: Bearer."""
    basic: BasicSettings | None = None
    """A name and a password."""
    api_key: ApiKeySettings | None = None
    """A key under a name of the API's own."""

    def model_post_init(self, context: object) -> None:
        """One value for the header Authorization, and one that can be sent."""
        if sum(value is not None for value in self._for_authorization()) > 1:
            raise ValueError("several values for the header Authorization; give one of bearer, basic and token")
        bearer = self.bearer.get_secret_value() if self.bearer is not None else None
        if bearer is not None and (not bearer or header_fault("Authorization", bearer, credentials=True)):
            raise ValueError("the token of bearer is empty, or holds characters that no header can carry")

    def header_names(self) -> set[str]:
        """The headers that are given, in lower case."""
        key = self.api_key
        named = {key.name.lower()} if key is not None and key.in_ == "header" else set()
        return named | ({"authorization"} if any(each is not None for each in self._for_authorization()) else set())

    def _for_authorization(self) -> tuple[Any, ...]:
        key = self.api_key
        named = key if key is not None and key.in_ == "header" and key.name.lower() == "authorization" else None
        return self.bearer, self.basic, named


class AuthSettings(StaticAuthSettings):
    """Credentials, or the bean that gives tokens."""

    token: Annotated[TokenProvider, Ref()] | None = None
    """A bean that gives tokens, such as http.client_credentials; they go as Authorization: Bearer."""

    def _for_authorization(self) -> tuple[Any, ...]:
        return *super()._for_authorization(), self.token


class RunValueSettings(BeanSettings):
    """One value of the run."""

    value: str
    """tenant, memory_id, run_id, or user_data and a dotted path in it."""
    required: bool = True
    """Whether a call without it fails before anything is sent."""
    prefix: str = ""
    """Text in front of it, such as the word Bearer and a blank."""


class ConnectionSettings(BeanSettings):
    """How a server is reached."""

    timeouts: TimeoutSettings = TimeoutSettings()
    """How long each part of an exchange may take."""
    max_connections: Count = 100
    """Connections at a time."""
    proxy: SecretStr | None = None
    """The address of a proxy, which may hold a password; unset: that of the environment."""
    ca_bundle: str | None = None
    """A file of certificates to trust, relative to the file the bean stands in."""
    insecure_skip_tls_verification: bool = False
    """Accepts any certificate: anyone between can then read the credentials and change the answers."""
    transport: Literal["httpx", "aiohttp"] = "httpx"
    """The HTTP library; aiohttp needs agentforge-kit[fast]."""


class HttpSettings(ConnectionSettings):
    """The settings that a single endpoint and an imported document share."""

    auth: AuthSettings = AuthSettings()
    """The credentials, which go to the API's own origin and nowhere else."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of every request."""
    query: dict[str, SecretStr] = Field(default_factory=dict)
    """Query members of every request."""
    from_context: dict[str, str | RunValueSettings] = Field(default_factory=dict)
    """Values of the run that the model neither sees nor sets: an argument's name, or header.NAME, query.NAME or
    cookie.NAME, to tenant, memory_id, run_id or user_data.KEY."""
    timeout: Seconds | None = None
    """How long a call may take, its retries and redirects included; unset: as the service says."""
    retries: CountFromZero = 0
    """How often a call of a tool that only reads is sent again after a failure that may pass; others never are."""
    max_response_bytes: Count = 1024 * 1024
    """How much of an answer is read, decompressed; a text that is longer is cut, anything else is an error."""
    follow_redirects: bool = False
    """Whether up to 3 redirects within the same origin are followed."""
    allow_hosts: Annotated[tuple[str, ...], RootFileOnly()] = ()
    """Hosts (api.corp.example, *.corp.example) and networks (10.1.0.0/16) that may be called although they are not
    public; the hosts written in this file need not be named."""
    idempotency_header: str | None = None
    """The header in which the API takes an idempotency key, such as Idempotency-Key; calls that write send one."""
    idempotency_argument: str | None = None
    """The argument that says which action it is, such as order_no; unset: each call is an action of its own."""

    def run_value(self, key: str) -> RunValue:
        """An entry of ``from_context``. Raises `ConfigurationError`."""
        each = self.from_context[key]
        each = RunValueSettings(value=each) if isinstance(each, str) else each
        return RunValue.parsed(key, each.value, each.required, each.prefix)

    def run_values(self) -> tuple[RunValue, ...]:
        """All entries of ``from_context``. Raises `ConfigurationError`."""
        return tuple(self.run_value(key) for key in self.from_context)


def cookie_value_fits(value: str) -> bool:
    """Whether a cookie can have this value as it stands."""
    return all("\x21" <= each <= "\x7e" and each not in '",;\\' for each in value)
