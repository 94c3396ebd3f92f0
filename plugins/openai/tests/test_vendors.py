"""The rows as a user meets them: their limits and overrides, addresses, keys, and settings that cannot be honoured."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    ChatRequest,
    ChatRequestParameters,
    ToolChoice,
    ToolSpecification,
)
from agentforge_openai import VENDORS, OpenAiChatModel, ThinkingRule, VendorRow, vendor_row
from agentforge_openai.vendors import GENERIC
from plugins.openai.tests.support import FakeTransport, delta, exchange, model_on, sse

TIME = ToolSpecification("get_time", "the time")


@pytest.mark.parametrize(
    ("vendor", "overrides", "most"),
    [
        ("openai", {}, 128),
        ("azure", {}, 128),
        ("deepseek", {}, 128),
        ("dashscope", {"unsupported": {"tool_description": "map"}}, 128),
        ("openai", {"max_tools": 130}, 130),
        ("openai", {"max_tools": 5}, 5),
        ("openai", {"max_tools": None}, None),
        ("ollama", {}, None),
        ("generic", {}, None),
        ("generic", {"max_tools": 5}, 5),
    ],
)
def test_a_request_offers_so_many_tools_and_one_more_is_refused(
    vendor: str, overrides: dict[str, Any], most: int | None
) -> None:
    """All are sent or nothing is: none is left out to stay below the limit."""

    def request(count: int) -> ChatRequest:
        return ChatRequest("q", ChatRequestParameters(tools=[ToolSpecification(f"t{n}") for n in range(count)]))

    body, response = exchange(request(most or 300), vendor, model="m", profile_overrides=overrides)
    assert len(body["tools"]) == (most or 300)
    assert response.notices == ()
    if most is None:
        return
    transport = FakeTransport()
    with pytest.raises(
        UnsupportedFeatureError, match=f"{most + 1} tools in one request; the limit is {most}"
    ) as caught:
        asyncio.run(model_on(transport, vendor, model="m", profile_overrides=overrides).chat(request(most + 1)))
    assert transport.requests == []
    for way in ("tool_search", "selecting", "max_tools in profile_overrides"):
        assert way in (caught.value.next_step or "")


@pytest.mark.parametrize(
    ("parameters", "feature"), [({"seed": 3}, "seed"), ({"reasoning_effort": "low"}, "reasoning_effort")]
)
def test_what_a_user_lets_drop_is_left_out_with_a_notice(parameters: dict[str, Any], feature: str) -> None:
    """Where the user's own override says that the model has it not."""
    overrides: dict[str, Any] = {feature: False, "unsupported": {feature: "drop"}}
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    body, response = exchange(request, "generic", profile_overrides=overrides)
    assert feature not in body
    assert [(notice.code, notice.details["feature"]) for notice in response.notices] == [("feature_dropped", feature)]
    with pytest.raises(UnsupportedFeatureError, match=feature):
        exchange(request, "generic", profile_overrides={feature: False})


def test_an_override_allows_what_the_row_refuses() -> None:
    request = ChatRequest("q", ChatRequestParameters(tools=(TIME,), tool_choice=ToolChoice.REQUIRED))
    overrides = {"tool_choice": ["auto", "none", "tool", "required"]}
    body, _ = exchange(request, "dashscope", model="qwen-plus", profile_overrides=overrides)
    assert body["tool_choice"] == "required"


# -- addresses and keys ---------------------------------------------------------------------------

ADDRESSES = [
    ("openai", {}, "https://api.openai.com/v1/chat/completions"),
    ("openai", {"base_url": "https://eu.example/v1/"}, "https://eu.example/v1/chat/completions"),
    ("deepseek", {}, "https://api.deepseek.com/chat/completions"),
    ("dashscope", {}, "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"),
    ("ollama", {}, "http://localhost:11434/v1/chat/completions"),
    ("azure", {}, "https://desk.example/openai/v1/chat/completions"),
    ("azure", {"base_url": "https://desk.example/openai/v1"}, "https://desk.example/openai/v1/chat/completions"),
    (
        "azure",
        {"api_version": "2026-01-01", "model": "my deployment"},
        "https://desk.example/openai/deployments/my%20deployment/chat/completions?api-version=2026-01-01",
    ),
    (
        "azure",
        {"api_version": "2026-01-01", "base_url": "https://desk.example/openai/deployments/other"},
        "https://desk.example/openai/deployments/other/chat/completions?api-version=2026-01-01",
    ),
]


@pytest.mark.parametrize(("vendor", "options", "url"), ADDRESSES)
def test_every_row_knows_its_address(
    vendor: str, options: dict[str, Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for row in VENDORS.values():
        if row.base_url_variable:
            monkeypatch.delenv(row.base_url_variable, raising=False)
    transport = FakeTransport()
    asyncio.run(model_on(transport, vendor, **options).chat(ChatRequest("q")))
    assert transport.requests[0].url == url


def test_the_vendor_is_generic_where_an_address_is_given_and_openai_where_not() -> None:
    transport = FakeTransport()
    given = OpenAiChatModel(model="m", base_url="https://llm.example/v1", transport=transport)
    assert given.profile.name == "generic"
    assert OpenAiChatModel(model="m", api_key="key-for-tests", transport=transport).profile.name == "openai"


@pytest.mark.parametrize("vendor", ["openai", "azure", "deepseek", "dashscope"])
def test_a_missing_key_is_an_error_that_names_the_variable(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = VENDORS[vendor].key_variable
    assert variable
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError) as caught:
        model_on(FakeTransport(), vendor, api_key=None)
    assert variable in str(caught.value)


@pytest.mark.parametrize(
    ("vendor", "header", "value"),
    [("openai", "authorization", "Bearer key-from-environment"), ("azure", "api-key", "key-from-environment")],
)
def test_the_key_comes_from_the_rows_variable(
    vendor: str, header: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VENDORS[vendor].key_variable or "", "key-from-environment")
    transport = FakeTransport()
    asyncio.run(model_on(transport, vendor, api_key=None).chat(ChatRequest("q")))
    assert transport.header(header) == value


def test_a_key_of_one_vendor_never_goes_to_an_unknown_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in VENDORS.values():
        if row.key_variable:
            monkeypatch.setenv(row.key_variable, "key-from-environment")
    transport = FakeTransport()
    model = OpenAiChatModel(model="m", base_url="https://llm.example/v1", transport=transport)
    asyncio.run(model.chat(ChatRequest("q")))
    assert transport.header("authorization") is None


def test_the_environment_can_move_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://from.example/")
    transport = FakeTransport()
    asyncio.run(model_on(transport, "azure", base_url=None).chat(ChatRequest("q")))
    assert transport.requests[0].url.startswith("https://from.example/openai/v1/")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"vendor": "nobody"}, "no vendor row 'nobody'"),
        ({"vendor": "azure", "base_url": None}, "no address of its own"),
        ({"base_url": "llm.example/v1"}, "not an http or https address"),
        ({"base_url": "https://user:secret-word@llm.example/v1"}, "holds credentials"),
        ({"base_url": "https://llm.example/v1?key=secret-word"}, "holds a query"),
        ({"base_url": "https://llm.example:secret-word/v1"}, "base_url is not valid"),
        ({"model": ""}, "model is empty"),
        ({"timeouts": 0}, "above 0"),
        ({"api_key": "key\nsecret-word"}, "no header can carry"),
        ({"headers": {"x-token": "secret-word\r\n"}}, "HTTP cannot carry"),
        ({"profile_overrides": {"no_such": 1}}, "no field 'no_such'"),
        ({"proxy": "http://proxy.example"}, "beside a transport of your own"),
        ({"max_retries": -1}, "max_retries must be a whole number from 0"),
        ({"retry": 2}, "retry must be a RetryPolicy, not int"),
        ({"defaults": {"temperature": 0}}, "defaults must be ChatRequestParameters, not dict"),
        ({"tool_mode": "schema"}, "tool_mode must be 'native' or 'json_schema'"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_found_at_once(
    options: dict[str, Any], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ConfigurationError, match=what) as caught:
        model_on(FakeTransport(), **{"vendor": "generic", **options})
    assert caught.value.next_step and "secret-word" not in str(caught.value)


async def test_a_row_of_ones_own_brings_its_quirks() -> None:
    """A model that only streams is asked for a stream, and a plain reply is made of it."""
    row = replace(
        GENERIC,
        name="house",
        base_url="https://house.example/v1",
        stream_only="^live",
        stream_usage=False,
        thinking=ThinkingRule(models="^live", switch="enable_thinking"),
    )
    assert isinstance(vendor_row(row), VendorRow)
    transport = FakeTransport([sse(delta(content="hi"), delta("stop"))])
    model = OpenAiChatModel(model="live-1", vendor=row, transport=transport)
    response = await model.chat(ChatRequest("q"))
    assert response.ai_message.text == "hi"
    assert transport.bodies[0]["stream"] is True
    assert "stream_options" not in transport.bodies[0]
