"""The settings of the beans ``mcp.stdio`` and ``mcp.http``."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from agentforge.model import ChatModel
from agentforge.plugin import (
    BeanSettings,
    Count,
    CountFromZero,
    Field,
    Ref,
    RootFileOnly,
    Seconds,
    SecretStr,
    ViewSettings,
)

__all__ = ("McpAuthSettings", "McpHttpSettings", "McpSettings", "McpStdioSettings", "OAuthSettings", "RestartSettings")

_VERSIONS = ("auto", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


class RestartSettings(BeanSettings):
    """When a server that died is started again."""

    base: Seconds = 0.2
    """The pause after the first death; each further one doubles."""
    cap: Seconds = 5.0
    """The longest pause."""
    stable: Seconds = 30.0
    """After so long a life the pauses begin anew."""


class McpSettings(ViewSettings):
    """What the beans of all MCP servers take. Names of tools are the server's own, or what they are made where a
    model could not call them."""

    filter: Annotated[Any, Ref()] | None = None
    """A component that says which tools to offer: a function of the definition and the server's info that gives a
    truth."""
    trust: Literal["untrusted", "trusted"] = "untrusted"
    """Kept with every tool, for policies."""
    effects: dict[str, Literal["read", "write"]] = Field(default_factory=dict)
    """The effect of tools by own name or pattern; later ones override. What a server says is only a hint."""
    serial: bool | tuple[str, ...] = False
    """Calls never run side by side: true for all tools, or names and patterns of some."""
    resources: Literal["tools"] | None = None
    """tools: the server's resources are offered by the tools list_resources and read_resource."""
    prompts: Literal["tools"] | None = None
    """tools: the server's prompts are offered by the tools list_prompts and get_prompt."""
    required: bool = True
    """Whether the program is not to start without the server; false: it is reported, left out and tried again."""
    start_timeout: Seconds = 10.0
    """How long the start of the server may take, and each page of its lists."""
    call_timeout: Seconds | None = None
    """How long a call may take; unset: as long as a tool may in general."""
    max_concurrent_calls: Count = 8
    """Calls that run side by side on this server."""
    max_result_bytes: Count = 8 * 1024 * 1024
    """The largest result that is taken, in bytes of text and base64."""
    max_message_bytes: Count = 8 * 1024 * 1024
    """The largest message of the server that is read."""
    max_tools: Count = 1_000
    """The most tools that are taken of its list; the rest is left out with a warning."""
    max_pages: Count = 100
    """The most pages of its list that are asked for."""
    restart: RestartSettings = RestartSettings()
    """When a server that died is started again."""
    protocol: str = "auto"
    """A version of the protocol; auto: the newest, with fall-back to earlier ones."""
    pins: str | dict[str, str] | None = None
    """Digests of the tools as somebody looked at them: a file of 'agentforge mcp inspect NAME --pin', relative to the
    file the bean stands in, or own names with digests. Unset: those of the first listing. What is in none is new."""
    on_change: Literal["report", "block"] = "report"
    """What becomes of a tool that is new or not as it was pinned: offered and reported, or held back."""
    elicitation: Annotated[Any, Ref()] | None = None
    """A component that answers what the server asks of the user; unset: refused."""
    sampling: Annotated[ChatModel, Ref()] | None = None
    """The model that the server may ask; unset: refused."""
    sampling_tokens: Count = 1_024
    """The most tokens that the server may have it write at once."""
    max_input_rounds: CountFromZero = 5
    """How often the server may ask something before it answers a call."""
    send_context: tuple[str, ...] = ()
    """What the server is told of the run with every call: tenant, roles, memory_id, run_id, keys of the user data."""
    keep_meta: bool = False
    """Whether a result's _meta is kept, as an attribute that no model sees."""

    def model_post_init(self, context: object) -> None:
        """Refuse what no connection could keep."""
        super().model_post_init(context)
        if self.protocol not in _VERSIONS:
            raise ValueError(f"protocol must be one of {', '.join(_VERSIONS)}, not {self.protocol!r}")
        for name in self.send_context:
            if not name or "/" in name or name == "progressToken":
                raise ValueError(f"send_context names what the protocol keeps for itself: {name!r}")


class McpStdioSettings(McpSettings):
    """What `mcp.stdio` takes."""

    command: Annotated[tuple[str, ...], RootFileOnly(), Field(min_length=1)]
    """The program and its arguments, as a list; no shell reads it."""
    args: Annotated[tuple[str, ...], RootFileOnly()] = ()
    """Further arguments."""
    environment: Annotated[dict[str, SecretStr], RootFileOnly()] = Field(default_factory=dict)
    """Variables of the program, over a small safe base: PATH, HOME, LANG and the like."""
    pass_environment: Annotated[tuple[str, ...], RootFileOnly()] = ()
    """Names of variables that are passed on; no others are."""
    cwd: Annotated[str | None, RootFileOnly()] = None
    """The folder that it runs in, relative to the file the bean stands in; unset: that file's folder."""


class OAuthSettings(BeanSettings):
    """An OAuth client that gets tokens in its own name."""

    client_id: str
    """The client."""
    client_secret: SecretStr
    """Its secret."""
    issuer: str
    """The address of the authorization server that they belong to; they are sent to no other."""
    scope: str | None = None
    """What is asked for, with spaces between."""


class McpAuthSettings(BeanSettings):
    """How to show who is asking: one of these."""

    bearer: SecretStr | None = None
    """A token that does not change."""
    token: Annotated[Any, Ref()] | None = None
    """A component with a method token that gives one."""
    oauth: OAuthSettings | None = None
    """A client of OAuth (client credentials). A login by a person is not done here."""

    def model_post_init(self, context: object) -> None:
        """At most one."""
        given = [name for name in ("bearer", "token", "oauth") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other; give one of them")


class McpHttpSettings(McpSettings):
    """What `mcp.http` takes."""

    url: str
    """The address of the server."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of every request."""
    auth: McpAuthSettings = McpAuthSettings()
    """How to show who is asking."""
    ca_bundle: str | None = None
    """A file of certificates to trust, relative to the file the bean stands in."""
    proxy: SecretStr | None = None
    """The address of a proxy, which may hold a password; those of the environment are not used."""

    def model_post_init(self, context: object) -> None:
        """Refuse an address that is none."""
        super().model_post_init(context)
        try:
            parts = urlsplit(self.url)
            host = parts.hostname
        except ValueError:
            parts, host = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("url must be an http or https address")
        if parts.username is not None or parts.password is not None:
            raise ValueError("url must not hold a user or password; give them as auth or in headers")
