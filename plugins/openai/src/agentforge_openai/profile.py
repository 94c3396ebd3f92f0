"""What a vendor of this form wants and can do, as data: one `VendorRow` a vendor, no code a vendor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agentforge.provider import FEATURES, EndpointRow, ThinkingLimits
from agentforge_openai.responses.form import ResponsesForm

__all__ = ("ThinkingRule", "VendorRow")

_OF_A_TURN = frozenset({"content", "name", "role", "tool_call_id", "tool_calls"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingRule(ThinkingLimits):
    """How a vendor turns thinking on and off, and what thinking forbids."""

    PATTERNS: ClassVar[tuple[str, ...]] = (*ThinkingLimits.PATTERNS, "levels_for", "always")

    #: The field that says so: ``thinking`` (an object with ``type``) or ``enable_thinking`` (true or false).
    switch: Literal["thinking", "enable_thinking"]
    #: Whether the endpoint takes levels of ``reasoning_effort`` as well.
    levels: bool = False
    #: The models (regular expression) that take levels where not all do.
    levels_for: str | None = None
    #: Models (regular expression) that think whatever is asked.
    always: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorRow(EndpointRow):
    """One vendor as data. Copy a row with `dataclasses.replace` to describe an endpoint of your own.

    >>> VendorRow(name="house", base_url="https://llm.example/v1").max_tokens_field
    'max_tokens'
    """

    PATTERNS: ClassVar[tuple[str, ...]] = (
        *EndpointRow.PATTERNS,
        "replay_refused_by",
        "replay_in_tags",
        "refuses_parallel_flag",
        "user_name_pattern",
        "sends_to",
        "call_extra_for",
        "untaken",
    )
    WORDS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **EndpointRow.WORDS,
        # What is read of a reply; of others nothing would be there to go back.
        "replay_fields": ("reasoning", "reasoning_content", "reasoning_details", "thinking_parts"),
    }
    REFUSES: ClassVar[Mapping[str, frozenset[str]]] = {
        **EndpointRow.REFUSES,
        "sends": frozenset({"messages", "model", "stream", "stream_options", "tools"}),
        "call_extra": frozenset({"function", "id", "type"}),
        "prefix_field": _OF_A_TURN,
        "replay_required": _OF_A_TURN,
        # Of these the capabilities speak.
        "untaken": frozenset(
            {
                "messages",
                "model",
                "parallel_tool_calls",
                "reasoning_effort",
                "response_format",
                "stream",
                "tool_choice",
                "tools",
            }
        ),
    }
    FEATURES: ClassVar[frozenset[str]] = FEATURES | {
        "parameters",
        "reasoning_effort.level",
        "reasoning_effort.none",
        "stop",
    }

    #: ``plain``: the base and ``/chat/completions``; ``azure``: deployments, or ``/openai/v1`` without a version.
    path: Literal["plain", "azure"] = "plain"
    #: The field of the most tokens of a reply.
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    #: The field of the seed.
    seed_field: Literal["seed", "random_seed"] = "seed"
    #: The word of ``tool_choice`` for "some call, whichever".
    required_word: Literal["required", "any"] = "required"
    #: Fields of every request, unless a custom parameter says otherwise.
    sends: Mapping[str, Any] = field(default_factory=dict, hash=False)
    #: The models (regular expression) that get them; unset: all.
    sends_to: str | None = None
    #: Parameters, ours or custom ones, and the models (regular expression) that do not take them.
    untaken: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Whether a stream may be asked for its usage (``stream_options``).
    stream_usage: bool = True
    #: Whether a stream that ends without reason and end mark may still be trusted when all its calls are complete.
    unfinished_calls_allowed: bool = False
    #: Whether names of calls arrive in pieces.
    splits_names: bool = False
    #: Whether ``strict: false`` must be said, as the vendor's default is true.
    sends_strict_false: bool = False
    #: Whether definitions in a schema that is not strict are written out where they are referred to.
    inlines_definitions: bool = False
    #: The field that must be there on every assistant turn of a conversation with tools, empty if nothing came.
    replay_required: str | None = None
    #: Models (regular expression) that refuse replayed reasoning.
    replay_refused_by: str | None = None
    #: Models (regular expression) that want their reasoning back in front of the text, between ``<think>`` tags.
    replay_in_tags: str | None = None
    #: Whether opaque extras on messages and calls (signatures) go back.
    replay_extras: bool = False
    #: What stands on the first call of a turn that has no such extra of this provider, as its models want one there.
    call_extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    #: The models (regular expression) that want it; unset: none.
    call_extra_for: str | None = None
    #: The field that marks a last assistant message as one to go on with.
    prefix_field: str | None = None
    #: What an assistant says between results and a message of the user, where nothing else stands there.
    between_results_and_user: str | None = None
    #: Whether results name their tool.
    names_results: bool = False
    #: Models (regular expression) that refuse the flag for parallel calls; only a user's own is sent to them.
    refuses_parallel_flag: str | None = None
    #: Whether a message of a user may have a name.
    user_names: bool = True
    #: What it must match (regular expression); others are sent under one that does.
    user_name_pattern: str | None = None
    #: How thinking is switched, and what it forbids; unset: there is no switch.
    thinking: ThinkingRule | None = None
    #: The forms of sound that can be sent, where the vendor names them.
    audio_formats: frozenset[str] | None = None
    #: The part of a message that is a file.
    file_form: Literal["file", "document_url"] = "file"
    #: Tokens of reasoning are counted in the total only.
    reasoning_only_in_total: bool = False
    #: What differs on the vendor's Responses API.
    responses: ResponsesForm = field(default_factory=ResponsesForm)
