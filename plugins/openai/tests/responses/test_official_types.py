"""Our requests are what the official package's types describe, to the last key."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    ResponseFormat,
    SystemMessage,
    TextContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from plugins.openai.tests.responses.support import (
    SEARCH,
    call_item,
    custom_item,
    model_on,
    plain,
    reasoning_item,
    text_item,
)
from plugins.openai.tests.support import WEATHER
from tests.support.official_types import StrictAdapter, strict_adapter

P = ChatRequestParameters
STRICT = ToolSpecification("get_weather", "weather", WEATHER.parameters, strict=True)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
IMAGE, FILE = ImageContent(data="AAAA"), FileContent(url="https://doc.example/a.pdf")

PARAMETERS = {
    "none": P(),
    "sampling": P(temperature=0.2, top_p=0.5, max_output_tokens=9, reasoning_effort="xhigh"),
    "tools": P(tools=[WEATHER, ToolSpecification("a/b")], tool_choice="auto", parallel_tool_calls=False),
    "strict": P(tools=[STRICT], tool_choice="required"),
    "one": P(tools=[STRICT], tool_choice="get_weather"),
    "allowed": P(tools=[WEATHER], tool_choice=ToolChoice.allowed(["get_weather"], required=True)),
    "json": P(response_format=ResponseFormat.JSON),
    "schema": P(response_format=ResponseFormat.json_schema(SCHEMA, description="A place."), tools=[WEATHER]),
    "server tools": P(
        custom_parameters={
            "tools": [{"type": "web_search"}, {"type": "custom", "name": "run_sql", "format": {"type": "text"}}],
            "include": ["web_search_call.action.sources"],
            "text": {"verbosity": "low"},
        }
    ),
}


def turns(*items: dict[str, Any], id: str = "resp_1", **fields: Any) -> list[ChatMessage]:
    """A turn of OpenAI's and results of its calls."""
    message = plain(*items, asked={"provider": "openai/responses"}, id=id, **fields).ai_message
    results = [ToolExecutionResultMessage(call.id, call.name, "22") for call in message.tool_execution_requests]
    return [message, *results]


OWN = [
    *turns(reasoning_item("Hm."), text_item("I look.", phase="commentary"), SEARCH, call_item(), custom_item(n=2)),
    *turns(reasoning_item(content=[{"type": "reasoning_text", "text": "Hm."}], status="completed"), call_item(n=3)),
    *turns(text_item({"type": "refusal", "refusal": "No."}), id="resp_2", store=True),
]
FOREIGN = [
    AiMessage([TextContent("I look."), ToolExecutionRequest("i" * 80, "a/b", "{oops")]),
    ToolExecutionResultMessage("i" * 80, "a/b", ["Found:", IMAGE, FILE], is_error=True),
    AiMessage("Done."),
]
HISTORIES: dict[str, list[ChatMessage]] = {
    "question": [UserMessage("Hello")],
    "system": [SystemMessage("Be brief."), UserMessage("Hello"), SystemMessage("In verse.")],
    "media": [UserMessage(["See:", IMAGE, ImageContent(url="https://p.example/a.png", detail="high"), FILE])],
    "own": [UserMessage("Hello"), *OWN, UserMessage("Thanks")],
    "foreign": [UserMessage("Hello"), *FOREIGN, UserMessage("Thanks")],
    "mixed": [
        SystemMessage("Be brief."),
        UserMessage("Hello"),
        *OWN,
        UserMessage("On"),
        *FOREIGN,
        UserMessage("Thanks"),
    ],
}
MODELS: list[dict[str, Any]] = [
    {"model": "gpt-5", "reasoning_summary": "auto"},
    {"model": "gpt-4o"},
    {"model": "gpt-5", "state": "previous_response"},
]


@cache
def adapter(stream: bool) -> StrictAdapter:
    """The request type of the official package, with unknown keys forbidden at every depth."""
    from openai.types.responses import response_create_params as types

    return strict_adapter(types.ResponseCreateParamsStreaming if stream else types.ResponseCreateParamsNonStreaming)


@pytest.mark.parametrize("options", MODELS, ids=lambda options: options["model"] + options.get("state", ""))
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_requests_fit_the_official_types(parameters: str, options: dict[str, Any]) -> None:
    """Each parameter with each history, plain and streamed."""
    model = model_on(vendor="openai", **options)
    for history in HISTORIES.values():
        for stream in (False, True):
            body, _ = model.preview(ChatRequest(history, PARAMETERS[parameters]), stream=stream)
            adapter(stream).validate_json(body)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"bogus": 1}, "unknown key 'bogus'"),
    ({"input": [{"role": "user", "content": "x", "bogus": 1}]}, "unknown key 'bogus'"),
    ({"input": [{**reasoning_item("Hm."), "bogus": 1}]}, "unknown key 'bogus'"),
    ({"input": [text_item({"type": "output_text", "text": "x", "annotations": [], "bogus": 1})]}, "bogus"),
    (
        {"tools": [{"type": "function", "name": "a", "parameters": {}, "strict": False, "bogus": 1}]},
        "unknown key 'bogus'",
    ),
    ({"tools": [{"type": "function", "name": "a", "parameters": {}}]}, "no key 'strict'"),
    ({"text": {"format": {"type": "json"}}}, "format"),
]


@pytest.mark.parametrize(("changes", "what"), WRONG)
def test_the_check_would_notice(changes: dict[str, Any], what: str) -> None:
    """At every depth, in lists as well."""
    good = {"model": "m", "input": "x"}
    adapter(False).validate_python(good)
    with pytest.raises(ValueError, match=what):
        adapter(False).validate_python({**good, **changes})
