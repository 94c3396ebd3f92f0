"""The rows of vendors that make the models they serve: OpenAI with Azure, and others in alphabetical order."""

from __future__ import annotations

from dataclasses import replace

from agentforge.model import ModelProfile
from agentforge_openai import subsets
from agentforge_openai.profile import ThinkingRule, VendorRow
from agentforge_openai.responses.form import ResponsesForm

__all__ = (
    "AZURE",
    "COHERE",
    "DASHSCOPE",
    "DEEPSEEK",
    "GEMINI",
    "MINIMAX",
    "MISTRAL",
    "MOONSHOT",
    "OPENAI",
    "PERPLEXITY",
    "XAI",
    "ZAI",
    "ZHIPU",
)

#: The choices that servers know where only these are documented.
_AUTO = frozenset({"auto"})
_FORCED = frozenset({"auto", "none", "required", "tool"})

OPENAI = VendorRow(
    name="openai",
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    key_required=True,
    subset=subsets.OPENAI,
    max_tokens_field="max_completion_tokens",
    strict_excludes_parallel=True,
    # Longer ids, as other vendors make them, are refused in a history (microsoft/autogen#6377, agno-agi/agno#5382).
    call_id_pattern=r"(?s)^.{1,40}$",
    audio_formats=frozenset({"wav", "mp3"}),
    # These models take tools on this API only without reasoning effort; the second family has one by default.
    tools_refuse_effort=r"^gpt-5\.[46]\b",
    tools_need_effort_none=r"^gpt-5\.6\b",
    tools_elsewhere=(
        "call the model through the Responses API (openai.responses), which takes both; "
        "tools_need_responses: responses does so by itself"
    ),
    # They make one call at a time and refuse the flag, even as false (evalstate/fast-agent#279).
    refuses_parallel_flag=r"^o[0-9]",
    user_name_pattern=r"^[a-zA-Z0-9_-]{1,64}$",
    responses=ResponsesForm(
        # Models that give their reasoning encrypted; gpt-5-chat does not reason, its successors do.
        reasoning_models=r"^(o[0-9]|gpt-(?!5-chat)([5-9]|[1-9][0-9])|codex|computer-use)",
        system_role="developer",
        call_id_pattern=r"(?s)^.{1,64}$",
        capabilities={"tool_name_pattern": r"^[a-zA-Z0-9_-]{1,128}$"},
    ),
    capabilities=ModelProfile(unsupported={"tool_name": "map"}),
)

AZURE = replace(
    OPENAI,
    name="azure",
    base_url=None,
    base_url_variable="AZURE_OPENAI_ENDPOINT",
    key_variable="AZURE_OPENAI_API_KEY",
    auth="api-key",
    path="azure",
    subset=subsets.AZURE,
)

COHERE = VendorRow(
    name="cohere",
    base_url="https://api.cohere.ai/compatibility/v1",
    key_variable="CO_API_KEY",
    key_required=True,
    # The one level besides none.
    efforts=("high",),
    capabilities=ModelProfile(
        # Neither a choice nor the flag is among the parameters that the page of this layer lists.
        tool_choice=_AUTO,
        parallel_tool_calls="always",
        audio=False,
        files=False,
        unsupported={"tool_name": "map", "tool_choice.none": "map", "tool_choice.allowed": "map"},
    ),
)

DASHSCOPE = VendorRow(
    name="dashscope",
    base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
    base_url_variable="DASHSCOPE_BASE_URL",
    further_base_urls=("https://dashscope-intl.aliyuncs.com/compatible-mode/v1",),
    key_variable="DASHSCOPE_API_KEY",
    key_required=True,
    description_required=True,
    inlines_definitions=True,
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
        # A tool of this one name is refused (agno-agi/agno#4846).
        tool_name_pattern=r"^(?!search$)[a-zA-Z0-9_-]{1,64}$",
        # Names outside the rule are refused here; with "map" they get an alias as elsewhere.
        unsupported={"tool_name": "error", "tool_description": "error", "tool_choice.allowed": "map"},
    ),
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
        tool_choice=_FORCED,
        parallel_tool_calls="always",
        response_formats=frozenset({"text", "json"}),
        images=False,
        audio=False,
        files=False,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map", "thinking_ignores": "drop"},
    ),
)

#: The layer in front of Gemini; its own API knows more.
GEMINI = VendorRow(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta/openai",
    key_variable="GEMINI_API_KEY",
    key_required=True,
    audio_formats=frozenset({"wav", "mp3"}),
    # Thoughts are in the total only, and their signatures on calls and messages.
    reasoning_only_in_total=True,
    replay_extras=True,
    # Models from the third generation on refuse a step whose first call has none; this one is taken for any.
    call_extra={"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}},
    call_extra_for=r"gemini-(?![12]\.)",
    capabilities=ModelProfile(
        tool_choice=_FORCED,
        parallel_tool_calls="always",
        files=False,
        tool_name_pattern=r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$",
        max_tools=None,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map"},
    ),
)

MINIMAX = VendorRow(
    name="minimax",
    base_url="https://api.minimax.io/v1",
    further_base_urls=("https://api.minimaxi.com/v1",),
    key_variable="MINIMAX_API_KEY",
    key_required=True,
    # Else the reasoning stands between tags in the text.
    sends={"reasoning_split": True},
    sends_to=r"(?i)^minimax-m\d",
    replay_fields=("reasoning_details",),
    capabilities=ModelProfile(
        # What is not documented is dropped there without a word.
        tool_choice=_AUTO,
        parallel_tool_calls="always",
        strict_tools=False,
        response_formats=frozenset({"text"}),
        reasoning_effort=False,
        seed=False,
        audio=False,
        files=False,
        max_tools=None,
        unsupported={"tool_name": "map", "tool_choice.none": "map", "tool_choice.allowed": "map"},
    ),
)

MISTRAL = VendorRow(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    key_variable="MISTRAL_API_KEY",
    key_required=True,
    required_word="any",
    call_id_pattern=r"^[a-zA-Z0-9]{9}$",
    names_results=True,
    prefix_field="prefix",
    # Older versions refuse a message of the user right behind a result.
    between_results_and_user="OK",
    file_form="document_url",
    seed_field="random_seed",
    # It comes unasked, and unknown fields are refused.
    stream_usage=False,
    replay_fields=("thinking_parts",),
    user_names=False,
    efforts=("minimal", "low", "medium", "high", "xhigh"),
    capabilities=ModelProfile(
        tool_choice=_FORCED, audio=False, max_tools=None, unsupported={"tool_name": "map", "tool_choice.allowed": "map"}
    ),
)

MOONSHOT = VendorRow(
    name="moonshot",
    base_url="https://api.moonshot.ai/v1",
    further_base_urls=("https://api.moonshot.cn/v1",),
    key_variable="MOONSHOT_API_KEY",
    key_required=True,
    sends_strict_false=True,
    subset=subsets.KIMI,
    schemas=subsets.KIMI,
    image_urls=False,
    replay_fields=("reasoning_content",),
    replay_required="reasoning_content",
    efforts=("low", "high"),
    thinking=ThinkingRule(
        models=r"^kimi-(k2\.[5-9]|k2-thinking|k[3-9]|thinking)",
        switch="thinking",
        levels=True,
        always=r"^kimi-(k2-)?thinking",
        forced_choice=False,
    ),
    # They have one value each, thinking or not.
    untaken=dict.fromkeys(
        ("temperature", "top_p", "presence_penalty", "frequency_penalty", "n"), r"^kimi-(k2\.[5-9]|k[3-9])"
    ),
    capabilities=ModelProfile(
        tool_choice=frozenset({"auto", "none", "tool"}),
        tool_name_pattern=r"^[a-zA-Z_][a-zA-Z0-9_-]{2,63}$",
        seed=False,
        audio=False,
        files=False,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map", "parameters": "drop"},
    ),
)

#: Answers from the web; it has no tools of ours.
PERPLEXITY = VendorRow(
    name="perplexity",
    base_url="https://api.perplexity.ai",
    key_variable="PERPLEXITY_API_KEY",
    key_required=True,
    untaken={"stop": ""},
    capabilities=ModelProfile(
        tool_mode="none",
        response_formats=frozenset({"text", "json_schema"}),
        seed=False,
        reasoning_effort=False,
        audio=False,
        files=False,
        unsupported={"tool_name": "map"},
    ),
)

XAI = VendorRow(
    name="xai",
    base_url="https://api.x.ai/v1",
    key_variable="XAI_API_KEY",
    key_required=True,
    efforts=("low", "medium", "high"),
    responses=ResponsesForm(reasoning_models=r"^grok-(?!.*non-reasoning)(3-mini|[4-9]|latest|build|code)"),
    capabilities=ModelProfile(
        tool_choice=_FORCED,
        streamed_tool_deltas=False,
        audio=False,
        unsupported={"tool_name": "map", "tool_choice.allowed": "map"},
    ),
)

ZHIPU = VendorRow(
    name="zhipu",
    base_url="https://open.bigmodel.cn/api/paas/v4",
    key_variable="ZHIPUAI_API_KEY",
    key_required=True,
    replay_fields=("reasoning_content",),
    efforts=("low", "high", "max"),
    thinking=ThinkingRule(
        models=r"(?i)^glm-(4\.[5-9]|[5-9])",
        switch="thinking",
        levels_for=r"(?i)^glm-5\.[23]",
        always=r"(?i)^glm-5\.3",
    ),
    capabilities=ModelProfile(
        tool_choice=_AUTO,
        parallel_tool_calls="always",
        strict_tools=False,
        response_formats=frozenset({"text", "json"}),
        seed=False,
        audio=False,
        files=False,
        unsupported={"tool_name": "map", "tool_choice.none": "map", "tool_choice.allowed": "map"},
    ),
)

#: The same models for the world outside of China, with keys of its own.
ZAI = replace(ZHIPU, name="zai", base_url="https://api.z.ai/api/paas/v4", key_variable="ZAI_API_KEY")
