"""The settings of ``http.tool`` and ``http.tools``: endpoints as a file writes them."""

from __future__ import annotations

from typing import Any, Literal

from agentforge.plugin import BeanSettings, Field
from agentforge_http.settings import HttpSettings

__all__ = ("BodySettings", "EndpointSettings", "HttpToolSettings", "HttpToolsSettings", "ListedToolSettings")

_Format = Literal["json", "form", "multipart", "text", "binary"]


class BodySettings(BeanSettings):
    """The body of a request, where its format alone does not say it."""

    format: _Format = "json"
    """json, form, multipart, text or binary (which a model gives as base64)."""
    argument: str | None = None
    """The argument that is the whole body; unset: an object of all arguments that go there."""
    media_type: str | None = None
    """What is sent as its content type; unset: the usual one of the format."""


class EndpointSettings(BeanSettings):
    """One endpoint, but for its address."""

    description: str | None = None
    """What it does, for the model."""
    method: Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    """The method."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The arguments: a JSON Schema of an object, or each by its name: a type, or a schema with required, and with in
    (path, query, header, cookie, body), wire_name, style, explode and allow_reserved for where it goes."""
    body: _Format | BodySettings | None = None
    """The format of the body; unset: json where arguments go there."""
    pick: str | None = None
    """What of a JSON answer the model gets: a JSON pointer (/items/0) or JMESPath (items[*].name)."""
    effect: Literal["read", "write"] | None = None
    """What it does to the world; unset: GET, HEAD and OPTIONS read, all others write."""
    serial: str | None = None
    """A key whose calls never run side by side."""
    sequential: bool = False
    """Whether a call waits for those before it, and those after it wait for it."""
    return_behavior: Literal["to_llm", "immediate", "immediate_if_last"] = "to_llm"
    """Where the result goes."""

    @property
    def body_settings(self) -> BodySettings | None:
        """The body in its long form."""
        return BodySettings(format=self.body) if isinstance(self.body, str) else self.body


class HttpToolSettings(HttpSettings, EndpointSettings):
    """What `http.tool` takes."""

    url: str
    """The address, with {argument} in its path and as values of its query; host and method are never an argument's."""
    name: str | None = None
    """The tool's name; unset: the bean's."""


class ListedToolSettings(EndpointSettings):
    """One tool of `http.tools`."""

    name: str
    """The tool's name."""
    path: str
    """The path behind base_url, with {argument} in it, and a query where there is one."""


class HttpToolsSettings(HttpSettings):
    """What `http.tools` takes."""

    base_url: str
    """The address that the paths are put behind."""
    tools: tuple[ListedToolSettings, ...] = Field(min_length=1)
    """The tools."""
