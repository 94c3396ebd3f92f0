"""The rows of those who serve the models of others: vendors in alphabetical order, most of which want nothing special,
then servers that anybody runs, and the row of an endpoint that nobody knows."""

from __future__ import annotations

from dataclasses import replace

from agentforge.model import ModelProfile
from agentforge_openai import subsets
from agentforge_openai.profile import VendorRow

__all__ = (
    "BASETEN",
    "CEREBRAS",
    "CRUSOE",
    "DEEPINFRA",
    "FIREWORKS",
    "GENERIC",
    "GPUSTACK",
    "GROQ",
    "HUGGINGFACE",
    "LITELLM",
    "NEBIUS",
    "OLLAMA",
    "OPENROUTER",
    "OVHCLOUD",
    "SAMBANOVA",
    "SNOWFLAKE",
    "TOGETHER",
    "VLLM",
    "XINFERENCE",
)

#: What their models can do differs by model; of the words for a choice all know these.
_MODELS = ModelProfile(
    tool_choice=frozenset({"auto", "none", "required", "tool"}),
    audio=False,
    files=False,
    unsupported={"tool_name": "map", "tool_choice.allowed": "map"},
)

BASETEN = VendorRow(
    name="baseten",
    base_url="https://inference.baseten.co/v1",
    key_variable="BASETEN_API_KEY",
    key_required=True,
    capabilities=_MODELS,
)

CEREBRAS = VendorRow(
    name="cerebras",
    base_url="https://api.cerebras.ai/v1",
    key_variable="CEREBRAS_API_KEY",
    key_required=True,
    # Its GLM models want their reasoning as a part of the text.
    replay_in_tags=r"(?i)^zai",
    untaken=dict.fromkeys(("frequency_penalty", "presence_penalty", "logit_bias", "service_tier"), ""),
    capabilities=replace(_MODELS, parallel_tool_calls="always"),
)

CRUSOE = VendorRow(
    name="crusoe",
    base_url="https://api.inference.crusoecloud.com/v1",
    key_variable="CRUSOE_API_KEY",
    key_required=True,
    replay_fields=("reasoning", "reasoning_content"),
    capabilities=_MODELS,
)

DEEPINFRA = VendorRow(
    name="deepinfra",
    base_url="https://api.deepinfra.com/v1/openai",
    key_variable="DEEPINFRA_API_KEY",
    key_required=True,
    capabilities=_MODELS,
)

FIREWORKS = VendorRow(
    name="fireworks",
    base_url="https://api.fireworks.ai/inference/v1",
    key_variable="FIREWORKS_API_KEY",
    key_required=True,
    efforts=("low", "medium", "high"),
    replay_fields=("reasoning_content",),
    capabilities=_MODELS,
)

GROQ = VendorRow(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    key_variable="GROQ_API_KEY",
    key_required=True,
    # Else it stands between tags in the text where no tools are offered; gpt-oss does not take the field.
    sends={"reasoning_format": "parsed"},
    sends_to=r"^(qwen/qwen3|qwen-qwq|deepseek-r1)",
    # Of reasoning nothing goes back: models refuse the field in an earlier turn (karthink/gptel#774).
    efforts=("low", "medium", "high"),
    # Calls come whole, and a form of the answer beside tools is refused.
    capabilities=replace(_MODELS, streamed_tool_deltas=False, response_format_with_tools=False),
)

#: A router in front of other hosts.
HUGGINGFACE = VendorRow(
    name="huggingface",
    base_url="https://router.huggingface.co/v1",
    key_variable="HF_TOKEN",
    key_required=True,
    capabilities=_MODELS,
)

NEBIUS = VendorRow(
    name="nebius",
    base_url="https://api.studio.nebius.com/v1",
    key_variable="NEBIUS_API_KEY",
    key_required=True,
    capabilities=_MODELS,
)

#: A router in front of other vendors; what these want back is in the details of the reasoning.
OPENROUTER = VendorRow(
    name="openrouter",
    base_url="https://openrouter.ai/api/v1",
    key_variable="OPENROUTER_API_KEY",
    key_required=True,
    replay_fields=("reasoning_details",),
    capabilities=replace(_MODELS, audio=True, files=True, max_tools=None),
)

OVHCLOUD = VendorRow(
    name="ovhcloud",
    base_url="https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
    key_variable="OVHCLOUD_API_KEY",
    key_required=True,
    capabilities=_MODELS,
)

SAMBANOVA = VendorRow(
    name="sambanova",
    base_url="https://api.sambanova.ai/v1",
    base_url_variable="SAMBANOVA_BASE_URL",
    key_variable="SAMBANOVA_API_KEY",
    key_required=True,
    capabilities=_MODELS,
)

#: At an address of the account's own. Only the models of two makers take tools, see its page.
SNOWFLAKE = VendorRow(
    name="snowflake",
    key_variable="SNOWFLAKE_TOKEN",
    key_required=True,
    max_tokens_field="max_completion_tokens",
    replay_fields=("reasoning_details",),
    capabilities=replace(_MODELS, strict_tools=False, response_formats=frozenset({"text", "json_schema"})),
)

TOGETHER = VendorRow(
    name="together",
    base_url="https://api.together.xyz/v1",
    key_variable="TOGETHER_API_KEY",
    key_required=True,
    capabilities=replace(_MODELS, streamed_tool_deltas=False),
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

#: New versions say ``reasoning``, old ones ``reasoning_content``: what came goes back.
VLLM = replace(
    GENERIC,
    name="vllm",
    key_variable="VLLM_API_KEY",
    replay_fields=("reasoning", "reasoning_content"),
    replay_extras=False,
    reasoning_only_in_total=False,
)

#: In front of vLLM and others.
GPUSTACK = replace(VLLM, name="gpustack", key_variable="GPUSTACK_API_KEY")

#: A proxy in front of other vendors, which refuses parameters that the vendor behind does not know, or drops them
#: without a word where it is told to (``drop_params``): so the least is sent. What is opaque on a reply goes back.
LITELLM = replace(
    GENERIC,
    name="litellm",
    base_url_variable="LITELLM_PROXY_API_BASE",
    key_variable="LITELLM_PROXY_API_KEY",
    replay_fields=("reasoning_content",),
)

OLLAMA = VendorRow(
    name="ollama",
    base_url="http://localhost:11434/v1",
    # No variable: a key of the cloud must not reach a server of one's own by default.
    subset=subsets.OLLAMA_FORMAT,
    schemas=subsets.OLLAMA,
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

#: Tools on listed models only, read by a parser for each family; calls may come whole at the end.
XINFERENCE = replace(
    VLLM,
    name="xinference",
    key_variable="XINFERENCE_API_KEY",
    capabilities=replace(
        GENERIC.capabilities,
        tool_choice=frozenset({"auto"}),
        parallel_tool_calls="always",
        strict_tools=False,
        streamed_tool_deltas=False,
        unsupported={"tool_name": "map", "tool_choice.none": "map", "tool_choice.allowed": "map"},
    ),
)
