"""The settings of ``http.openapi``: which description, which of its operations, and what is different from what it
says. How requests are sent is in `HttpSettings`."""

from __future__ import annotations

from typing import Annotated, Literal

from agentforge.plugin import Count, Field, Ref, SecretStr
from agentforge_http.openapi.documents import MAX_BYTES
from agentforge_http.settings import HttpSettings, StaticAuthSettings
from agentforge_http.tokens import TokenProvider

__all__ = ("OpenApiSettings",)


class OpenApiSettings(HttpSettings):
    """What `http.openapi` takes. Names of operations are their own (operationId) or those of their tools before
    ``rename`` and ``prefix``; patterns take * and ?."""

    spec: str
    """The description: a file, relative to the file the bean stands in, or an http or https address, which is fetched
    at the start. OpenAPI 3.0 and 3.1, and Swagger 2.0; JSON or YAML."""
    required: bool = True
    """Whether the program is not to start without a description at an address; false: that it cannot be fetched is
    reported, and tried again later, and there are no tools of it meanwhile."""
    spec_headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of the requests for the description, where it is an address."""
    max_document_bytes: Count = MAX_BYTES
    """The largest description that is read, in bytes."""
    base_url: str | None = None
    """The address of the API; unset: the first server that the description names."""
    server_variables: dict[str, str] = Field(default_factory=dict)
    """Values of the variables in the description's servers; unset: their defaults."""
    only: tuple[str, ...] = ()
    """Patterns of the operations to import; empty: all."""
    without: tuple[str, ...] = ()
    """Patterns of operations to leave out."""
    except_: tuple[str, ...] = Field(default=(), alias="except")
    """Another word for without."""
    tags: tuple[str, ...] = ()
    """Import only operations with one of these tags; empty: all."""
    methods: tuple[str, ...] = ()
    """Import only operations with one of these methods, such as GET; empty: all."""
    rename: dict[str, str] = Field(default_factory=dict)
    """New names of tools, by the names of operations."""
    describe: dict[str, str] = Field(default_factory=dict)
    """New descriptions of tools, by the names of operations."""
    prefix: str = ""
    """Text put in front of every tool's name."""
    effects: dict[str, Literal["read", "write"]] = Field(default_factory=dict)
    """read or write, by patterns of operations, later ones before earlier ones; unset: GET, HEAD and OPTIONS read, all
    others write."""
    pick: dict[str, str] = Field(default_factory=dict)
    """What of the JSON answer is the result, by patterns of operations: a JSON pointer (/items/0) or JMESPath."""
    auth_by_scheme: dict[str, StaticAuthSettings] = Field(default_factory=dict)
    """Credentials by the names of the description's security schemes, for operations that ask for different ones; auth
    goes with all that ask for none of these."""
    tokens_by_scheme: dict[str, Annotated[TokenProvider, Ref()]] = Field(default_factory=dict)
    """Beans that give tokens, such as http.client_credentials, by the names of security schemes."""
    max_tools: Count = 1_000
    """How many tools may come of it; more are an error."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """All patterns of operations to leave out."""
        return (*self.without, *self.except_)

    @property
    def has_auth(self) -> bool:
        """Whether credentials are configured for all operations."""
        auth = self.auth
        return any(each is not None for each in (auth.bearer, auth.basic, auth.api_key, auth.token))

    @property
    def carries_credentials(self) -> bool:
        """Whether requests hold what only the API may see."""
        by_scheme = self.auth_by_scheme or self.tokens_by_scheme
        return self.has_auth or bool(by_scheme or self.headers or self.query or self.from_context)

    @property
    def given(self) -> frozenset[tuple[str, str]]:
        """Places and names of parameters that go with every request; names of headers in lower case."""
        found = [*(("header", name.lower()) for name in self.headers), *(("query", name) for name in self.query)]
        key = self.auth.api_key
        if key is not None:
            found.append((key.in_, key.name.lower() if key.in_ == "header" else key.name))
        return frozenset(found)
