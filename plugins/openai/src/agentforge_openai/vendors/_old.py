"""The rows: six endpoints that speak Chat Completions, each with what it wants, refuses and ignores.

Every value is a default. Models of one vendor differ, so a user overrides what does not hold: ``profile_overrides`` for
capabilities, a changed row for forms.
"""

from __future__ import annotations

from types import MappingProxyType

from agentforge.model import ModelProfile, PriceTable
from agentforge.provider import VendorTable
from agentforge_openai import subsets
from agentforge_openai.profile import ThinkingRule, VendorRow
from agentforge_openai.responses.form import ResponsesForm

__all__ = (
    "AZURE",
    "CHAT_VENDORS",
    "DASHSCOPE",
    "DEEPSEEK",
    "GENERIC",
    "OLLAMA",
    "OPENAI",
    "VENDORS",
    "prices_of",
    "vendor_row",
)

_ON_RESPONSES = (
    "call the model through the Responses API (openai.responses), which takes both; "
    "tools_need_responses: responses does so by itself"
)
# Longer ids, as other vendors make them, are refused in a history (microsoft/autogen#6377, agno-agi/agno#5382).
_SHORT_IDS = r"(?s)^.{1,40}$"
_USER_NAMES = r"^[a-zA-Z0-9_-]{1,64}$"
# They make one call at a time and refuse the flag, even as false (evalstate/fast-agent#279).
_O_SERIES = r"^o[0-9]"
# Models that give their reasoning encrypted; gpt-5-chat does not reason, its successors do.
_RESPONSES = ResponsesForm(
    reasoning_models=r"^(o[0-9]|gpt-(?!5-chat)([5-9]|[1-9][0-9])|codex|computer-use)",
    system_role="developer",
    call_id_pattern=r"(?s)^.{1,64}$",
    capabilities={"tool_name_pattern": r"^[a-zA-Z0-9_-]{1,128}$"},
)

OPENAI = VendorRow(
    name="openai",
    subset=subsets.OPENAI,
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    key_required=True,
    max_tokens_field="max_completion_tokens",
    strict_excludes_parallel=True,
    call_id_pattern=_SHORT_IDS,
    audio_formats=frozenset({"wav", "mp3"}),
    # These models take tools on this API only without reasoning effort; the second family has one by default.
    tools_refuse_effort=r"^gpt-5\.[46]\b",
    tools_need_effort_none=r"^gpt-5\.6\b",
    tools_elsewhere=_ON_RESPONSES,
    refuses_parallel_flag=_O_SERIES,
    user_name_pattern=_USER_NAMES,
    responses=_RESPONSES,
    capabilities=ModelProfile(unsupported={"tool_name": "map"}),
)

AZURE = VendorRow(
    name="azure",
    subset=subsets.AZURE,
    base_url_variable="AZURE_OPENAI_ENDPOINT",
    key_variable="AZURE_OPENAI_API_KEY",
    key_required=True,
    auth="api-key",
    path="azure",
    max_tokens_field="max_completion_tokens",
    strict_excludes_parallel=True,
    call_id_pattern=_SHORT_IDS,
    audio_formats=frozenset({"wav", "mp3"}),
    tools_refuse_effort=r"^gpt-5\.[46]\b",
    tools_need_effort_none=r"^gpt-5\.6\b",
    tools_elsewhere=_ON_RESPONSES,
    refuses_parallel_flag=_O_SERIES,
    user_name_pattern=_USER_NAMES,
    responses=_RESPONSES,
    capabilities=ModelProfile(unsupported={"tool_name": "map"}),
)

DEEPSEEK = VendorRow(
    name="deepseek",
    base_url="https://api.deepseek.com",
    key_variable="DEEPSEEK_API_KEY",
    key_required=True,
    strict_base="/beta",
    subset=subsets.DEEPSEEK,
    replay_fields=("reasoning_content",),
    replay_required="reasoning_content",
    replay_refused_by=r"(?i)deepseek-r1",
    thinking=ThinkingRule(
        models=r"^(?!deepseek-chat\b)",
        switch="thinking",
        levels=True,
        forced_choice=False,
        # Of these the last two are refused.
        ignores=frozenset(
            {"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"}
        ),
    ),
    # Between two calls of a turn nothing may stand, and schemas of answers are taken on this API only.
    responses=ResponsesForm(
        sends_store=False,
        calls_together=True,
        capabilities={"response_formats": frozenset({"text", "json", "json_schema"})},
    ),
    capabilities=ModelProfile(
        tool_choice=frozenset({"auto", "none", "required", "tool"}),
        parallel_tool_calls="always",
        response_formats=frozenset({"text", "json"}),
        images=False,
        audio=False,
        files=False,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map", "thinking_ignores": "drop"},
    ),
)

DASHSCOPE = VendorRow(
    name="dashscope",
    base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
    base_url_variable="DASHSCOPE_BASE_URL",
    key_variable="DASHSCOPE_API_KEY",
    key_required=True,
    description_required=True,
    stream_only=r"^(qwq|qvq)\b",
    thinking=ThinkingRule(
        models=r"^(qwq|qvq)\b|-thinking\b", switch="enable_thinking", forced_choice=False, json_formats=False
    ),
    capabilities=ModelProfile(
        tool_choice=frozenset({"auto", "none", "tool"}),
        strict_tools=False,
        response_formats=frozenset({"text", "json"}),
        audio=False,
        files=False,
        # Names outside the rule are refused here; with "map" they get an alias as elsewhere.
        unsupported={"tool_name": "error", "tool_description": "error", "tool_choice.allowed": "map"},
    ),
)

OLLAMA = VendorRow(
    name="ollama",
    base_url="http://localhost:11434/v1",
    key_variable="OLLAMA_API_KEY",
    replay_fields=("reasoning",),
    image_urls=False,
    capabilities=ModelProfile(
        tool_choice=frozenset({"auto"}),
        parallel_tool_calls="always",
        strict_tools=False,
        # A grammar holds the model to the form, and calls are outside it (ollama/ollama#8095, #11185).
        response_format_with_tools=False,
        audio=False,
        files=False,
        max_tools=None,
        unsupported={"tool_name": "map", "tool_choice.none": "map", "tool_choice.allowed": "map"},
    ),
)

GENERIC = VendorRow(
    name="generic",
    # No variable: a key of one vendor must not reach another by default.
    replay_fields=("reasoning_content", "reasoning_details"),
    replay_extras=True,
    reasoning_only_in_total=True,
    capabilities=ModelProfile(
        # Few servers know lists of allowed tools; fewer tools mean the same everywhere.
        tool_choice=frozenset({"auto", "none", "required", "tool"}),
        max_tools=None,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map"},
    ),
)

#: The rows by name.
VENDORS = MappingProxyType({row.name: row for row in (OPENAI, AZURE, DEEPSEEK, DASHSCOPE, OLLAMA, GENERIC)})

#: The rows with what finds them; ``openai`` is also the family that other plugins bring rows for.
CHAT_VENDORS = VendorTable("openai", VendorRow, VENDORS, default="openai")


def prices_of(row: VendorRow) -> PriceTable | None:
    """What the models of this row cost, as far as it is known: what other vendors, and platforms, ask for models of the
    same names is theirs."""
    if row.name != OPENAI.name:
        return None
    from agentforge_openai.prices import PRICES

    return PRICES


def vendor_row(vendor: str | VendorRow) -> VendorRow:
    """The row of that name; a row is returned as it is. Raises `ConfigurationError` for an unknown name.

    >>> vendor_row("deepseek").key_variable
    'DEEPSEEK_API_KEY'
    """
    return CHAT_VENDORS.row(vendor)
