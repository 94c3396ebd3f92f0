"""What a vendor's endpoint wants and can do, as data: one row a vendor, no code a vendor.

A row holds two kinds of fact. *Forms* (addresses, headers, patterns) shape the request; *capabilities* are a
`ModelProfile`, which users may override field by field where a model or an endpoint differs from the row. A wire
derives its own kind of row with the forms that only its protocol has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args
from urllib.parse import urlsplit

from agentforge.model import ModelProfile, ReasoningEffort
from agentforge.tool.spec import PORTABLE, STANDARD, SchemaSubset

__all__ = ("FEATURES", "RESULT_MEDIA", "EndpointRow", "ThinkingLimits", "profile_of", "provider_id")

#: Media, which may also stand in the result of a tool; see `agentforge.provider.turn_shape`.
RESULT_MEDIA = ("images", "audio", "files", "image_urls", "audio_urls", "file_urls")

#: The features of a request that may have a policy where an endpoint cannot, on any wire; a part behind a dot falls
#: back to what stands before it. A wire with features of its own adds them in its kind of row.
FEATURES = frozenset(
    {
        *RESULT_MEDIA,
        "forced_choice_with_thinking",
        "parallel_tool_calls",
        "reasoning_effort",
        "response_format",
        "response_format.json",
        "response_format.json_schema",
        "response_format_with_thinking",
        "response_format_with_tools",
        "seed",
        "strict_schema",
        "strict_tools",
        "strict_with_parallel",
        "thinking_ignores",
        "tool_choice",
        "tool_choice.allowed",
        "tool_choice.auto",
        "tool_choice.none",
        "tool_choice.required",
        "tool_choice.tool",
        "tool_description",
        "tool_name",
        "tool_schema",
        "tools",
        "tools_with_thinking",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingLimits:
    """What thinking forbids."""

    PATTERNS: ClassVar[tuple[str, ...]] = ("models",)

    #: The models (regular expression) that think unless told otherwise.
    models: str
    #: Whether ``required`` or a named tool is taken while thinking.
    forced_choice: bool = True
    #: Whether other response formats than text are taken while thinking.
    json_formats: bool = True
    #: Parameters without effect while thinking, ours or custom ones.
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
    #: The words that the texts of a field are, where servers know no others or nothing would be done with them.
    WORDS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "efforts": tuple(level for level in get_args(ReasoningEffort) if level != "none"),
    }
    #: What may not stand in a field, as the request is made of it already: a text, or the key of a mapping.
    REFUSES: ClassVar[Mapping[str, frozenset[str]]] = {
        # A row is shown to everybody; what is secret is the bean's, whose headers are masked.
        "headers": frozenset({"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"}),
    }
    #: The features that ``unsupported`` of a profile may name for a row of this kind.
    FEATURES: ClassVar[frozenset[str]] = FEATURES
    #: The fields of a profile for which this form of request has no place for everything, each with the values that
    #: there are, or of a set with its members; the first is what another value becomes. An override cannot add one.
    FORM: ClassVar[Mapping[str, tuple[object, ...]]] = {}

    name: str
    #: Where requests go unless the bean has an address.
    base_url: str | None = None
    #: The environment variable whose address goes before that.
    base_url_variable: str | None = None
    #: Further addresses of the vendor's own, such as those of other countries: its key may go there too.
    further_base_urls: tuple[str, ...] = ()
    #: The environment variable of the key.
    key_variable: str | None = None
    #: Whether the endpoint asks for a key.
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
    #: The part of JSON Schema that tools' schemas are sent in where they are not strict; unset: as they are.
    schemas: SchemaSubset | None = None
    #: Tools must have a description.
    description_required: bool = False
    #: What ids of calls must match (regular expression); foreign ones are replaced by a digest of theirs.
    call_id_pattern: str | None = None
    #: Fields of earlier assistant turns that go back, when they came from this provider.
    replay_fields: tuple[str, ...] = ()
    #: What thinking forbids; unset: nothing.
    thinking: ThinkingLimits | None = None
    #: Models (regular expression) that refuse tools beside a reasoning effort.
    tools_refuse_effort: str | None = None
    #: Those among them that have an effort by default.
    tools_need_effort_none: str | None = None
    #: How else these models are asked, for the next step of the refusal.
    tools_elsewhere: str | None = None
    #: The levels of ``reasoning_effort`` that the endpoint knows, beside ``none``; another becomes the nearest one
    #: below, with a notice. Empty: every level goes out as it is.
    efforts: tuple[str, ...] = ()
    #: Features that this row refuses and the row of that name would not, as the same API may have another address.
    others_can: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Images can be given by URL, not only as data.
    image_urls: bool = True
    #: Models (regular expression) that answer streamed requests only.
    stream_only: str | None = None
    #: What the models can do, and what becomes of what they cannot.
    capabilities: ModelProfile = field(default_factory=ModelProfile)
    #: Whether another address may have a row of the same name, as where users write rows: then the address is always a
    #: part of who may read the state of a turn. No setting; it is said where such a row is made.
    named_by_user: bool = field(default=False, compare=False)


def profile_of(
    row: EndpointRow, model: str, *, base_url: str, overrides: Mapping[str, object] | None = None
) -> ModelProfile:
    """The capabilities of ``model`` at this row's endpoint, with a user's overrides on top and nothing that the form
    has no place for, as it would be left out of a request without a word.

    Raises `ConfigurationError` for an override that cannot be: an unknown field, feature or value, or one that the form
    has no place for.
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
        from agentforge.provider.overrides import check_form, checked_overrides

        given = row.capabilities.unsupported
        changes |= checked_overrides(
            overrides,
            features=row.FEATURES.union(given),
            subsets=(STANDARD.name, PORTABLE.name, row.subset.name),
        )
        if "unsupported" in overrides:
            changes["unsupported"] = {**given, **changes["unsupported"]}  # type: ignore[dict-item]
        check_form({name: changes[name] for name in overrides}, row.FORM, changes.get("unsupported", given))
    profile = row.capabilities.with_(**changes)
    return profile.with_(**_within(profile, row.FORM)) if row.FORM else profile


def _within(profile: ModelProfile, form: Mapping[str, tuple[object, ...]]) -> dict[str, object]:
    """What becomes of the fields that the form has no place for."""
    made: dict[str, object] = {}
    for name, known in form.items():
        value = getattr(profile, name)
        if isinstance(value, frozenset):
            made[name] = value.intersection(known)
        elif value not in known:
            made[name] = known[0]
    return made


def provider_id(row: EndpointRow, base_url: str) -> str:
    """Who may read the opaque state of a turn: the row's name, with the address where the host is not the row's own. A
    gateway has several providers behind one host, so the path counts there, and so does an unencrypted way. A name that
    a user gave may be given twice, so it never stands alone.

    >>> provider_id(EndpointRow(name="generic"), "https://llm.example/v1")
    'generic@llm.example/v1'
    """
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2].lower()
    if row.base_url and not row.named_by_user:
        own = urlsplit(row.base_url)
        if (parts.scheme, host) == (own.scheme, own.netloc):
            return row.name
    scheme = "" if parts.scheme == "https" else f"{parts.scheme}://"
    return f"{row.name}@{scheme}{host}{parts.path.rstrip('/')}"
