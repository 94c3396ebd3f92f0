"""What a vendor of this form wants and can do, as data: one `VendorRow` a vendor, no code a vendor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from agentforge.provider import FEATURES, EndpointRow, ThinkingLimits
from agentforge_openai.responses.form import ResponsesForm

__all__ = ("ThinkingRule", "VendorRow")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingRule(ThinkingLimits):
    """How a vendor turns thinking on and off, and what thinking forbids.

    ``switch`` is the field that says so: ``thinking`` (an object with ``type``) or ``enable_thinking`` (true or false);
    ``levels`` whether the endpoint takes ``reasoning_effort`` levels as well.
    """

    switch: Literal["thinking", "enable_thinking"]
    levels: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorRow(EndpointRow):
    """One vendor as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> VendorRow(name="house", base_url="https://llm.example/v1").max_tokens_field
    'max_tokens'
    """

    PATTERNS: ClassVar[tuple[str, ...]] = (
        *EndpointRow.PATTERNS,
        "replay_refused_by",
        "refuses_parallel_flag",
        "user_name_pattern",
    )
    FEATURES: ClassVar[frozenset[str]] = FEATURES | {"reasoning_effort.level", "stop"}

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
    #: The field that must be there on every assistant turn of a conversation with tools, empty if nothing came.
    replay_required: str | None = None
    #: Models (regular expression) that refuse replayed reasoning.
    replay_refused_by: str | None = None
    #: Whether opaque extras on messages and calls (signatures) go back.
    replay_extras: bool = False
    #: Models (regular expression) that refuse the flag for parallel calls; only a user's own is sent to them.
    refuses_parallel_flag: str | None = None
    #: What the name of a user must match (regular expression); others are sent under one that does.
    user_name_pattern: str | None = None
    thinking: ThinkingRule | None = None
    #: The forms of sound that can be sent, where the vendor names them.
    audio_formats: frozenset[str] | None = None
    #: Tokens of reasoning are counted in the total only.
    reasoning_only_in_total: bool = False
    #: What differs on the vendor's Responses API.
    responses: ResponsesForm = field(default_factory=ResponsesForm)
