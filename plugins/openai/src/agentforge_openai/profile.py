"""What a vendor's endpoint wants and can do, as data: one `VendorRow` a vendor, no code a vendor.

A row holds two kinds of fact. *Forms* (names of fields, headers, paths) shape the bytes; *capabilities* are a
`ModelProfile`, which users may override field by field where a model or an endpoint differs from the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.model import ModelProfile

__all__ = ("ThinkingRule", "VendorRow", "profile_of", "provider_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingRule:
    """How a vendor turns thinking on and off, and what thinking forbids.

    ``models`` is a regular expression of the models that think unless told otherwise. ``switch`` is the field that says
    so: ``thinking`` (an object with ``type``) or ``enable_thinking`` (true or false); ``levels`` whether the endpoint
    takes ``reasoning_effort`` levels as well. ``forced_choice`` is false where ``required`` or a named tool is refused
    while thinking; ``ignores`` are parameters without effect while thinking.
    """

    models: str
    switch: Literal["thinking", "enable_thinking"]
    levels: bool = False
    forced_choice: bool = True
    ignores: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorRow:
    """One vendor as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> VendorRow(name="house", base_url="https://llm.example/v1").max_tokens_field
    'max_tokens'
    """

    name: str
    #: Where requests go unless ``base_url`` is given; ``base_url_variable`` is the environment variable read before it.
    base_url: str | None = None
    base_url_variable: str | None = None
    #: The environment variable of the key, and whether the endpoint works without one.
    key_variable: str | None = None
    key_required: bool = False
    #: ``bearer``: ``Authorization: Bearer``; ``api-key``: a header of that name.
    auth: Literal["bearer", "api-key"] = "bearer"
    #: ``plain``: the base and ``/chat/completions``; ``azure``: deployments, or ``/openai/v1`` without a version.
    path: Literal["plain", "azure"] = "plain"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    #: Whether a stream may be asked for its usage (``stream_options``).
    stream_usage: bool = True
    #: Whether a stream that ends without reason and end mark may still be trusted when all its calls are complete.
    unfinished_calls_allowed: bool = False
    #: Whether names of calls arrive in pieces.
    splits_names: bool = False
    #: Whether ``strict: false`` must be said, as the vendor's default is true.
    sends_strict_false: bool = False
    #: Strict tools work only below a base with this ending.
    strict_base: str | None = None
    #: Strict and parallel calls exclude each other.
    strict_excludes_parallel: bool = False
    #: Schema keywords that this vendor refuses in strict tools, beyond the common subset.
    strict_refuses: frozenset[str] = frozenset()
    #: Tools must have a description.
    description_required: bool = False
    #: What ids of calls must match (regular expression); foreign ones are replaced by a digest of theirs.
    call_id_pattern: str | None = None
    #: Fields of earlier assistant turns that go back, when they came from this provider.
    replay_fields: tuple[str, ...] = ()
    #: The field that must be there on every assistant turn of a conversation with tools, empty if nothing came.
    replay_required: str | None = None
    #: Models (regular expression) that refuse replayed reasoning.
    replay_refused_by: str | None = None
    #: Whether opaque extras on messages and calls (signatures) go back.
    replay_extras: bool = False
    thinking: ThinkingRule | None = None
    #: Models that refuse tools beside a reasoning effort, and those among them that have an effort by default.
    tools_refuse_effort: str | None = None
    tools_need_effort_none: str | None = None
    #: Images can be given by URL, not only as data.
    image_urls: bool = True
    #: Tokens of reasoning are counted in the total only.
    reasoning_only_in_total: bool = False
    #: Models (regular expression) that answer streamed requests only.
    stream_only: str | None = None
    capabilities: ModelProfile = field(default_factory=ModelProfile)


def profile_of(
    row: VendorRow, model: str, *, base_url: str, overrides: Mapping[str, object] | None = None
) -> ModelProfile:
    """The capabilities of ``model`` at this row's endpoint, with a user's overrides on top.

    Raises `ConfigurationError` for an override that is no field of `ModelProfile`.
    """
    changes: dict[str, object] = {"name": row.name, "replay": frozenset(row.replay_fields)}
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


def provider_id(row: VendorRow, base_url: str) -> str:
    """Who may read the opaque state of a turn: the row's name, with the address where the host is not the row's own. A
    gateway has several providers behind one host, so the path counts there, and so does an unencrypted way.

    >>> provider_id(VendorRow(name="generic"), "https://llm.example/v1")
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
