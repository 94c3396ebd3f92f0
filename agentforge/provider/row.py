"""What a vendor's endpoint wants and can do, as data: one row a vendor, no code a vendor.

A row holds two kinds of fact. *Forms* (addresses, headers, patterns) shape the request; *capabilities* are a
`ModelProfile`, which users may override field by field where a model or an endpoint differs from the row. A wire
derives its own kind of row with the forms that only its protocol has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.model import ModelProfile
from agentforge.tool.spec import STANDARD, SchemaSubset

__all__ = ("EndpointRow", "ThinkingLimits", "profile_of", "provider_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingLimits:
    """What thinking forbids.

    ``models`` is a regular expression of the models that think unless told otherwise. ``forced_choice`` is false where
    ``required`` or a named tool is refused while thinking, ``json_formats`` where every response format but text is;
    ``ignores`` are parameters without effect while thinking, ours or custom ones.
    """

    models: str
    forced_choice: bool = True
    json_formats: bool = True
    ignores: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """One vendor as data, in what all wires have in common.

    >>> EndpointRow(name="house", base_url="https://llm.example/v1").auth
    'bearer'
    """

    #: The fields that hold regular expressions; checked where a row comes from a plugin.
    PATTERNS: ClassVar[tuple[str, ...]] = (
        "call_id_pattern",
        "tools_refuse_effort",
        "tools_need_effort_none",
        "stream_only",
    )

    name: str
    #: Where requests go unless ``base_url`` is given; ``base_url_variable`` is the environment variable read before it.
    base_url: str | None = None
    base_url_variable: str | None = None
    #: The environment variable of the key, and whether the endpoint works without one.
    key_variable: str | None = None
    key_required: bool = False
    #: ``bearer``: ``Authorization: Bearer``; else a header of that name.
    auth: Literal["bearer", "api-key", "x-api-key"] = "bearer"
    #: Headers of every request, such as the version of the API.
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Strict tools work only below a base with this ending.
    strict_base: str | None = None
    #: Strict and parallel calls exclude each other.
    strict_excludes_parallel: bool = False
    #: The part of JSON Schema that strict schemas must stay in.
    subset: SchemaSubset = STANDARD
    #: Tools must have a description.
    description_required: bool = False
    #: What ids of calls must match (regular expression); foreign ones are replaced by a digest of theirs.
    call_id_pattern: str | None = None
    #: Fields of earlier assistant turns that go back, when they came from this provider.
    replay_fields: tuple[str, ...] = ()
    thinking: ThinkingLimits | None = None
    #: Models that refuse tools beside a reasoning effort, and those among them that have an effort by default.
    tools_refuse_effort: str | None = None
    tools_need_effort_none: str | None = None
    #: Images can be given by URL, not only as data.
    image_urls: bool = True
    #: Models (regular expression) that answer streamed requests only.
    stream_only: str | None = None
    capabilities: ModelProfile = field(default_factory=ModelProfile)


def profile_of(
    row: EndpointRow, model: str, *, base_url: str, overrides: Mapping[str, object] | None = None
) -> ModelProfile:
    """The capabilities of ``model`` at this row's endpoint, with a user's overrides on top.

    Raises `ConfigurationError` for an override that is no field of `ModelProfile`.
    """
    changes: dict[str, object] = {
        "name": row.name,
        "replay": frozenset(row.replay_fields),
        "strict_subset": row.subset.name,
    }
    if row.strict_base is not None:
        changes["strict_tools"] = base_url.rstrip("/").endswith(row.strict_base)
    if row.tools_refuse_effort and re.search(row.tools_refuse_effort, model):
        changes["tools_with_thinking"] = False
    if overrides:
        known = {item.name for item in fields(ModelProfile)}
        for name, value in overrides.items():
            if name not in known:
                raise ConfigurationError(
                    f"profile_overrides has no field {name!r}",
                    next_step=f"Use one of {', '.join(sorted(known))}.",
                )
            if name == "unsupported" and isinstance(value, Mapping):
                value = {**row.capabilities.unsupported, **value}
            elif name in ("tool_choice", "response_formats", "replay") and not isinstance(value, str):
                value = frozenset(value)  # type: ignore[call-overload]
            changes[name] = value
    return row.capabilities.with_(**changes)


def provider_id(row: EndpointRow, base_url: str) -> str:
    """Who may read the opaque state of a turn: the row's name, with the address where the host is not the row's own. A
    gateway has several providers behind one host, so the path counts there, and so does an unencrypted way.

    >>> provider_id(EndpointRow(name="generic"), "https://llm.example/v1")
    'generic@llm.example/v1'
    """
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2].lower()
    if row.base_url:
        own = urlsplit(row.base_url)
        if (parts.scheme, host) == (own.scheme, own.netloc):
            return row.name
    scheme = "" if parts.scheme == "https" else f"{parts.scheme}://"
    return f"{row.name}@{scheme}{host}{parts.path.rstrip('/')}"
