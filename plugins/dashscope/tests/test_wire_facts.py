"""What is known of this vendor's quirks, one case each: what goes over the wire, what is refused, what is left out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ProviderState,
    TextContent,
    ThinkingContent,
    ToolChoice,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.dashscope.tests.support import (
    OWNER,
    FakeTransport,
    call_piece,
    events,
    messages_of,
    model_on,
    notice_codes,
    parameters_of,
    reply,
    streamed,
)
from tests.support.wire_exchange import WEATHER, calls_of


def tool(name: str, description: str | None = "a tool") -> ToolSpecification:
    return ToolSpecification(name, description, ToolParameters({"type": "object", "properties": {}}))


def offered(*tools: ToolSpecification, **options: Any) -> list[dict[str, Any]]:
    found = parameters_of(ChatRequestParameters(tools=tools), **options)["tools"]
    return [each["function"] for each in found]


@pytest.mark.parametrize("name", ["a" * 65, "weather of", "天气", "search"])
def test_names_are_at_most_64_letters_digits_underscores_and_hyphens(name: str) -> None:
    """Refused by default with the way out, an alias on request; at an address of no vendor an alias by default."""
    assert offered(tool("a" * 64))[0]["name"] == "a" * 64
    with pytest.raises(UnsupportedFeatureError, match="tool_name") as caught:
        offered(tool(name))
    assert "names: alias" in (caught.value.next_step or "")
    assert offered(tool(name), names="alias")[0]["name"] != name
    assert (offered(tool(name), vendor="generic")[0]["name"] == name) is (name == "search")


@pytest.mark.parametrize("description", [None, "", "  "])
def test_a_description_is_required(description: str | None) -> None:
    """Refused by default; by option the name stands for it."""
    with pytest.raises(UnsupportedFeatureError, match="tool_description"):
        offered(tool("get_time", description))
    mapped = {"unsupported": {"tool_description": "map"}}
    assert offered(tool("get_time", description), profile_overrides=mapped)[0]["description"] == "get_time"


def test_the_format_of_the_result_is_always_message() -> None:
    """Where it is left out, a text comes in place of calls."""
    for stream in (False, True):
        for asked in (None, ChatRequestParameters(tools=[WEATHER])):
            parameters_of(asked, stream=stream)  # which checks it


def test_required_is_refused_and_may_be_allowed() -> None:
    """By the seed; what other models take, an override says, and a model that thinks takes it never."""
    asked = ChatRequestParameters(tools=[WEATHER], tool_choice=ToolChoice.REQUIRED)
    with pytest.raises(UnsupportedFeatureError, match=r"tool_choice\.required"):
        parameters_of(asked)
    allowing: dict[str, Any] = {"profile_overrides": {"tool_choice": ["auto", "none", "required", "tool"]}}
    assert parameters_of(asked, **allowing)["tool_choice"] == "required"
    with pytest.raises(UnsupportedFeatureError, match="forced_choice_with_thinking"):
        parameters_of(asked.with_(reasoning_effort="low"), **allowing)


def test_a_forced_tool_is_sent_and_refused_while_thinking() -> None:
    asked = ChatRequestParameters(tools=[WEATHER], tool_choice=ToolChoice.tool("get_weather"))
    assert parameters_of(asked)["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    with pytest.raises(UnsupportedFeatureError, match="forced_choice_with_thinking"):
        parameters_of(asked.with_(reasoning_effort="low"))
    dropping = {"unsupported": {"forced_choice_with_thinking": "drop"}}
    thinking = asked.with_(reasoning_effort="low")
    assert "tool_choice" not in parameters_of(thinking, profile_overrides=dropping)
    assert notice_codes("q", thinking, profile_overrides=dropping) == ["feature_dropped"]


def test_parallel_calls_are_off_unless_they_are_asked_for() -> None:
    """The vendor's default is false, so what was asked goes out and nothing else."""
    asked = ChatRequestParameters(tools=[WEATHER])
    assert "parallel_tool_calls" not in parameters_of(asked)
    for wanted in (True, False):
        assert parameters_of(asked.with_(parallel_tool_calls=wanted))["parallel_tool_calls"] is wanted


def test_a_model_that_only_streams_is_asked_for_a_stream() -> None:
    transport = FakeTransport([events(reply("null", reasoning_content="Hm."), reply(content="ok"))])
    response = asyncio.run(model_on(transport, model="qwq-plus").chat(ChatRequest("q")))
    assert (response.ai_message.thinking, response.ai_message.text) == ("Hm.", "ok")
    assert transport.header("x-dashscope-sse") == "enable"


def test_past_reasoning_is_not_replayed() -> None:
    thought = ThinkingContent("Hm.", ProviderState(OWNER, {"reasoning_content": "Hm."}))
    sent = messages_of(UserMessage("q"), AiMessage([thought, TextContent("ok")]), UserMessage("and?"))
    assert sent[1] == {"role": "assistant", "content": "ok"}


def test_later_deltas_have_an_empty_id_and_no_name() -> None:
    body = events(
        reply("null", tool_calls=[call_piece('{"city"', id="c1", name="get_weather")]),
        reply("null", tool_calls=[call_piece(': "Oslo"}', id="", name="")]),
        reply("tool_calls", tool_calls=[call_piece("", id="")]),
    )
    assert calls_of(streamed(body)) == [("c1", "get_weather", '{"city": "Oslo"}')]


def test_the_reason_is_the_text_null_until_the_end() -> None:
    body = events(reply("null", content="o"), reply("null", content="k"), reply("stop"))
    assert streamed(body).raw_finish_reason == "stop"


def test_there_is_no_strict() -> None:
    strict = ToolSpecification("f", "a tool", ToolParameters({"type": "object", "properties": {}}), strict=True)
    with pytest.raises(UnsupportedFeatureError, match="strict_tools"):
        offered(strict)
    auto = ToolSpecification("f", "a tool", ToolParameters({"type": "object", "properties": {}}), strict="auto")
    assert "strict" not in offered(auto)[0]
