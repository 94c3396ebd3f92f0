"""One HTTP request as data: what a tool sends, where each of its arguments goes, and what may be done with it.

A file (``http.tool``) and an OpenAPI document (``http.openapi``) both end here; the executor knows no other form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentforge.model import ToolParameters, ToolSpecification
from agentforge.tool import Effect

__all__ = ("SAFE_METHODS", "STYLES", "BodyEncoding", "HttpBody", "HttpOperation", "HttpParameter", "Place", "Style")

Place: TypeAlias = Literal["path", "query", "header", "cookie"]

Style: TypeAlias = Literal["matrix", "label", "simple", "form", "spaceDelimited", "pipeDelimited", "deepObject"]

STYLES: Mapping[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles that OpenAPI has for each place, the default first."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
"""Methods that only read, unless something else is declared."""


@dataclass(frozen=True, slots=True)
class HttpParameter:
    """One parameter: ``argument`` is its name among the tool's arguments, ``name`` that on the wire.

    ``style``, ``explode`` and ``allow_reserved`` as in OpenAPI; with ``content_type`` the value goes as JSON text
    instead. ``required`` is for what the schema cannot see: a value that comes from the run.
    """

    argument: str
    name: str
    place: Place
    style: Style
    explode: bool
    allow_reserved: bool = False
    content_type: str | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class BodyEncoding:
    """How one member of a form or multipart body goes: its style in a form, its media type as a part."""

    style: Style = "form"
    explode: bool = True
    allow_reserved: bool = False
    content_type: str | None = None
    is_binary: bool = False
    """The value is base64 text, and what goes on the wire are its bytes."""


@dataclass(frozen=True, slots=True)
class HttpBody:
    """The body: either ``argument`` holds all of it, or ``members`` are the arguments that are members of an object,
    each with its name there.

    ``media_type`` is what is sent: JSON (``application/json``, anything with ``+json``), a form
    (``application/x-www-form-urlencoded``), ``multipart/form-data``, text (``text/…``), or bytes (all others, the
    argument being base64 text). ``encodings`` are by member name.
    """

    media_type: str
    argument: str | None = None
    members: Mapping[str, str] = field(default_factory=dict)
    required: bool = False
    encodings: Mapping[str, BodyEncoding] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpOperation:
    """One request: ``base_url`` (without a slash at its end) and ``path``, a template whose ``{name}`` are the wire
    names of the path parameters.

    ``schema`` is the JSON Schema of the tool's arguments. ``own_name`` is what the document calls it,
    ``host_is_trusted`` whether the host was written in a trusted file: any other must be public. ``security`` are the
    alternatives of schemes that it asks for, by their names in the document (``None``: not said, ``()``: none).
    ``constant_query`` and ``constant_headers`` go with every request.
    """

    name: str
    method: str
    base_url: str
    path: str
    description: str | None = None
    schema: Mapping[str, Any] = field(default_factory=lambda: ToolParameters.empty().schema)
    parameters: tuple[HttpParameter, ...] = ()
    body: HttpBody | None = None
    effect: Effect | None = None
    own_name: str | None = None
    host_is_trusted: bool = False
    accept: str = "*/*"
    security: tuple[frozenset[str], ...] | None = None
    constant_query: tuple[tuple[str, str], ...] = ()
    constant_headers: tuple[tuple[str, str], ...] = ()
    version: str | None = None
    """The version of the document or API it comes from."""

    @property
    def reads(self) -> bool:
        """Whether the tool only reads: as declared, else by its method."""
        return self.effect == "read" if self.effect is not None else self.method.upper() in SAFE_METHODS

    @property
    def specification(self) -> ToolSpecification:
        """The tool as a model sees it."""
        return ToolSpecification(self.name, self.description, ToolParameters(dict(self.schema)))
