"""The rows as a table: where each vendor lives, whose key it reads, and what is true of it. Every row stands here."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.model import ChatRequest, UserMessage
from agentforge.provider import alias_of, call_id_of
from agentforge_openai import VENDORS, OpenAiChatModel, OpenAiResponsesModel, VendorRow
from plugins.openai.tests.support import FakeTransport, model_on

ALL = ("auto", "none", "required", "tool")
#: What only these rows have for the fields that most leave alone.
SPECIAL: dict[str, dict[str, Any]] = {
    "max_tokens_field": dict.fromkeys(("openai", "azure", "snowflake"), "max_completion_tokens"),
    "seed_field": {"mistral": "random_seed"},
    "required_word": {"mistral": "any"},
    "stream_usage": {"mistral": False},
    "sends_strict_false": {"moonshot": True},
    "strict_excludes_parallel": {"openai": True, "azure": True},
    "strict_base": {"deepseek": "/beta"},
    "description_required": {"dashscope": True},
    "prefix_field": {"mistral": "prefix"},
    "between_results_and_user": {"mistral": "OK"},
    "names_results": {"mistral": True},
    "file_form": {"mistral": "document_url"},
    "user_names": {"mistral": False},
    "replay_required": {"deepseek": "reasoning_content", "moonshot": "reasoning_content"},
    "replay_extras": dict.fromkeys(("gemini", "generic", "litellm"), True),
    "reasoning_only_in_total": dict.fromkeys(("gemini", "generic", "litellm"), True),
    "image_urls": {"moonshot": False, "ollama": False},
    "auth": {"azure": "api-key"},
    "path": {"azure": "azure"},
    "sends": {"groq": {"reasoning_format": "parsed"}, "minimax": {"reasoning_split": True}},
    "replay_fields": {
        **dict.fromkeys(("deepseek", "fireworks", "litellm", "moonshot", "zai", "zhipu"), ("reasoning_content",)),
        **dict.fromkeys(("minimax", "openrouter", "snowflake"), ("reasoning_details",)),
        **dict.fromkeys(("crusoe", "gpustack", "vllm", "xinference"), ("reasoning", "reasoning_content")),
        "generic": ("reasoning_content", "reasoning_details"),
        "mistral": ("thinking_parts",),
        "ollama": ("reasoning",),
    },
    "efforts": {
        **dict.fromkeys(("fireworks", "groq", "xai"), ("low", "medium", "high")),
        **dict.fromkeys(("zai", "zhipu"), ("low", "high", "max")),
        "cohere": ("high",),
        "mistral": ("minimal", "low", "medium", "high", "xhigh"),
        "moonshot": ("low", "high"),
    },
}
#: Address and the variable of the key; what the models can do where it is less than all.
ROWS: dict[str, tuple[str | None, str | None, dict[str, Any]]] = {
    "azure": (None, "AZURE_OPENAI_API_KEY", {}),
    "baseten": ("https://inference.baseten.co/v1", "BASETEN_API_KEY", {"tool_choice": ALL}),
    "cerebras": (
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        {"tool_choice": ALL, "parallel_tool_calls": "always"},
    ),
    "cohere": (
        "https://api.cohere.ai/compatibility/v1",
        "CO_API_KEY",
        {"tool_choice": ("auto",), "parallel_tool_calls": "always"},
    ),
    "crusoe": ("https://api.inference.crusoecloud.com/v1", "CRUSOE_API_KEY", {"tool_choice": ALL}),
    "dashscope": (
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        {"tool_choice": ("auto", "none", "tool"), "strict_tools": False, "response_formats": ("json", "text")},
    ),
    "deepinfra": ("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY", {"tool_choice": ALL}),
    "deepseek": (
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        {
            "tool_choice": ALL,
            "strict_tools": False,
            "parallel_tool_calls": "always",
            "response_formats": ("json", "text"),
        },
    ),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", {"tool_choice": ALL}),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        {"tool_choice": ALL, "parallel_tool_calls": "always", "max_tools": None},
    ),
    "generic": (None, None, {"tool_choice": ALL, "max_tools": None}),
    "gpustack": (None, "GPUSTACK_API_KEY", {"tool_choice": ALL, "max_tools": None}),
    "groq": (
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        {"tool_choice": ALL, "response_format_with_tools": False, "streamed_tool_deltas": False},
    ),
    "huggingface": ("https://router.huggingface.co/v1", "HF_TOKEN", {"tool_choice": ALL}),
    "litellm": (None, "LITELLM_PROXY_API_KEY", {"tool_choice": ALL, "max_tools": None}),
    "minimax": (
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        {
            "tool_choice": ("auto",),
            "strict_tools": False,
            "parallel_tool_calls": "always",
            "response_formats": ("text",),
            "seed": False,
            "reasoning_effort": False,
            "max_tools": None,
        },
    ),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY", {"tool_choice": ALL, "max_tools": None}),
    "moonshot": (
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        {"tool_choice": ("auto", "none", "tool"), "seed": False},
    ),
    "nebius": ("https://api.studio.nebius.com/v1", "NEBIUS_API_KEY", {"tool_choice": ALL}),
    "ollama": (
        "http://localhost:11434/v1",
        None,  # that of the cloud must not reach a server of one's own
        {
            "tool_choice": ("auto",),
            "strict_tools": False,
            "parallel_tool_calls": "always",
            "response_format_with_tools": False,
            "max_tools": None,
        },
    ),
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY", {}),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", {"tool_choice": ALL, "max_tools": None}),
    "ovhcloud": ("https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "OVHCLOUD_API_KEY", {"tool_choice": ALL}),
    "perplexity": (
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        {
            "tool_mode": "none",
            "response_formats": ("json_schema", "text"),
            "seed": False,
            "reasoning_effort": False,
        },
    ),
    "sambanova": ("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY", {"tool_choice": ALL}),
    "snowflake": (
        None,
        "SNOWFLAKE_TOKEN",
        {"tool_choice": ALL, "strict_tools": False, "response_formats": ("json_schema", "text")},
    ),
    "together": (
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        {"tool_choice": ALL, "streamed_tool_deltas": False},
    ),
    "vllm": (None, "VLLM_API_KEY", {"tool_choice": ALL, "max_tools": None}),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY", {"tool_choice": ALL, "streamed_tool_deltas": False}),
    "xinference": (
        None,
        "XINFERENCE_API_KEY",
        {
            "tool_choice": ("auto",),
            "strict_tools": False,
            "parallel_tool_calls": "always",
            "streamed_tool_deltas": False,
            "max_tools": None,
        },
    ),
    "zai": (
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        {
            "tool_choice": ("auto",),
            "strict_tools": False,
            "parallel_tool_calls": "always",
            "response_formats": ("json", "text"),
            "seed": False,
        },
    ),
    "zhipu": (
        "https://open.bigmodel.cn/api/paas/v4",
        "ZHIPUAI_API_KEY",
        {
            "tool_choice": ("auto",),
            "strict_tools": False,
            "parallel_tool_calls": "always",
            "response_formats": ("json", "text"),
            "seed": False,
        },
    ),
}
#: What all can do where nothing else is said.
PLAIN: dict[str, Any] = {
    "tool_mode": "native",
    "tool_choice": ("allowed", *ALL),
    "parallel_tool_calls": "settable",
    "strict_tools": True,
    "response_formats": ("json", "json_schema", "text"),
    "response_format_with_tools": True,
    "streamed_tool_deltas": True,
    "tools_with_thinking": True,
    "seed": True,
    "reasoning_effort": True,
    "max_tools": 128,
}
#: Those that take images, sound and files in this form, apart from all the others with images only.
MEDIA = {
    "deepseek": (False, False, False),
    "gemini": (True, True, False),
    "mistral": (True, False, True),
    "xai": (True, False, True),
    **dict.fromkeys(("azure", "openai", "generic", "gpustack", "litellm", "vllm", "xinference"), (True, True, True)),
    "openrouter": (True, True, True),
}


def test_every_row_stands_in_the_table() -> None:
    assert sorted(VENDORS) == sorted(ROWS)


@pytest.mark.parametrize("vendor", ROWS)
def test_a_row_lives_where_its_vendor_does_and_reads_its_key(vendor: str) -> None:
    """Without a key in the environment the error says which; a server of one's own may need none."""
    row = VENDORS[vendor]
    assert (row.base_url, row.key_variable) == ROWS[vendor][:2]
    own = vendor in ("generic", "gpustack", "litellm", "ollama", "vllm", "xinference")
    assert row.key_required is not own
    if row.key_required:
        with pytest.raises(ConfigurationError, match=f"vendor '{vendor}' needs an API key") as caught:
            OpenAiChatModel(model="m", vendor=vendor, base_url="https://llm.example/v1", environment={})
        assert str(row.key_variable) in (caught.value.next_step or "")


@pytest.mark.parametrize("vendor", ROWS)
def test_a_profile_says_what_the_models_can_do(vendor: str) -> None:
    profile = model_on(FakeTransport(), vendor, model="m").profile
    found = {
        name: tuple(sorted(value)) if isinstance(value := getattr(profile, name), frozenset) else value
        for name in PLAIN
    }
    assert found == {**PLAIN, **ROWS[vendor][2]}
    assert (profile.images, profile.audio, profile.files) == MEDIA.get(vendor, (True, False, False))
    assert profile.unsupported["tool_name"] == ("error" if vendor == "dashscope" else "map")


@pytest.mark.parametrize("field", SPECIAL)
def test_a_form_that_few_vendors_have_is_that_of_these_only(field: str) -> None:
    usual = getattr(VendorRow(name="house"), field)
    assert {name: value for name, row in VENDORS.items() if (value := getattr(row, field)) != usual} == SPECIAL[field]


@pytest.mark.parametrize(
    ("base_url", "vendor"),
    [
        *((row.base_url, name) for name, row in VENDORS.items() if row.base_url),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://api.moonshot.cn/v1", "moonshot"),
        ("https://api.minimaxi.com/v1", "minimax"),
        ("https://api.moonshot.cn.evil.example/v1", "generic"),
    ],
)
def test_an_address_of_its_own_means_the_row(base_url: str, vendor: str) -> None:
    """In each country where a vendor has one; and no two rows have the same."""
    keys = {row.key_variable: f"key-of-{name}" for name, row in VENDORS.items() if row.key_variable}
    keys["OLLAMA_API_KEY"] = "key-of-the-cloud"
    transport = FakeTransport()
    model = OpenAiChatModel(model="m", base_url=base_url, environment=keys, transport=transport)
    assert f"vendor={vendor!r}" in repr(model)
    asyncio.run(model.chat(ChatRequest("q")))
    assert transport.header("authorization") == (None if vendor in ("generic", "ollama") else f"Bearer key-of-{vendor}")


@pytest.mark.parametrize("vendor", ROWS)
def test_no_row_asks_for_what_cannot_be_made(vendor: str) -> None:
    """Any name of a tool and any id of a call has a form there; patterns are expressions."""
    row = VENDORS[vendor]
    for name in ("a", "9 lives", "x" * 200, "天气"):
        assert re.fullmatch(row.capabilities.tool_name_pattern, alias_of(name, row.capabilities.tool_name_pattern))
    assert row.call_id_pattern is None or re.fullmatch(
        row.call_id_pattern, call_id_of("toolu_" * 9, row.call_id_pattern)
    )


NAMES = [
    ("moonshot", "ab", False),
    ("moonshot", "abc", True),
    ("moonshot", "3d_view", False),
    ("gemini", "a.b:c-d", True),
    ("gemini", "3d_view", False),
    ("openai", "3d_view", True),
    ("openai", "a.b", False),
    ("mistral", "x" * 65, False),
]


@pytest.mark.parametrize(("vendor", "name", "fits"), NAMES)
def test_a_name_goes_out_as_it_is_where_the_vendor_takes_it(vendor: str, name: str, fits: bool) -> None:
    pattern = VENDORS[vendor].capabilities.tool_name_pattern
    assert (alias_of(name, pattern) == name) is fits


RESPONSES = [
    ("openai", "gpt-5-mini", True),
    ("openai", "gpt-4o", False),
    ("xai", "grok-4.3", True),
    ("xai", "grok-4-1-fast-non-reasoning", False),
]


@pytest.mark.parametrize(("vendor", "model", "encrypted"), RESPONSES)
def test_the_other_api_is_asked_for_reasoning_by_the_models_name(vendor: str, model: str, encrypted: bool) -> None:
    asked = OpenAiResponsesModel(model=model, vendor=vendor, api_key="key-for-tests", environment={})
    body, _ = asked.preview(ChatRequest([UserMessage("q")]))
    assert (b'"include":["reasoning.encrypted_content"]' in body) is encrypted
